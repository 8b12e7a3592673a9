//! What all clients of a process share: the reactor that threads wait on, and the waits of fibers.
//!
//! The first client makes it, and it ends with the last engine: a process without clients has no thread and no descriptor of
//! ours. A child of `fork` makes another at its first request.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use hecaton::Reactor;
use magnus::{Error, Ruby};

use crate::fibers::Fibers;

pub struct Shared {
    // Dropped before the reactor, with which the connections of their futures are registered.
    pub fibers: Fibers,
    pub reactor: Reactor,
}

/// Locked by threads with the GVL alone, and never across a call of Ruby. So no other thread can hold it when a thread forks.
static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());

/// That of this process. Fails when the process is out of descriptors.
pub fn shared(ruby: &Ruby) -> Result<Arc<Shared>, Error> {
    let mut current = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shared) = current.upgrade() {
        if !shared.reactor.is_inherited() {
            return Ok(shared);
        }
    }
    let reactor = Reactor::new().map_err(|error| {
        let message = format!("cannot start the reactor: {error}");
        Error::new(ruby.exception_runtime_error(), message)
    })?;
    let fibers = Fibers::default();
    let made = Arc::new(Shared { fibers, reactor });
    *current = Arc::downgrade(&made);
    Ok(made)
}
