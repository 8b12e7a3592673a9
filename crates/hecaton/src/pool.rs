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
use crate::origin::Origin;

/// How long a connection may have been idle and still be trusted without asking the kernel. A busy
/// batch takes a connection back within microseconds, and then one system call a request counts. Not
/// longer: the end of the connection, or bytes behind the last answer, may have come right after it.
const TRUSTED: Duration = Duration::from_micros(50);

/// How often at most all origins are searched for connections that have been idle for too long.
const SWEEP: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Idle>,
    opened: AtomicU64,
}

#[derive(Default)]
struct Idle {
    /// In the order of return: the old ones stand in front. No list is empty.
    connections: HashMap<Arc<Origin>, Vec<Connection>>,
    swept: Option<Instant>,
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
        let found = idle.take(origin, now, idle_timeout);
        if found.is_none() {
            idle.sweep(now, idle_timeout);
        }
        found
    }

    /// Puts a connection back, and now and then drops all that have been idle for too long.
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
        match idle.connections.get_mut(origin) {
            Some(connections) => connections.push(connection),
            None => drop(idle.connections.insert(origin.clone(), vec![connection])),
        }
        idle.sweep(now, idle_timeout);
    }

    /// Closes the connections that have been idle longest until at most `most` are left.
    pub fn shrink(&self, most: usize) {
        let mut idle = self.lock();
        for _ in most..idle.count() {
            idle.drop_oldest();
        }
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        self.lock().connections.clear();
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.lock().count()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        // A panic can not leave the map half-changed, so a poisoned lock is still good.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn take(
        &mut self,
        origin: &Arc<Origin>,
        now: Instant,
        idle_timeout: Duration,
    ) -> Option<Connection> {
        let connections = self.connections.get_mut(origin)?;
        let mut found = None;
        while let Some(mut connection) = connections.pop() {
            let age = now.duration_since(connection.idle_since);
            if age < TRUSTED || (age < idle_timeout && connection.is_quiet()) {
                found = Some(connection);
                break;
            }
        }
        if connections.is_empty() {
            self.connections.remove(origin);
        }
        found
    }

    fn count(&self) -> usize {
        self.connections.values().map(Vec::len).sum()
    }

    /// Whoever visits many origins once would otherwise keep a connection to each.
    fn sweep(&mut self, now: Instant, idle_timeout: Duration) {
        if self
            .swept
            .is_some_and(|swept| now.duration_since(swept) < SWEEP.min(idle_timeout))
        {
            return;
        }
        self.swept = Some(now);
        let old = |c: &Connection| now.duration_since(c.idle_since) >= idle_timeout;
        self.connections.retain(|_, connections| {
            let expired = connections.iter().take_while(|c| old(c)).count();
            connections.drain(..expired);
            !connections.is_empty()
        });
    }

    fn drop_oldest(&mut self) {
        let oldest = self
            .connections
            .iter()
            .min_by_key(|(_, list)| list[0].idle_since);
        let Some(origin) = oldest.map(|(origin, _)| origin.clone()) else {
            return;
        };
        if let Some(connections) = self.connections.get_mut(&origin) {
            connections.remove(0);
            if connections.is_empty() {
                self.connections.remove(&origin);
            }
        }
    }
}
