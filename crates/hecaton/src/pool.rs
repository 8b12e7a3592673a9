//! Idle connections by origin. A connection is either here or owned by the one request that uses it.
//!
//! Invariants: a connection in the pool has no request on it and nothing unread; it is used by at
//! most one request at a time; it leaves the pool the moment it is taken. Nothing drives an idle
//! connection, so its state is asked of the kernel when it is taken.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::request::Origin;

/// How long a connection may have been idle and still be trusted without asking the kernel. A busy
/// batch takes a connection back within microseconds, and then one system call a request counts.
const TRUSTED: Duration = Duration::from_millis(1);

#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<HashMap<Arc<Origin>, Vec<Connection>>>,
    opened: AtomicU64,
}

impl Pool {
    /// Number for a new connection, from 1.
    pub fn next_id(&self) -> u64 {
        self.opened.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes the connection to `origin` that was used last, dropping those that are too old or closed.
    pub fn take(
        &self,
        origin: &Arc<Origin>,
        now: Instant,
        idle_timeout: Duration,
    ) -> Option<Connection> {
        let mut idle = self.lock();
        let connections = idle.get_mut(origin)?;
        while let Some(connection) = connections.pop() {
            let age = now.duration_since(connection.idle_since);
            if age < TRUSTED || (age < idle_timeout && !connection.is_readable()) {
                return Some(connection);
            }
        }
        idle.remove(origin);
        None
    }

    /// Puts a connection back, and drops those of the same origin that have been idle for too long.
    pub fn put(
        &self,
        origin: &Arc<Origin>,
        mut connection: Connection,
        now: Instant,
        idle_timeout: Duration,
    ) {
        if idle_timeout.is_zero() {
            return;
        }
        connection.idle_since = now;
        let mut idle = self.lock();
        match idle.get_mut(origin) {
            Some(connections) => {
                let old = |c: &Connection| now.duration_since(c.idle_since) >= idle_timeout;
                // The list is in the order of return, so the old ones stand in front.
                let expired = connections.iter().take_while(|c| old(c)).count();
                connections.drain(..expired);
                connections.push(connection);
            }
            None => drop(idle.insert(origin.clone(), vec![connection])),
        }
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.lock().values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<Origin>, Vec<Connection>>> {
        // A panic can not leave the map half-changed, so a poisoned lock is still good.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
