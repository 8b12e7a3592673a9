//! Chooses the connection of a request: an idle one, a stream of a shared one, or a new one if the limits allow it.
//!
//! In the order of a request: `limits` (may it have one?) → `idle` (HTTP/1.1) or `acquire` with `sessions`,
//! `origin_state` and `waiter` (a stream of a shared one) → `dial` (a new one, by `transport`). `connection_count` counts for
//! the text of errors. Decisions:
//!
//! - A request takes a permit before it looks for a connection, and gives it back after the connection was put back. So
//!   there are never more connections to an origin than `per_origin` allows. An HTTP/2 connection with streams holds
//!   one permit and an idle one none, so `per_origin` and `max_connections` mean what they say.
//! - An HTTP/1.1 connection is in the pool, or owned by the one request that uses it. A request that is dropped closes
//!   its connection at once.
//! - An idle connection is checked each time that it is taken from the pool: one `recv` with `MSG_PEEK`, because bytes
//!   that came before a request are no response to it. Without the check, another request can get the second of two
//!   responses. It costs some four per cent of a small request: `docs/decisions/small-requests.md`.
//! - Idle connections that are old or ended are closed by a task (`tending`) that the keeper drives while nobody waits.
//! - HTTP/2: one connection is opened at a time, and all requests that wait for the origin get streams of it, first
//!   come, first served (`sessions`). If the peer's limit on streams is reached (one until it has sent it), another
//!   connection is opened. If opening fails, all that wait get the failure. A request that gives up hands the task to
//!   the next one, and reports how long each phase took (`message/elapsed.rs`), so that no limit begins again:
//!   `docs/decisions/abandoned-connections.md`.
//! - Before the first TLS handshake with an origin (ALPN) it is unknown whether the server supports HTTP/2. So all
//!   requests wait for that handshake. A server that supports only HTTP/1.1 is remembered for ten minutes. Each request
//!   then opens a connection of its own, and the first connection is used too. The first burst to such a server pays
//!   one round of handshakes, and all others avoid connections that nobody needs.

pub(crate) mod acquire;
mod by_age;
pub(crate) mod connection;
pub(crate) mod connection_count;
mod dial;
mod idle;
pub(crate) mod limits;
mod origin_state;
mod sessions;
pub(crate) mod stats;
mod tending;
mod waiter;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use self::acquire::{Acquired, acquire};
pub(crate) use self::connection::Held;
use self::connection::{Connection, Ticket};
use self::connection_count::ConnectionCounts;
use self::idle::IdleConnections;
use self::limits::{ConnectionLimits, Permit};
use self::sessions::Sessions;
use self::stats::Stats;
use crate::config::Config;
use crate::message::attempt::Trace;
use crate::message::failure::{Failure, InvalidRequest, Phase};
use crate::message::origin::Origin;
use crate::runtime::timer::within_rest;
use crate::transport::Connector;

/// The connections of one client.
pub(crate) struct Pool {
    pub config: Arc<Config>,
    connector: Connector,
    limits: ConnectionLimits,
    /// Connections of HTTP/1.1.
    idle: IdleConnections,
    /// Connections that requests share.
    sessions: Arc<Sessions>,
    pub connection_counts: ConnectionCounts,
    opened: AtomicU64,
    /// Connections that are open, idle or not.
    open: Arc<AtomicUsize>,
}

impl Pool {
    /// An empty pool, or the reason why these settings cannot be used.
    pub fn new(config: Arc<Config>) -> Result<Pool, InvalidRequest> {
        let sessions = Sessions::new(&config);
        Ok(Pool {
            limits: ConnectionLimits::new(&config),
            connector: Connector::new(&config)?,
            idle: IdleConnections::new(&config, sessions.clone()),
            sessions,
            connection_counts: ConnectionCounts::default(),
            opened: AtomicU64::new(0),
            open: Arc::default(),
            config,
        })
    }

    /// Whether requests to `origin` share connections, or might.
    pub fn may_share(&self, origin: &Arc<Origin>) -> bool {
        self.sessions.concern(origin)
    }

