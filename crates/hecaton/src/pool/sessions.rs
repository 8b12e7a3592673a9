//! The shared connections of a client, and the requests that wait for one. Each request gets a stream of an existing
//! connection, or opens one itself, in the order of arrival.
//!
//! Invariants: one connection at a time is opened to an origin, and all waiting requests get streams of it. A
//! connection that carries streams holds one permit (`limits`), and an idle one none, as with HTTP/1.1. A value whose
//! drop takes the lock, such as a stream permit, is never dropped under the lock.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldhash::fast::RandomState;

use super::limits::Permit;
use super::origin_state::{OriginState, Session};
use super::waiter::{Acquired, Grant, Waiter};
use crate::config::{Config, Protocol};
use crate::message::elapsed::{Elapsed, Interval};
use crate::message::failure::Failure;
use crate::message::origin::Origin;
use crate::multiplex::{Common, Lender, Stream};
use crate::runtime::lock::lock;

/// How often all origins are searched for connections that have been idle for too long; more often if `idle_timeout` is
/// shorter.
pub(super) const SWEEP: Duration = Duration::from_secs(1);

#[derive(Default)]
struct All {
    origins: HashMap<Arc<Origin>, OriginState, RandomState>,
    swept: Option<Instant>,
}

pub(crate) struct Sessions {
    all: Mutex<All>,
    /// How many waiters there are, readable without the lock.
    waiting: AtomicUsize,
    /// Whether connections need permits.
    pub(super) limited: bool,
    pub(super) idle_timeout: Duration,
    http: Protocol,
    pub(super) common: Common,
    /// How often a request was sent on a connection that had carried one before.
    reused: AtomicU64,
}

/// The immediate result for a request that needs a stream.
pub(super) enum StreamOffer {
    Acquired(Acquired),
    /// An entry in the queue, and whether there are connections that it waits for.
    Wait(QueueEntry, bool),
}

/// An entry in the queue of an origin; dropping it leaves the queue.
pub(super) struct QueueEntry {
    sessions: Arc<Sessions>,
    origin: Arc<Origin>,
    waiter: Arc<Waiter>,
}

impl Sessions {
    pub fn new(config: &Config) -> Arc<Sessions> {
        Arc::new(Sessions {
            all: Mutex::default(),
            waiting: AtomicUsize::new(0),
            limited: config.per_origin.is_some() || config.max_connections.is_some(),
            idle_timeout: config.idle_timeout,
            http: config.http,
            common: Common::new(config),
            reused: AtomicU64::new(0),
        })
    }

    /// Whether requests to `origin` share connections, or might.
    pub fn concern(&self, origin: &Arc<Origin>) -> bool {
        if !self.http.may_share(origin.scheme) || !self.http.allows_http1() {
            return self.http.may_share(origin.scheme);
        }
        let all = lock(&self.all);
        let state = all.origins.get(origin);
        !state.is_some_and(OriginState::supports_only_http1)
    }

    /// A stream on a connection to `origin`, or an entry in the queue for one.
    pub(super) fn request_stream(self: &Arc<Sessions>, origin: &Arc<Origin>) -> StreamOffer {
        let mut all = lock(&self.all);
        all.sweep(self.idle_timeout);
        let state = all.origins.entry(origin.clone()).or_default();
        if state.supports_only_http1() {
            return StreamOffer::Acquired(Acquired::Http1(None));
        }
        if state.queue.is_empty() {
            if let Some(stream) = state.stream(self, origin) {
                return StreamOffer::Acquired(Acquired::Stream(stream));
            }
        }
        let busy = !state.sessions.is_empty();
        let waiter = Arc::new(Waiter::default());
        state.queue.push_back(waiter.clone());
        self.waiting.fetch_add(1, Ordering::Relaxed);
        state.serve(self, origin);
        let entry = QueueEntry {
            sessions: self.clone(),
            origin: origin.clone(),
            waiter,
        };
        StreamOffer::Wait(entry, busy)
    }

