//! The limits on connections, with a queue that is first come, first served.
//!
//! A permit is the right to use a connection. It is taken before a connection is looked for, and given back after the
//! connection was put back. As an idle connection is used before a new one is opened, there are never more connections
//! to an origin than permits. Idle connections to other origins count against the limit of all, and are closed for a
//! new one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Config;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::origin::Origin;
use crate::runtime::lock::lock;

/// The limits of one client.
pub(crate) struct ConnectionLimits {
    per_origin: Option<usize>,
    origins: Mutex<HashMap<Arc<Origin>, Weak<Semaphore>>>,
    all: Option<Arc<Semaphore>>,
    max_queue: Option<usize>,
    waiting: AtomicUsize,
}

/// The right to use one connection, until it is dropped.
#[derive(Default)]
pub(crate) struct Permit {
    _origin: Option<OwnedSemaphorePermit>,
    _all: Option<OwnedSemaphorePermit>,
}

/// A slot in the queue, until it is dropped.
pub(crate) struct QueueSlot<'a>(&'a AtomicUsize);

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionLimits {
    pub fn new(config: &Config) -> ConnectionLimits {
        let possible = |most: usize| most.clamp(1, Semaphore::MAX_PERMITS);
        ConnectionLimits {
            per_origin: config.per_origin.map(possible),
            origins: Mutex::default(),
            all: config
                .max_connections
                .map(|most| Arc::new(Semaphore::new(possible(most)))),
            max_queue: config.max_queue,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Whether there is any limit to wait for.
    pub fn are_set(&self) -> bool {
        self.per_origin.is_some() || self.all.is_some()
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a permit, unless too many requests wait. The origin's permit is taken first, so that a busy origin
    /// does not block all others.
    pub async fn wait(&self, origin: &Arc<Origin>) -> Result<Permit, Failure> {
        let own = self.per_origin.map(|most| self.origin(origin, most));
        if let Some(permit) = self.at_once(own.as_ref()) {
            return Ok(permit);
        }
        let _slot = self.queue_slot()?;
        Ok(self.acquire(own).await)
    }

    /// Waits for a permit, for a request that has its slot in the queue already.
    pub async fn wait_in_slot(&self, origin: &Arc<Origin>) -> Permit {
        let own = self.per_origin.map(|most| self.origin(origin, most));
        match self.at_once(own.as_ref()) {
            Some(permit) => permit,
            None => self.acquire(own).await,
        }
    }

    /// Whether a request would get a permit at once.
    pub fn are_free(&self, origin: &Arc<Origin>) -> bool {
        let own = self.per_origin.map(|most| self.origin(origin, most));
        self.at_once(own.as_ref()).is_some()
    }

    async fn acquire(&self, own: Option<Arc<Semaphore>>) -> Permit {
        let mut permit = Permit::default();
        if let Some(own) = own {
            permit._origin = own.acquire_owned().await.ok();
        }
        if let Some(all) = &self.all {
            permit._all = all.clone().acquire_owned().await.ok();
        }
        permit
    }

    /// A permit if one is free. The semaphores keep permits for requests that wait already.
    fn at_once(&self, own: Option<&Arc<Semaphore>>) -> Option<Permit> {
        let mut permit = Permit::default();
        if let Some(own) = own {
            permit._origin = Some(own.clone().try_acquire_owned().ok()?);
        }
        if let Some(all) = &self.all {
            permit._all = Some(all.clone().try_acquire_owned().ok()?);
        }
        Some(permit)
    }

    /// A slot in the queue.
    pub fn queue_slot(&self) -> Result<QueueSlot<'_>, Failure> {
        let slot = QueueSlot(&self.waiting);
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        match self.max_queue {
            Some(most) if before >= most => {
                let detail =
                    format!("{most} requests wait for a connection already, which is max_queue");
                Err(Failure::new(Kind::Connect, Phase::Queue, detail).for_good())
            }
            _ => Ok(slot),
        }
    }

    /// How many connections may be idle while a new one is opened; none when there is no limit.
    pub fn room_for_idle(&self) -> Option<usize> {
        // The free permits; the new connection has taken its own already.
        self.all.as_ref().map(|all| all.available_permits())
    }

    fn origin(&self, origin: &Arc<Origin>, most: usize) -> Arc<Semaphore> {
        let mut origins = lock(&self.origins);
        if let Some(known) = origins.get(origin).and_then(Weak::upgrade) {
            return known;
        }
        // Removes limits of other origins that no request uses any more.
        origins.retain(|_, limits| limits.strong_count() > 0);
        let limits = Arc::new(Semaphore::new(most));
        origins.insert(origin.clone(), Arc::downgrade(&limits));
        limits
    }
}