    /// An HTTP/1.1 connection to `origin`: an idle one unless it must be a new one, else a new one. Waits for its
    /// permit if there is a limit.
    pub async fn http1(
        &self,
        origin: &Arc<Origin>,
        new_connection: bool,
        trace: &mut Trace,
    ) -> Result<Held, Failure> {
        let permit = match self.limits.are_set() {
            true => Some(Box::pin(self.permit(origin, trace)).await?),
            false => None,
        };
        if new_connection {
            // The permit is for one connection, and not for an idle one besides.
            if self.limits.are_set() {
                self.idle.replace(origin);
            }
        } else if let Some(mut connection) = self.idle.take(origin, trace.mark) {
            let attempt = trace.attempt();
            attempt.connection = connection.ticket.id;
            attempt.facts = connection.ticket.facts.clone();
            attempt.reused = !std::mem::take(&mut connection.unused);
            return Ok(Held { connection, permit });
        }
        // Boxed, so that requests which need no new connection do not carry its state along.
        let mut connection = Box::pin(self.open_http1(origin, trace)).await?;
        connection.ticket.counted = Some(self.connection_counts.join(origin));
        Ok(Held { connection, permit })
    }

    /// Notes where the head of a response says that `origin` supports HTTP/3 (`Alt-Svc`), if `http` is `Any`.
    pub fn note_alt_svc(&self, origin: &Arc<Origin>, fields: &[u8]) {
        if self.sessions.common.note_alt_svc(origin, fields) {
            self.sessions.renew(origin);
        }
    }

    /// Sees to it that a connection to `origin` is idle, for the next request: one that is there already, or a new one.
    pub async fn connect(&self, origin: &Arc<Origin>, trace: &mut Trace) -> Result<(), Failure> {
        let mut held = None;
        if self.may_share(origin) {
            match acquire(self, origin, trace).await? {
                Acquired::Stream(_) => return Ok(()),
                Acquired::Http1(connection) => held = connection,
            }
        }
        let held = match held {
            Some(held) => held,
            None => self.http1(origin, false, trace).await?,
        };
        let reused = trace.attempt().reused;
        self.idle.put_unused(origin, held.connection, reused);
        self.keep_few();
        Ok(())
    }

    /// Waits until another connection may be used.
    async fn permit(
        &self,
        origin: &Arc<Origin>,
        trace: &mut Trace,
    ) -> Result<Box<Permit>, Failure> {
        // Some time may have passed while another request found out that the server supports only HTTP/1.1.
        let elapsed = trace.attempt().queue_time.unwrap_or_default();
        let waiting = self.limits.wait(origin);
        let permit = within_rest(&self.config, Phase::Queue, elapsed, waiting).await?;
        trace.lap_queue();
        Ok(Box::new(permit))
    }

    /// Puts a connection back.
    pub fn put(&self, origin: &Arc<Origin>, connection: Box<Connection>, now: Instant) {
        self.idle.put(origin, connection, now);
        self.keep_few();
    }

    /// Closes the connections that are idle longest, beyond `max_idle`.
    pub fn keep_few(&self) {
        if let Some(most) = self.config.max_idle {
            self.shrink(most);
        }
    }

    /// Closes the connections that are idle longest, as far as a limit demands before another connection is opened.
    fn make_room(&self) {
        if let Some(most) = self.limits.room_for_idle() {
            self.shrink(most);
        }
    }

    /// Closes what is idle longest until at most `most` are left.
    fn shrink(&self, most: usize) {
        while let (Some(since), true) = (self.sessions.oldest(), self.idle() > most) {
            match self.idle.oldest() {
                Some(older) if older < since => {
                    self.idle.shrink(self.idle.count().saturating_sub(1))
                }
                _ => self.sessions.drop_oldest(),
            }
        }
        self.idle.shrink(most);
    }

    /// Closes every idle connection; whether there was any.
    pub fn close_idle(&self) -> bool {
        let any = self.idle() > 0;
        self.idle.clear();
        self.sessions.clear();
        any
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.idle.count() + self.sessions.idle()
    }

    /// The counts of connections so far, and of requests that wait for one.
    pub fn counts(&self) -> Stats {
        let idle = self.idle();
        Stats {
            opened: self.opened.load(Ordering::Relaxed),
            reused: self.idle.reused() + self.sessions.reused(),
            idle,
            in_use: self.open.load(Ordering::Relaxed).saturating_sub(idle),
            waiting: self.limits.waiting(),
            ..Stats::default()
        }
    }

    /// The ticket of a connection that has been opened.
    fn ticket(&self) -> Ticket {
        let id = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        Ticket::new(id, self.open.clone())
    }
}

#[cfg(test)]
mod tests;
