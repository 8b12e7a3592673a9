//! Idle connections by origin. A connection is either here or owned by the one request that uses it.
//!
//! Invariants: a connection in the pool has no request on it and nothing unread. At most one request uses it at a time.
//! It leaves the pool the moment it is taken. A task notices when an idle connection ends (`tending`). A system call
//! checks each connection that is taken, however short it was idle. Bytes that came before a request are no response to
//! that request (RFC 9112 §6.3).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;

use super::by_age::ByAge;
use super::connection::Connection;
use super::sessions::{SWEEP, Sessions};
use super::tending::{Alarm, tend};
use crate::config::Config;
use crate::message::origin::Origin;
use crate::runtime::lock::lock;
use crate::runtime::tasks::spawn;
use crate::transport::wire::Waiting;

/// How long before the server's keep-alive timeout an idle connection is no longer used.
const EARLY: Duration = Duration::from_secs(1);

/// The idle HTTP/1.1 connections of one client.
pub(super) struct IdleConnections {
    idle: Arc<Mutex<Idle>>,
    /// How often a connection was used again.
    reused: AtomicU64,
    /// HTTP/2 connections, which are looked after together with these.
    sessions: Arc<Sessions>,
}

/// The limits after which an idle connection is not used again.
struct Rules {
    idle_timeout: Duration,
    max_age: Option<Duration>,
}

impl Rules {
    fn allow_use_of(&self, connection: &Connection, now: Instant) -> bool {
        let idle = now.duration_since(connection.idle_since);
        idle < self.longest(connection) && self.is_young(connection, now)
    }

    /// How long this connection may be idle. If the server has sent a keep-alive timeout: a second less, because a
    /// request takes some time to arrive, or half of it if that is more.
    fn longest(&self, connection: &Connection) -> Duration {
        let longest = connection
            .http1
            .keep_alive_timeout
            .map_or(self.idle_timeout, |timeout| {
                timeout.saturating_sub(EARLY).max(timeout / 2)
            });
        longest.min(self.idle_timeout)
    }

    fn is_young(&self, connection: &Connection, now: Instant) -> bool {
        self.max_age
            .is_none_or(|most| now.duration_since(connection.opened) < most)
    }
}

/// They stay in their boxes, which keep the futures of requests small.
type Connections = Vec<Box<Connection>>;

pub(super) struct Idle {
    rules: Rules,
    /// In the order of return: the old ones stand in front. No list is empty.
    connections: HashMap<Arc<Origin>, Connections, RandomState>,
    /// How many there are.
    count: usize,
    by_age: ByAge<Arc<Origin>>,
    /// When the old ones are looked for again.
    next_sweep: Option<Instant>,
    /// Whether a task looks after them.
    pub tended: bool,
    /// The messages for the task.
    pub alarm: Alarm,
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
            count: 0,
            by_age: ByAge::default(),
            next_sweep: None,
            tended: false,
            alarm: Alarm::default(),
        };
        IdleConnections {
            idle: Arc::new(Mutex::new(idle)),
            reused: AtomicU64::new(0),
            sessions,
        }
    }

    /// How often a connection was used again.
    pub fn reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    /// Takes the connection to `origin` that was used last, dropping those that are too old or closed.
    pub fn take(&self, origin: &Arc<Origin>, now: Instant) -> Option<Box<Connection>> {
        while let Some(mut connection) = self.pop(origin, now) {
            // The lock is free during the system call, so that other threads take theirs.
            if connection.http1.waiting() == Waiting::Nothing {
                self.reused
                    .fetch_add((!connection.unused).into(), Ordering::Relaxed);
                return Some(connection);
            }
        }
        None
    }

    /// The last used connection to `origin` that is not too old.
    fn pop(&self, origin: &Arc<Origin>, now: Instant) -> Option<Box<Connection>> {
        let mut idle = lock(&self.idle);
        let found = idle.pop(origin, now);
        if found.is_none() {
            idle.sweep(now);
        }
        found
    }

    /// Closes an idle connection to `origin`, because a new one replaces it.
    pub fn replace(&self, origin: &Arc<Origin>) {
        lock(&self.idle).take_from(origin, |connections, _| drop(connections.pop()));
    }

    /// Puts a connection back, and now and then drops all that have been idle for too long.
    pub fn put(&self, origin: &Arc<Origin>, mut connection: Box<Connection>, now: Instant) {
        connection.idle_since = now;
        let mut idle = lock(&self.idle);
        let rules = &idle.rules;
        if rules.longest(&connection).is_zero() || !rules.is_young(&connection, now) {
            return;
        }
        match idle.connections.get_mut(origin) {
            Some(connections) => connections.push(connection),
            None => drop(idle.connections.insert(origin.clone(), vec![connection])),
        }
        idle.count += 1;
        idle.sweep(now);
        self.tend_in(&mut idle);
    }

    /// Puts a connection back that no request was sent on; it has been idle for as long as before.
    pub fn put_unused(&self, origin: &Arc<Origin>, mut connection: Box<Connection>, reused: bool) {
        self.reused.fetch_sub(reused.into(), Ordering::Relaxed);
        connection.unused = !reused;
        let since = connection.idle_since;
        self.put(origin, connection, since);
    }

    /// From now on idle connections are looked after, until there are none: those that are too old or that their server
    /// has ended are closed.
    pub fn tend(&self) {
        self.tend_in(&mut lock(&self.idle));
    }

    fn tend_in(&self, idle: &mut Idle) {
        idle.alarm.raise();
        if idle.tended {
            return;
        }
        if let Ok(handle) = Handle::try_current() {
            idle.tended = true;
            let tending = tend(Arc::downgrade(&self.idle), Arc::downgrade(&self.sessions));
            spawn(&handle, unconstrained(tending));
        }
    }

    /// Closes the connections that have been idle longest until at most `most` are left.
    pub fn shrink(&self, most: usize) {
        lock(&self.idle).shrink(most);
    }

    /// Since when the connection that is idle longest has been so.
    pub fn oldest(&self) -> Option<Instant> {
        lock(&self.idle).oldest().map(|(since, _)| since)
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        let mut idle = lock(&self.idle);
        idle.connections.clear();
        idle.count = 0;
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        lock(&self.idle).count
    }
}

