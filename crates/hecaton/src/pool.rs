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
/// batch takes a connection back within microseconds, and then one system call a request counts. Not
/// longer: the end of the connection, or bytes behind the last answer, may have come right after it.
const TRUSTED: Duration = Duration::from_micros(50);

#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Idle>,
    opened: AtomicU64,
}

#[derive(Default)]
struct Idle {
    /// Each list in the order of return.
    by_origin: HashMap<Arc<Origin>, Vec<Connection>>,
    /// When all of them were last looked through.
    swept: Option<Instant>,
}

impl Pool {
    /// Number for a new connection, from 1.
    pub fn next_id(&self) -> u64 {
        self.opened.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes the connection to `origin` that was used last, dropping those that are too old or closed.
    /// When there is none, another will be opened, so connections to other origins that have been
    /// idle for too long are dropped before.
    pub fn take(
        &self,
        origin: &Arc<Origin>,
        now: Instant,
        idle_timeout: Duration,
    ) -> Option<Connection> {
        let mut idle = self.lock();
        if let Some(connections) = idle.by_origin.get_mut(origin) {
            while let Some(connection) = connections.pop() {
                let age = now.duration_since(connection.idle_since);
                if age < TRUSTED || (age < idle_timeout && !connection.is_readable()) {
                    return Some(connection);
                }
            }
        }
        idle.sweep(now, idle_timeout);
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
        match idle.by_origin.get_mut(origin) {
            Some(connections) => {
                drop_old(connections, now, idle_timeout);
                connections.push(connection);
            }
            None => drop(idle.by_origin.insert(origin.clone(), vec![connection])),
        }
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        self.lock().by_origin.clear();
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.lock().by_origin.values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        // A panic can not leave the map half-changed, so a poisoned lock is still good.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    /// Drops all that have been idle for too long, and forgets origins that have none left. Looks no
    /// more often than connections expire, for there may be thousands of origins.
    fn sweep(&mut self, now: Instant, idle_timeout: Duration) {
        let swept = *self.swept.get_or_insert(now);
        if now.duration_since(swept) < idle_timeout {
            return;
        }
        self.swept = Some(now);
        self.by_origin.retain(|_, connections| {
            drop_old(connections, now, idle_timeout);
            !connections.is_empty()
        });
    }
}

/// Drops those that have been idle for too long; they stand in front.
fn drop_old(connections: &mut Vec<Connection>, now: Instant, idle_timeout: Duration) {
    let old = |c: &Connection| now.duration_since(c.idle_since) >= idle_timeout;
    let expired = connections.iter().take_while(|c| old(c)).count();
    connections.drain(..expired);
}
