//! Idle connections by origin. A connection is either here or owned by the one request that uses it.
//!
//! Invariants: a connection in the pool has no request on it and nothing unread; it is used by at
//! most one request at a time; it leaves the pool the moment it is taken. What comes of an idle connection meanwhile a
//! task sees soon (`tend`), and the kernel is asked for it when it is taken.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;
use tokio::time::sleep;

use crate::config::Config;
use crate::connection::Connection;
use crate::crowd::Member;
use crate::h2::Sessions;
use crate::origin::Origin;

/// How long a connection may have been idle and still be trusted without asking the kernel. A busy
/// batch takes a connection back within microseconds, and then one system call a request counts. Not
/// longer: the end of the connection, or bytes behind the last answer, may have come right after it.
const TRUSTED: Duration = Duration::from_micros(50);

/// How often idle connections are looked after.
const TENDED: Duration = Duration::from_millis(250);

/// How long before the server says that it closes an idle connection it is not used any more.
const EARLY: Duration = Duration::from_secs(1);

/// How often at most all origins are searched for connections that have been idle for too long.
const SWEEP: Duration = Duration::from_secs(1);

pub(crate) struct Pool {
    idle: Arc<Mutex<Idle>>,
    /// The connections of HTTP/2, which count where all do.
    sessions: Arc<Sessions>,
    opened: AtomicU64,
    /// Connections that are open, idle or not.
    open: Arc<AtomicUsize>,
}

/// Counts a connection for as long as it is kept.
pub(crate) struct Ticket {
    /// Number of the connection, from 1.
    pub id: u64,
    open: Arc<AtomicUsize>,
    /// Counts it among those to its origin, if it speaks HTTP/1.1.
    pub crowd: Option<Member>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the pool has seen.
pub(crate) struct Counts {
    pub opened: u64,
    pub reused: u64,
    pub idle: usize,
    pub in_use: usize,
}

/// When an idle connection is not kept.
struct Limits {
    idle_timeout: Duration,
    max_age: Option<Duration>,
    max_idle: Option<usize>,
}

impl Limits {
    fn allow_use_of(&self, connection: &mut Connection, now: Instant) -> bool {
        let idle = now.duration_since(connection.idle_since);
        let young = self.is_young(connection, now);
        young && (idle < TRUSTED || (idle < self.longest(connection) && connection.is_quiet()))
    }

    /// How long this connection may be idle: a second less than the server keeps it, if it has said how long
    /// that is, for a request takes some time to get there; half as long if that is more.
    fn longest(&self, connection: &Connection) -> Duration {
        let kept = connection.kept_for.map_or(self.idle_timeout, |kept| {
            kept.saturating_sub(EARLY).max(kept / 2)
        });
        kept.min(self.idle_timeout)
    }

    fn is_young(&self, connection: &Connection, now: Instant) -> bool {
        self.max_age
            .is_none_or(|most| now.duration_since(connection.opened) < most)
    }
}

struct Idle {
    limits: Limits,
    /// In the order of return: the old ones stand in front. No list is empty.
    #[expect(
        clippy::vec_box,
        reason = "they stay in their boxes, which keep the futures of requests small"
    )]
    connections: HashMap<Arc<Origin>, Vec<Box<Connection>>, RandomState>,
    swept: Option<Instant>,
    /// Whether a task looks after them.
    tended: bool,
    /// How often a connection was used again.
    reused: u64,
}

impl Pool {
    /// An empty pool with these limits.
    pub fn new(config: &Config, sessions: Arc<Sessions>) -> Pool {
        let idle = Idle {
            limits: Limits {
                idle_timeout: config.idle_timeout,
                max_age: config.max_age,
                max_idle: config.max_idle,
            },
            connections: HashMap::default(),
            swept: None,
            tended: false,
            reused: 0,
        };
        Pool {
            idle: Arc::new(Mutex::new(idle)),
            sessions,
            opened: AtomicU64::new(0),
            open: Arc::default(),
        }
    }

    /// For a connection that has been opened.
    pub fn ticket(&self) -> Ticket {
        self.open.fetch_add(1, Ordering::Relaxed);
        Ticket {
            id: self.opened.fetch_add(1, Ordering::Relaxed) + 1,
            open: self.open.clone(),
            crowd: None,
        }
    }

    /// What it has seen so far.
    pub fn counts(&self) -> Counts {
        let guard = self.lock();
        let idle = guard.count();
        Counts {
            opened: self.opened.load(Ordering::Relaxed),
            reused: guard.reused,
            idle,
            in_use: self.open.load(Ordering::Relaxed).saturating_sub(idle),
        }
    }