    /// A connection has ended.
    pub(super) fn ended(self: &Arc<Sessions>, origin: &Arc<Origin>, id: u64) {
        self.change(origin, |state| {
            state.sessions.retain(|session| session.ticket.id != id)
        });
    }

    /// A connection has been driven: its peer may allow more streams than before, or none.
    pub(super) fn driven(self: &Arc<Sessions>, origin: &Arc<Origin>) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.change(origin, |_| {});
        }
    }

    /// The next request to `origin` opens a new connection, whatever is there.
    pub fn renew(self: &Arc<Sessions>, origin: &Arc<Origin>) {
        self.change(origin, OriginState::renew);
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        lock(&self.all)
            .origins
            .values()
            .map(|state| state.idle().count())
            .sum()
    }

    /// How often a request was sent on a connection that had carried one before.
    pub fn reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    pub(super) fn note_use(&self, again: bool) {
        self.reused.fetch_add(again.into(), Ordering::Relaxed);
    }

    /// Since when the connection that is idle longest has been so.
    pub fn oldest(&self) -> Option<Instant> {
        lock(&self.all).oldest()
    }

    /// Closes the connection that is idle longest.
    pub fn drop_oldest(&self) {
        let mut all = lock(&self.all);
        if let Some(since) = all.oldest() {
            all.close_idle(|session| session.idle_since <= since);
        }
    }

    /// Closes the idle connections that are no longer usable; whether there are any connections left.
    pub fn tend(&self) -> bool {
        let mut all = lock(&self.all);
        all.prune(self.idle_timeout);
        all.origins.values().any(|state| !state.sessions.is_empty())
    }

    /// When connections must be looked at next, because one may then have been idle for too long; none if none ever
    /// will. One that carries streams now may be idle from now on.
    pub fn next_end(&self) -> Option<Instant> {
        let all = lock(&self.all);
        let sessions = all.origins.values().flat_map(|state| &state.sessions);
        let end = |session: &Session| session.next_end(self.idle_timeout);
        sessions.filter_map(end).min()
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        lock(&self.all).close_idle(|_| true);
    }

    /// Changes the state of an origin, and serves the waiting requests.
    fn change<T>(
        self: &Arc<Sessions>,
        origin: &Arc<Origin>,
        change: impl FnOnce(&mut OriginState) -> T,
    ) -> Option<T> {
        let mut all = lock(&self.all);
        let state = all.origins.get_mut(origin)?;
        let result = change(state);
        state.serve(self, origin);
        if state.is_empty() {
            all.origins.remove(origin);
        }
        Some(result)
    }

    pub(super) fn left_the_queue(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lender for Sessions {
    /// A stream has ended.
    fn take_back(self: Arc<Sessions>, origin: &Arc<Origin>, connection: u64, retires: bool) {
        self.change(origin, |state| {
            state.release(connection, retires, self.idle_timeout)
        });
    }

    fn use_http1(self: Arc<Sessions>, origin: &Arc<Origin>) -> bool {
        if !self.http.allows_http1() {
            return false;
        }
        let mut all = lock(&self.all);
        let state = all.origins.entry(origin.clone()).or_default();
        state.note_http1();
        for waiter in state.leave_to_opener() {
            self.left_the_queue();
            waiter.leave();
            waiter.give(Grant::Acquired(Acquired::Http1(None)));
        }
        true
    }
}

impl All {
    /// Without this, a client that visits many origins once would keep the state of each.
    fn sweep(&mut self, idle_timeout: Duration) {
        if self
            .swept
            .is_some_and(|swept| swept.elapsed() < SWEEP.min(idle_timeout))
        {
            return;
        }
        self.swept = Some(Instant::now());
        self.prune(idle_timeout);
    }

    /// Since when the connection that is idle longest has been so.
    fn oldest(&self) -> Option<Instant> {
        let idle = self.origins.values().flat_map(OriginState::idle);
        idle.map(|session| session.idle_since).min()
    }

    /// Closes those idle connections of which `which` holds.
    fn close_idle(&mut self, which: impl Fn(&Session) -> bool) {
        self.origins.retain(|_, state| {
            let stays = |session: &Session| session.active > 0 || !which(session);
            state.sessions.retain(stays);
            !state.is_empty()
        });
    }

    fn prune(&mut self, idle_timeout: Duration) {
        self.origins.retain(|_, state| {
            state.prune(idle_timeout);
            !state.is_empty()
        });
    }
}

impl QueueEntry {
    /// Waits for what the queue gives.
    pub async fn granted(&self) -> Grant {
        poll_fn(|cx| self.waiter.poll(cx)).await
    }

    /// The opener has its permit: an idle connection gets it, or the permit is handed back, for a
    /// connection to be opened with it.
    pub fn use_permit(&self, permit: Option<Box<Permit>>) -> Result<Stream, Option<Box<Permit>>> {
        let mut all = lock(&self.sessions.all);
        let Some(state) = all.origins.get_mut(&self.origin) else {
            return Err(permit);
        };
        self.leave(state);
        let Some(stream) = state.idle_stream(&self.sessions, &self.origin) else {
            return Err(permit);
        };
        state.hand_over(stream.loan().connection, permit);
        state.opener = None;
        state.serve(&self.sessions, &self.origin);
        Ok(stream)
    }

    /// The time that the opener has already waited for connections that others gave up.
    pub fn elapsed(&self) -> Elapsed {
        let all = lock(&self.sessions.all);
        let state = all.origins.get(&self.origin);
        let intervals = state.map_or(&[][..], |state| &state.intervals);
        Elapsed::since(self.waiter.since, intervals)
    }

    /// The opener is about to give up.
    pub fn note_intervals(&self, intervals: Vec<Interval>) {
        let note = |state: &mut OriginState| state.note_intervals(intervals);
        self.sessions.change(&self.origin, note);
    }

    /// The connection is there: the first stream for the one who opened it, more for those who wait.
    pub fn opened(self, mut session: Session) -> Stream {
        let mut all = lock(&self.sessions.all);
        let state = all.origins.entry(self.origin.clone()).or_default();
        state.opener = None;
        state.intervals.clear();
        let stream = session.stream(&self.sessions, &self.origin);
        state.sessions.push(session);
        state.serve(&self.sessions, &self.origin);
        drop(all);
        stream
    }

    /// No connection could be opened, so no waiting request needs to try for itself. If there are other connections,
    /// the requests continue to wait for them.
    pub fn failed(self, failure: &Failure) {
        let share = |state: &mut OriginState| {
            state.opener = None;
            state.intervals.clear();
            if state.sessions.is_empty() {
                self.grant_all(state, || Grant::Failed(failure.clone()));
            }
        };
        self.sessions.change(&self.origin, share);
    }

    /// The peer supports only HTTP/1.1: each request opens a connection of its own, now and later.
    pub fn supports_only_http1(self) {
        let share = |state: &mut OriginState| {
            state.opener = None;
            state.intervals.clear();
            state.note_http1();
            self.grant_all(state, || Grant::Acquired(Acquired::Http1(None)));
        };
        self.sessions.change(&self.origin, share);
    }

    fn grant_all(&self, state: &mut OriginState, grant: impl Fn() -> Grant) {
        for waiter in state.queue.drain(..) {
            self.sessions.left_the_queue();
            waiter.leave();
            waiter.give(grant());
        }
    }

    /// Leaves the queue, if it is still in it.
    fn leave(&self, state: &mut OriginState) {
        if self.waiter.leave() {
            state
                .queue
                .retain(|waiter| !Arc::ptr_eq(waiter, &self.waiter));
            self.sessions.left_the_queue();
        }
    }
}

impl Drop for QueueEntry {
    /// A request that gives up leaves the queue, and its task goes to the next.
    fn drop(&mut self) {
        let leave = |state: &mut OriginState| {
            self.leave(state);
            if self.waiter.is(&state.opener) {
                state.opener = None;
            }
        };
        self.sessions.change(&self.origin, leave);
        // A grant that was not taken, perhaps a stream, must not be dropped under the lock.
        drop(self.waiter.take());
    }
}
