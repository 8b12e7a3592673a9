//! Whose turn it is: limits on connections, with a queue that is first come, first served.
//!
//! A turn is the right to use a connection, taken before one is looked for and given back after it
//! was put away. As an idle connection is used before a new one is opened, there are never more
//! connections to an origin than turns. Idle connections to other origins count against the limit
//! of all, and are closed for a new one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Config;
use crate::origin::Origin;

/// The limits of one client.
pub(crate) struct Turns {
    per_origin: Option<usize>,
    origins: Mutex<HashMap<Arc<Origin>, Weak<Semaphore>>>,
    all: Option<Arc<Semaphore>>,
}

/// The right to use one connection, for as long as it is kept.
#[derive(Default)]
pub(crate) struct Turn {
    _origin: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

impl Turns {
    pub fn new(config: &Config) -> Turns {
        let possible = |most: usize| most.clamp(1, Semaphore::MAX_PERMITS);
        Turns {
            per_origin: config.per_origin.map(possible),
            origins: Mutex::default(),
            all: config
                .max_connections
                .map(|most| Arc::new(Semaphore::new(possible(most)))),
        }
    }

    /// Whether there is any limit to wait for.
    pub fn are_limited(&self) -> bool {
        self.per_origin.is_some() || self.all.is_some()
    }

    /// Waits for a turn. That of the origin comes first, lest a busy origin blocks all others.
    pub async fn wait(&self, origin: &Arc<Origin>) -> Turn {
        let mut turn = Turn::default();
        if let Some(most) = self.per_origin {
            turn._origin = self.origin(origin, most).acquire_owned().await.ok();
        }
        if let Some(all) = &self.all {
            turn._all = all.clone().acquire_owned().await.ok();
        }
        turn
    }

    /// How many connections may be idle while a new one is opened; none when there is no limit.
    pub fn room_for_idle(&self) -> Option<usize> {
        // The turns that are free, the one of the connection to be opened being taken already.
        self.all.as_ref().map(|all| all.available_permits())
    }

    fn origin(&self, origin: &Arc<Origin>, most: usize) -> Arc<Semaphore> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = origins.get(origin).and_then(Weak::upgrade) {
            return known;
        }
        // Nobody waits at the others that are gone.
        origins.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(most));
        origins.insert(origin.clone(), Arc::downgrade(&turns));
        turns
    }
}
