//! The HTTP/2 connections of a client, and who waits for one: each request is given a stream of a
//! connection there is, or told to open one, in the order in which they came.
//!
//! Invariants: one connection at a time is opened to an origin, and all who wait get their streams of
//! it; a connection that carries streams holds one permit (`limits`), and an idle one none, as with
//! HTTP/1.1; nothing is dropped under the lock that would take it again (a stream permit does).

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limits::Permit;
use super::origin_state::{OriginState, Session};
use super::waiter::{Grant, Waiter};
use crate::config::{Config, Protocol};
use crate::h2::permit::{Lender, StreamPermit};
use crate::message::elapsed::{Elapsed, Interval};
use crate::message::failure::Failure;
use crate::message::origin::{Origin, Scheme};

/// How often at most all origins are searched for connections that have been idle for too long.
pub(super) const SWEEP: Duration = Duration::from_secs(1);

#[derive(Default)]
struct All {
    origins: HashMap<Arc<Origin>, OriginState>,
    swept: Option<Instant>,
}

pub(crate) struct Sessions {
    all: Mutex<All>,
    /// How many waiters there are, for a look without the lock.
    waiting: AtomicUsize,
    /// Whether connections need permits.
    pub(super) limited: bool,
    pub(super) idle_timeout: Duration,
    http: Protocol,
    /// How often a request was sent on a connection that had carried one before.
    reused: AtomicU64,
}

/// What a request that asks for a stream gets at once.
pub(super) enum Asked {
    Stream(StreamPermit),
    Http1,
    /// A place in the queue, and whether there are connections that it waits for.
    Wait(Place, bool),
}

/// A place in the queue of an origin; dropping it leaves the queue.
pub(super) struct Place {
    sessions: Arc<Sessions>,
    origin: Arc<Origin>,
    seat: Arc<Waiter>,
}

impl Sessions {
    pub fn new(config: &Config) -> Arc<Sessions> {
        Arc::new(Sessions {
            all: Mutex::default(),
            waiting: AtomicUsize::new(0),
            limited: config.per_origin.is_some() || config.max_connections.is_some(),
            idle_timeout: config.idle_timeout,
            http: config.http,
            reused: AtomicU64::new(0),
        })
    }

    /// Whether requests to `origin` are or might be sent over HTTP/2.
    pub fn concern(&self, origin: &Arc<Origin>) -> bool {
        match self.http {
            Protocol::Http1 => false,
            Protocol::Http2 => true,
            Protocol::Auto if origin.scheme == Scheme::Http => false,
            Protocol::Auto => {
                let all = self.lock();
                !all.origins
                    .get(origin)
                    .is_some_and(OriginState::speaks_http1)
            }
        }
    }

    /// A stream on a connection to `origin`, or a place in the queue for one.
    pub(super) fn ask(self: &Arc<Sessions>, origin: &Arc<Origin>) -> Asked {
        let mut all = self.lock();
        all.sweep(self.idle_timeout);
        let known = all.origins.entry(origin.clone()).or_default();
        if known.speaks_http1() {
            return Asked::Http1;
        }
        if known.queue.is_empty() {
            if let Some(lease) = known.lease(self, origin) {
                return Asked::Stream(lease);
            }
        }
        let busy = !known.sessions.is_empty();
        let seat = Arc::new(Waiter::default());
        known.queue.push_back(seat.clone());
        self.waiting.fetch_add(1, Ordering::Relaxed);
        known.serve(self, origin);
        let place = Place {
            sessions: self.clone(),
            origin: origin.clone(),
            seat,
        };
        Asked::Wait(place, busy)
    }

    /// A connection has ended.
    pub(super) fn ended(self: &Arc<Sessions>, origin: &Arc<Origin>, id: u64) {
        self.change(origin, |known| {
            known.sessions.retain(|session| session.ticket.id != id)
        });
    }

    /// A connection has been driven: its peer may allow more streams than before, or none.
    pub(super) fn driven(self: &Arc<Sessions>, origin: &Arc<Origin>) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.change(origin, |_| {});
        }
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.lock()
            .origins
            .values()
            .map(|known| known.idle().count())
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
        let all = self.lock();
        all.origins
            .values()
            .flat_map(OriginState::idle)
            .map(|s| s.idle_since)
            .min()
    }

    /// Closes the connection that is idle longest.
    pub fn drop_oldest(&self) {
        let mut all = self.lock();
        let oldest = |known: &OriginState| known.idle().map(|s| s.idle_since).min();
        let found = all
            .origins
            .iter()
            .filter_map(|(origin, known)| Some((oldest(known)?, origin)));
        let Some((since, origin)) = found.min_by_key(|(since, _)| *since) else {
            return;
        };
        let origin = origin.clone();
        if let Some(known) = all.origins.get_mut(&origin) {
            known
                .sessions
                .retain(|s| s.active > 0 || s.idle_since > since);
        }
        forget_if_empty(&mut all, &origin);
    }

    /// Closes the idle connections that are no good any more; whether there are any connections left.
    pub fn tend(&self) -> bool {
        let mut all = self.lock();
        all.prune(self.idle_timeout);
        all.origins.values().any(|known| !known.sessions.is_empty())
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        let mut all = self.lock();
        all.origins.retain(|_, known| {
            known.sessions.retain(|session| session.active > 0);
            !known.is_empty()
        });
    }

    /// Changes what is known of an origin, and serves those who wait.
    fn change<T>(
        self: &Arc<Sessions>,
        origin: &Arc<Origin>,
        change: impl FnOnce(&mut OriginState) -> T,
    ) -> Option<T> {
        let mut all = self.lock();
        let known = all.origins.get_mut(origin)?;
        let result = change(known);
        known.serve(self, origin);
        forget_if_empty(&mut all, origin);
        Some(result)
    }

    pub(super) fn left_the_queue(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        // A panic can not leave the map half-changed, so a poisoned lock is still good.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lender for Sessions {
    /// A stream has ended.
    fn take_back(self: Arc<Sessions>, origin: &Arc<Origin>, connection: u64, retires: bool) {
        self.change(origin, |known| {
            known.release(connection, retires, self.idle_timeout)
        });
    }
}

