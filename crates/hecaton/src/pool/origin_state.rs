//! The state of one origin: its connections, and the requests that wait for one. Plain data under the lock of
//! `sessions`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::Ticket;
use super::limits::Permit;
use super::sessions::Sessions;
use super::waiter::{Acquired, Grant, Waiter};
use crate::config::Config;
use crate::message::elapsed::Interval;
use crate::message::origin::Origin;
use crate::multiplex::{self, Loan, Room, Stream};

/// How long a peer is assumed to support only HTTP/1.1.
const HTTP1_FOR: Duration = Duration::from_secs(600);

#[derive(Default)]
pub(super) struct OriginState {
    pub sessions: Vec<Session>,
    /// In the order in which they came.
    pub queue: VecDeque<Arc<Waiter>>,
    /// The request that opens a connection, or waits for its permit.
    pub opener: Option<Arc<Waiter>>,
    /// The phases of connections that were given up while they were opened, as far as a waiting request has lived
    /// through them.
    pub intervals: Vec<Interval>,
    http1_since: Option<Instant>,
}

/// One connection and its use. Its handles are dropped in this order.
pub(super) struct Session {
    pub ticket: Ticket,
    /// From when on it is too old for another request.
    expires: Option<Instant>,
    /// Streams on it now.
    pub active: usize,
    /// Since when there are none.
    pub idle_since: Instant,
    /// Whether it has carried a request.
    used: bool,
    /// Whether it takes no more streams.
    retired: bool,
    connection: multiplex::Session,
    permit: Option<Box<Permit>>,
}

impl OriginState {
    /// A stream on a connection that has a free stream and holds its permit.
    pub fn stream(&mut self, sessions: &Arc<Sessions>, origin: &Arc<Origin>) -> Option<Stream> {
        self.prune(sessions.idle_timeout);
        let has_permit = |session: &Session| session.active > 0 || !sessions.limited;
        let mut all = self.sessions.iter_mut();
        let index = all.position(|s| has_permit(s) && s.has_room())?;
        Some(self.sessions[index].stream(sessions, origin))
    }

    /// A stream on an idle connection, for a request that brings a permit.
    pub fn idle_stream(
        &mut self,
        sessions: &Arc<Sessions>,
        origin: &Arc<Origin>,
    ) -> Option<Stream> {
        self.prune(sessions.idle_timeout);
        let mut all = self.sessions.iter_mut();
        let index = all.position(|s| s.active == 0 && s.has_room())?;
        Some(self.sessions[index].stream(sessions, origin))
    }

    /// Gives streams to the waiting requests. The first request without one gets the task to open a connection.
    pub fn serve(&mut self, sessions: &Arc<Sessions>, origin: &Arc<Origin>) {
        while !self.queue.is_empty() {
            let Some(stream) = self.stream(sessions, origin) else {
                break;
            };
            let waiter = self.queue.pop_front().expect("it is not empty");
            waiter.leave();
            sessions.left_the_queue();
            if waiter.is(&self.opener) {
                self.opener = None;
            }
            waiter.give(Grant::Acquired(Acquired::Stream(stream)));
        }
        if self.opener.is_none() && self.may_open() {
            if let Some(waiter) = self.queue.front() {
                self.opener = Some(waiter.clone());
                waiter.give(Grant::Open);
            }
        }
    }

    /// Takes all waiting requests out of the queue, except the one that opens a connection.
    pub fn leave_to_opener(&mut self) -> VecDeque<Arc<Waiter>> {
        let all = std::mem::take(&mut self.queue);
        let (opener, others) = all.into_iter().partition(|waiter| waiter.is(&self.opener));
        self.queue = opener;
        others
    }

    /// A stream has ended.
    pub fn release(&mut self, id: u64, retires: bool, idle_timeout: Duration) {
        let Some(session) = self.sessions.iter_mut().find(|s| s.ticket.id == id) else {
            return;
        };
        session.retired |= retires;
        session.active -= 1;
        if session.active == 0 {
            session.permit = None;
            session.idle_since = Instant::now();
        }
        self.prune(idle_timeout);
    }