/// The task must end now. It may have no connection any more that would wake it.
impl Drop for IdleConnections {
    fn drop(&mut self) {
        lock(&self.idle).alarm.end();
    }
}

impl Idle {
    fn pop(&mut self, origin: &Arc<Origin>, now: Instant) -> Option<Box<Connection>> {
        self.take_from(origin, |connections, rules| {
            std::iter::from_fn(|| connections.pop())
                .find(|connection| rules.allow_use_of(connection, now))
        })?
    }

    /// Takes some of the connections to `origin`.
    fn take_from<T>(
        &mut self,
        origin: &Arc<Origin>,
        take: impl FnOnce(&mut Connections, &Rules) -> T,
    ) -> Option<T> {
        let connections = self.connections.get_mut(origin)?;
        let before = connections.len();
        let taken = take(connections, &self.rules);
        self.count -= before - connections.len();
        if connections.is_empty() {
            self.connections.remove(origin);
        }
        Some(taken)
    }

    /// Without this, a client that visits many origins once would keep a connection to each.
    fn sweep(&mut self, now: Instant) {
        if self.next_sweep.is_some_and(|next| now < next) {
            return;
        }
        self.next_sweep = now.checked_add(SWEEP.min(self.rules.idle_timeout));
        let rules = &self.rules;
        let old = |c: &Connection| now.duration_since(c.idle_since) >= rules.longest(c);
        self.connections.retain(|_, connections| {
            connections.retain(|c| !old(c));
            !connections.is_empty()
        });
        self.recount();
    }

    /// Whether no connection is here.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// When the first of them will be too old; none if none ever will.
    pub fn next_end(&self) -> Option<Instant> {
        let end = |connection: &Connection| {
            let idle = connection
                .idle_since
                .checked_add(self.rules.longest(connection));
            let age = self.rules.max_age;
            let age = age.and_then(|most| connection.opened.checked_add(most));
            idle.into_iter().chain(age).min()
        };
        let all = self.connections.values().flatten();
        all.filter_map(|connection| end(connection)).min()
    }

    /// Lets each connection wake the task when something comes on it. Ready if something has come already.
    pub fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for connection in self.connections.values_mut().flatten() {
            if connection.http1.poll_news(cx).is_ready() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// Closes connections that are too old or have ended, as far as the reactor has seen.
    pub fn close_ended(&mut self, now: Instant) {
        let rules = &self.rules;
        let is_good = |connection: &mut Box<Connection>| {
            now.saturating_duration_since(connection.idle_since) < rules.longest(connection)
                && rules.is_young(connection, now)
                && connection.http1.seems_quiet()
        };
        self.connections.retain(|_, connections| {
            connections.retain_mut(is_good);
            !connections.is_empty()
        });
        self.recount();
    }

    fn recount(&mut self) {
        self.count = self.connections.values().map(Vec::len).sum();
    }

    /// The origin of the connection that is idle longest, and since when it has been.
    fn oldest(&mut self) -> Option<(Instant, Arc<Origin>)> {
        self.by_age
            .oldest(&self.connections, |connection| connection.idle_since)
    }

    fn shrink(&mut self, most: usize) {
        for _ in most..self.count {
            if let Some((_, origin)) = self.oldest() {
                self.take_from(&origin, |connections, _| drop(connections.remove(0)));
            }
        }
    }
}