impl All {
    /// Whoever visits many origins once would otherwise keep what is known of each.
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

    fn prune(&mut self, idle_timeout: Duration) {
        self.origins.retain(|_, known| {
            known.prune(idle_timeout);
            !known.is_empty()
        });
    }
}

fn forget_if_empty(all: &mut All, origin: &Arc<Origin>) {
    if all.origins.get(origin).is_some_and(OriginState::is_empty) {
        all.origins.remove(origin);
    }
}

impl Place {
    /// Waits for what the queue gives.
    pub async fn granted(&self) -> Grant {
        poll_fn(|cx| self.seat.poll(cx)).await
    }

    /// The opener has its permit: an idle connection gets it, or the permit is handed back, for a
    /// connection to be opened with it.
    pub fn use_permit(
        &self,
        permit: Option<Box<Permit>>,
    ) -> Result<StreamPermit, Option<Box<Permit>>> {
        let mut all = self.sessions.lock();
        let Some(known) = all.origins.get_mut(&self.origin) else {
            return Err(permit);
        };
        self.leave(known);
        let Some(lease) = known.lease_idle(&self.sessions, &self.origin) else {
            return Err(permit);
        };
        known.hand_over(lease.connection, permit);
        known.opener = None;
        known.serve(&self.sessions, &self.origin);
        Ok(lease)
    }

    /// What the opener has waited for already of connections that others gave up.
    pub fn elapsed(&self) -> Elapsed {
        let all = self.sessions.lock();
        let known = all.origins.get(&self.origin);
        let intervals = known.map_or(&[][..], |known| &known.intervals);
        Elapsed::since(self.seat.since, intervals)
    }

    /// The opener is about to give up.
    pub fn note_intervals(&self, intervals: Vec<Interval>) {
        let note = |known: &mut OriginState| known.note_intervals(intervals);
        self.sessions.change(&self.origin, note);
    }

    /// The connection is there: the first stream for the one who opened it, more for those who wait.
    pub fn opened(self, session: Session) -> StreamPermit {
        let mut all = self.sessions.lock();
        let known = all.origins.entry(self.origin.clone()).or_default();
        known.opener = None;
        known.intervals.clear();
        known.sessions.push(session);
        let lease = known.lease_newest(&self.sessions, &self.origin);
        known.serve(&self.sessions, &self.origin);
        drop(all);
        lease
    }

    /// No connection could be opened: nobody who waits for it needs to try for himself. When there
    /// are others, those who wait go on waiting for them.
    pub fn failed(self, failure: &Failure) {
        let share = |known: &mut OriginState| {
            known.opener = None;
            known.intervals.clear();
            if known.sessions.is_empty() {
                self.tell_all(known, || Grant::Failed(failure.clone()));
            }
        };
        self.sessions.change(&self.origin, share);
    }

    /// The peer speaks HTTP/1.1 alone: everyone opens a connection for himself, now and later.
    pub fn speaks_http1(self) {
        let share = |known: &mut OriginState| {
            known.opener = None;
            known.intervals.clear();
            known.note_http1();
            self.tell_all(known, || Grant::Http1);
        };
        self.sessions.change(&self.origin, share);
    }

    fn tell_all(&self, known: &mut OriginState, grant: impl Fn() -> Grant) {
        for seat in known.queue.drain(..) {
            self.sessions.left_the_queue();
            seat.leave();
            seat.give(grant());
        }
    }

    /// Leaves the queue, if it is still in it.
    fn leave(&self, known: &mut OriginState) {
        if self.seat.leave() {
            known.queue.retain(|seat| !Arc::ptr_eq(seat, &self.seat));
            self.sessions.left_the_queue();
        }
    }
}

impl Drop for Place {
    /// Whoever gives up leaves its place, and its task to the next.
    fn drop(&mut self) {
        let leave = |known: &mut OriginState| {
            self.leave(known);
            if self.seat.is(&known.opener) {
                known.opener = None;
            }
        };
        self.sessions.change(&self.origin, leave);
        // What it was given and did not take, perhaps a stream: not under the lock.
        drop(self.seat.take());
    }
}