    /// Lets a connection keep a permit while it carries streams.
    pub fn hand_over(&mut self, id: u64, permit: Option<Box<Permit>>) {
        if let Some(session) = self.sessions.iter_mut().find(|s| s.ticket.id == id) {
            session.permit = permit;
        }
    }

    /// A connection was given up while it was opened. Phases that no waiting request has lived through are forgotten.
    pub fn note_intervals(&mut self, intervals: Vec<Interval>) {
        self.intervals.extend(intervals);
        match self.queue.front() {
            Some(first) => self.intervals.retain(|(_, _, end)| *end > first.since),
            None => self.intervals.clear(),
        }
    }

    pub fn note_http1(&mut self) {
        self.http1_since = Some(Instant::now());
    }

    /// No connection that there is takes another request, and what was found out of the peer counts no more.
    pub fn renew(&mut self) {
        self.http1_since = None;
        self.sessions.iter_mut().for_each(|s| s.retired = true);
    }

    pub fn supports_only_http1(&self) -> bool {
        self.http1_since
            .is_some_and(|since| since.elapsed() < HTTP1_FOR)
    }

    pub fn idle(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().filter(|session| session.active == 0)
    }

    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
            && self.queue.is_empty()
            && self.opener.is_none()
            && !self.supports_only_http1()
    }

    /// Whether another connection would help. It does not before the peers have sent their limits on streams. A limit of
    /// zero is like any limit that is reached (RFC 9113 §6.5.2).
    fn may_open(&mut self) -> bool {
        let mut rooms = self.sessions.iter_mut().map(Session::room);
        rooms.all(|room| room != Room::Unknown)
    }

    /// Closes the idle connections that are no longer usable.
    pub fn prune(&mut self, idle_timeout: Duration) {
        let usable = |s: &Session| s.idle_since.elapsed() < idle_timeout;
        // A server that allows no streams any more may allow them on a new connection.
        let allows = |s: &mut Session| matches!(s.room(), Room::Free | Room::Unknown);
        self.sessions
            .retain_mut(|s| s.active > 0 || (usable(s) && allows(s)));
    }
}

impl Session {
    pub fn new(
        ticket: Ticket,
        connection: multiplex::Session,
        permit: Option<Box<Permit>>,
        config: &Config,
    ) -> Session {
        let now = Instant::now();
        Session {
            ticket,
            expires: config.max_age.and_then(|most| now.checked_add(most)),
            active: 0,
            idle_since: now,
            used: false,
            retired: false,
            connection,
            permit,
        }
    }

    /// Whether the connection takes another request. It takes none if it is too old.
    fn room(&mut self) -> Room {
        let old = self.expires.is_some_and(|end| end <= Instant::now());
        match old || self.retired {
            true => Room::Closed,
            false => self.connection.room(self.active),
        }
    }

    /// When the connection may be too old, or have been idle for too long.
    pub fn next_end(&self, idle_timeout: Duration) -> Option<Instant> {
        let since = match self.active {
            0 => self.idle_since,
            _ => Instant::now(),
        };
        let expires = self.expires.filter(|_| self.active == 0);
        let idle = since.checked_add(idle_timeout);
        idle.into_iter().chain(expires).min()
    }

    fn has_room(&mut self) -> bool {
        match self.room() {
            Room::Free => true,
            // One request at a time until the peer has sent its limit.
            Room::Unknown => self.active == 0,
            Room::Full | Room::Closed => false,
        }
    }

    /// A stream on it, whatever limit its peer has sent or will send.
    pub fn stream(&mut self, sessions: &Arc<Sessions>, origin: &Arc<Origin>) -> Stream {
        self.active += 1;
        let reused = std::mem::replace(&mut self.used, true);
        sessions.note_use(reused);
        self.connection.stream(Loan {
            connection: self.ticket.id,
            facts: self.ticket.facts.clone(),
            reused,
            origin: origin.clone(),
            lender: sessions.clone(),
            retires: false,
        })
    }
}