    /// Takes the connection to `origin` that was used last, dropping those that are too old or closed.
    pub fn take(&self, origin: &Arc<Origin>, now: Instant) -> Option<Box<Connection>> {
        let mut idle = self.lock();
        let found = idle.take(origin, now);
        match found {
            Some(_) => idle.reused += 1,
            None => idle.sweep(now),
        }
        found
    }

    /// Closes an idle connection to `origin` in whose place another one is opened.
    pub fn replace(&self, origin: &Arc<Origin>) {
        let mut idle = self.lock();
        if let Some(connections) = idle.connections.get_mut(origin) {
            connections.pop();
            if connections.is_empty() {
                idle.connections.remove(origin);
            }
        }
    }

    /// Puts a connection back, and now and then drops all that have been idle for too long.
    pub fn put(&self, origin: &Arc<Origin>, mut connection: Box<Connection>, now: Instant) {
        connection.idle_since = now;
        let mut idle = self.lock();
        let limits = &idle.limits;
        if limits.idle_timeout.is_zero() || !limits.is_young(&connection, now) {
            return;
        }
        match idle.connections.get_mut(origin) {
            Some(connections) => connections.push(connection),
            None => drop(idle.connections.insert(origin.clone(), vec![connection])),
        }
        idle.sweep(now);
        self.tend_in(&mut idle);
        if idle.limits.max_idle.is_some() {
            drop(idle);
            self.sessions.keep_few(self);
        }
    }

    /// From now on idle connections are looked after, until there are none: those that are too old or that their server
    /// has ended are closed.
    pub fn tend(&self) {
        self.tend_in(&mut self.lock());
    }

    fn tend_in(&self, idle: &mut Idle) {
        if idle.tended {
            return;
        }
        if let Ok(handle) = Handle::try_current() {
            idle.tended = true;
            let tending = tend(Arc::downgrade(&self.idle), Arc::downgrade(&self.sessions));
            handle.spawn(unconstrained(tending));
        }
    }

    /// Closes the connections that have been idle longest until at most `most` are left.
    pub fn shrink(&self, most: usize) {
        self.lock().shrink(most);
    }

    /// Since when the connection that is idle longest has been so.
    pub fn oldest(&self) -> Option<Instant> {
        let idle = self.lock();
        idle.connections
            .values()
            .map(|list| list[0].idle_since)
            .min()
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        self.lock().connections.clear();
    }

    /// Closes every idle connection, those of HTTP/2 too; whether there was any.
    pub fn give_up_idle(&self) -> bool {
        let any = self.idle() + self.sessions.idle() > 0;
        self.clear();
        self.sessions.clear();
        any
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.lock().count()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        lock(&self.idle)
    }
}

fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    // A panic cannot leave the map half-changed, so a poisoned lock is still good.
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks after what is idle now and then, until nothing is or the client has gone. It asks the reactor alone, whom
/// somebody drives for it to run at all, so it costs no system call.
async fn tend(idle: Weak<Mutex<Idle>>, sessions: Weak<Sessions>) {
    loop {
        sleep(TENDED).await;
        let (Some(idle), Some(sessions)) = (idle.upgrade(), sessions.upgrade()) else {
            return;
        };
        let mut idle = lock(&idle);
        idle.close_ended(Instant::now());
        let any = sessions.tend() || !idle.connections.is_empty();
        if !any {
            idle.tended = false;
            return;
        }
    }
}

impl Idle {
    fn take(&mut self, origin: &Arc<Origin>, now: Instant) -> Option<Box<Connection>> {
        let connections = self.connections.get_mut(origin)?;
        let mut found = None;
        while let Some(mut connection) = connections.pop() {
            if self.limits.allow_use_of(&mut connection, now) {
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
    fn sweep(&mut self, now: Instant) {
        let idle_timeout = self.limits.idle_timeout;
        if self
            .swept
            .is_some_and(|swept| now.duration_since(swept) < SWEEP.min(idle_timeout))
        {
            return;
        }
        self.swept = Some(now);
        let limits = &self.limits;
        let old = |c: &Connection| now.duration_since(c.idle_since) >= limits.longest(c);
        self.connections.retain(|_, connections| {
            connections.retain(|c| !old(c));
            !connections.is_empty()
        });
    }

    /// Closes what is too old or has been ended, as far as the reactor has seen.
    fn close_ended(&mut self, now: Instant) {
        let limits = &self.limits;
        let is_good = |connection: &mut Box<Connection>| {
            now.saturating_duration_since(connection.idle_since) < limits.longest(connection)
                && limits.is_young(connection, now)
                && connection.seems_quiet().is_ok()
        };
        self.connections.retain(|_, connections| {
            connections.retain_mut(is_good);
            !connections.is_empty()
        });
    }

    fn shrink(&mut self, most: usize) {
        for _ in most..self.count() {
            self.drop_oldest();
        }
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

#[cfg(test)]
mod tests;
