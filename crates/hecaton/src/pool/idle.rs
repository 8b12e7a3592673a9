//! Idle connections by origin. A connection is either here or owned by the one request that uses it.
//!
//! Invariants: a connection in the pool has no request on it and nothing unread; it is used by at
//! most one request at a time; it leaves the pool the moment it is taken. What comes of an idle connection meanwhile a
//! task sees soon (`tend`), and the kernel is asked for it when it is taken.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use nix::poll::{PollFd, PollTimeout, poll};
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;
use tokio::time::sleep;

use super::connection::Connection;
use super::sessions::{SWEEP, Sessions};
use crate::config::Config;
use crate::message::origin::Origin;

/// How long a connection may have been idle and still be trusted without asking the kernel. A busy
/// batch takes a connection back within microseconds, and then one system call a request counts. Not
/// longer: the end of the connection, or bytes behind the last answer, may have come right after it.
const TRUSTED: Duration = Duration::from_micros(50);

/// The same since the kernel said that nothing had come, for those of which several were asked about at once.
const TRUSTED_AFTER_LOOK: Duration = Duration::from_micros(250);

/// How soon after a look another one is one of a busy client, which asks about more connections at once, up to so many.
const BUSY: Duration = Duration::from_millis(10);
const MOST_AT_ONCE: usize = 32;

/// How often idle connections are looked after.
const TENDED: Duration = Duration::from_millis(250);

/// How long before the server says that it closes an idle connection it is not used any more.
const EARLY: Duration = Duration::from_secs(1);

/// Those of one client that speak HTTP/1.1.
pub(super) struct IdleConnections {
    idle: Arc<Mutex<Idle>>,
    /// Those of HTTP/2, which are looked after together with these.
    sessions: Arc<Sessions>,
}

/// When an idle connection is not kept.
struct Rules {
    idle_timeout: Duration,
    max_age: Option<Duration>,
}

impl Rules {
    fn allow_use_of(&self, connection: &mut Connection, now: Instant) -> bool {
        let idle = now.duration_since(connection.idle_since);
        let fresh = idle < self.longest(connection) && self.is_young(connection, now);
        fresh && (is_trusted(connection, now) || connection.http1.is_quiet())
    }

    /// How long this connection may be idle: a second less than the server keeps it, if it has said how long
    /// that is, for a request takes some time to get there; half as long if that is more.
    fn longest(&self, connection: &Connection) -> Duration {
        let kept = connection.http1.kept_for.map_or(self.idle_timeout, |kept| {
            kept.saturating_sub(EARLY).max(kept / 2)
        });
        kept.min(self.idle_timeout)
    }

    fn is_young(&self, connection: &Connection, now: Instant) -> bool {
        self.max_age
            .is_none_or(|most| now.duration_since(connection.opened) < most)
    }
}

/// Whether a connection can be used without asking the kernel whether anything has come. What is later than `now`, which may
/// be an instant that the request took a while ago, is no answer.
fn is_trusted(connection: &Connection, now: Instant) -> bool {
    let within = |since: Instant, most: Duration| {
        let passed = now.checked_duration_since(since);
        passed.is_some_and(|passed| passed < most)
    };
    within(connection.idle_since, TRUSTED)
        || connection
            .quiet_at
            .is_some_and(|since| within(since, TRUSTED_AFTER_LOOK))
}

/// Asks the kernel about connections that are about to be used: a busy client takes many within a moment, and one question
/// for all costs little more than one for each.
#[derive(Default)]
struct Looks {
    last: Option<Instant>,
    at_once: usize,
}

impl Looks {
    /// Looks at the last of these, as many as it is worth.
    fn look(&mut self, connections: &mut [Box<Connection>], now: Instant) {
        let busy = |last: Instant| now.saturating_duration_since(last) < BUSY;
        self.at_once = match self.last.is_some_and(busy) {
            true => (self.at_once * 2).min(MOST_AT_ONCE),
            false => 1,
        };
        self.last = Some(now);
        if self.at_once > 1 {
            let from = connections.len().saturating_sub(self.at_once);
            note_quiet(&mut connections[from..], now);
        }
    }
}

/// Notes of which of these nothing has come.
fn note_quiet(connections: &mut [Box<Connection>], now: Instant) {
    let fds = connections
        .iter()
        .map(|connection| connection.http1.poll_fd());
    let Some(mut fds) = fds.collect::<Option<Vec<_>>>() else {
        return; // TLS has to be read to know.
    };
    if poll(&mut fds, PollTimeout::ZERO).is_err() {
        return;
    }
    let is_quiet = |fd: &PollFd<'_>| fd.revents().is_some_and(|seen| seen.is_empty());
    let quiet: Vec<bool> = fds.iter().map(is_quiet).collect();
    for (connection, quiet) in connections.iter_mut().zip(&quiet) {
        if *quiet {
            connection.quiet_at = Some(now);
        }
    }
}

struct Idle {
    rules: Rules,
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
    looks: Looks,
}

impl IdleConnections {
    /// An empty pool with these rules.
    pub fn new(config: &Config, sessions: Arc<Sessions>) -> IdleConnections {
        let idle = Idle {
            rules: Rules {
                idle_timeout: config.idle_timeout,
                max_age: config.max_age,
            },
            connections: HashMap::default(),
            swept: None,
            tended: false,
            reused: 0,
            looks: Looks::default(),
        };
        IdleConnections {
            idle: Arc::new(Mutex::new(idle)),
            sessions,
        }
    }

    /// How often a connection was used again.
    pub fn reused(&self) -> u64 {
        self.lock().reused
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
        connection.quiet_at = None;
        let mut idle = self.lock();
        let rules = &idle.rules;
        if rules.longest(&connection).is_zero() || !rules.is_young(&connection, now) {
            return;
        }
        match idle.connections.get_mut(origin) {
            Some(connections) => connections.push(connection),
            None => drop(idle.connections.insert(origin.clone(), vec![connection])),
        }
        idle.sweep(now);
        self.tend_in(&mut idle);
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

    /// How many there are.
    pub fn count(&self) -> usize {
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
        while let Some(last) = connections.last() {
            if !is_trusted(last, now) && last.http1.poll_fd().is_some() {
                self.looks.look(connections, now);
            }
            let Some(mut connection) = connections.pop() else {
                break;
            };
            if self.rules.allow_use_of(&mut connection, now) {
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
        let idle_timeout = self.rules.idle_timeout;
        if self
            .swept
            .is_some_and(|swept| now.duration_since(swept) < SWEEP.min(idle_timeout))
        {
            return;
        }
        self.swept = Some(now);
        let rules = &self.rules;
        let old = |c: &Connection| now.duration_since(c.idle_since) >= rules.longest(c);
        self.connections.retain(|_, connections| {
            connections.retain(|c| !old(c));
            !connections.is_empty()
        });
    }

    /// Closes what is too old or has been ended, as far as the reactor has seen.
    fn close_ended(&mut self, now: Instant) {
        let rules = &self.rules;
        let is_good = |connection: &mut Box<Connection>| {
            now.saturating_duration_since(connection.idle_since) < rules.longest(connection)
                && rules.is_young(connection, now)
                && connection.http1.seems_quiet().is_ok()
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
