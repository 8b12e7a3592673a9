//! Whether a host works: its failures in a row, its rests, and the pauses that it requests.
//!
//! The parts that share a host in one process share its health, so that what one of them sees holds for all.
//!
//! A request that was sent before the host's last rest or pause began does not make the host rest again if its breaker
//! is open, and lengthens a pause only by a `Retry-After`. Its answer counts as any other.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::crowd::Crowd;
use super::terms::{HostSign, Limits, Span};

/// The longest pause of a host that says that it is overrun, but not for how long.
const LONGEST_GUESS: Duration = Duration::from_secs(60);

/// The pause of a host that says that it is overrun, but not for how long, after so many others.
pub fn usual_pause(before: u32) -> Duration {
    Duration::from_secs(1 << before.min(6)).min(LONGEST_GUESS)
}

/// The longest rest of a host that is down, unless its first rest or the `Retry-After` of a 503 is longer. A host that comes back is noticed within
/// it.
const LONGEST_REST: Duration = Duration::from_secs(300);

/// A part looks again after so long whether the requests of other parts leave room.
const A_WHILE: Duration = Duration::from_millis(10);

/// A change of a host's state, for the observer.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It rests for so long after so many failures.
    Rests(u32, Duration),
    /// It is given up, after it had no answer for this long.
    GivenUp(Duration),
    /// The host sent a 429 or 503. It pauses for so long, as its `Retry-After` says if it had one.
    Paused(Duration, Option<Duration>),
}

/// How it stands with a host.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// In a row.
    failures: u32,
    /// Since the last answer.
    pauses: u32,
    /// How often the breaker opened since the last answer.
    opened: u32,
    /// When the breaker first opened since the last answer, or the host first said that it is overrun.
    down_since: Option<Instant>,
    /// No request is sent before this.
    rests_until: Option<Instant>,
    /// When the last request with an answer began.
    worked: Option<Instant>,
    /// When the last rest or pause began.
    rest_begun: Option<Instant>,
    is_given_up: bool,
    /// How the last request ended before the host was given up.
    last: Option<HostSign>,
    /// The requests that the host has at once.
    pub crowd: Crowd,
    /// The next start that the host's rate and its crawl delay allow, whichever part has it.
    next_start: Option<Instant>,
    /// The crawl delay between two requests of a part, from the newest robots.txt that any part has fetched.
    pub delay: Duration,
}

impl Health {
    /// Whether the breaker is open: one request at a time tries the host.
    pub fn is_open(&self) -> bool {
        self.opened > 0
    }

    /// Whether the host gets no request any more.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// How the last request ended, or the one after which the host was given up.
    pub fn last(&self) -> Option<HostSign> {
        self.last
    }

    /// Notes how a request ended.
    pub fn note(&mut self, ended: HostSign) {
        if !self.is_given_up {
            self.last = Some(ended);
        }
    }

    /// Until when what was started, by any part, keeps the host from another, if it does.
    pub fn waits_for_others(&self, now: Instant) -> Option<Instant> {
        let start = self.next_start.filter(|at| *at > now);
        let room = (!self.crowd.has_room()).then(|| now + A_WHILE);
        start.or(room)
    }

    /// The next start that the host allows, whichever part has it; none if nothing was sent to it.
    pub fn next_start(&self) -> Option<Instant> {
        self.next_start
    }

    /// Keeps all parts from another start until then.
    pub fn space(&mut self, until: Instant) {
        self.next_start = self.next_start.max(Some(until));
    }

    /// Whether the host rested or paused since its last answer.
    pub fn is_troubled(&self) -> bool {
        self.troubles() > 0
    }

    /// How often it rested or paused since its last answer.
    pub fn troubles(&self) -> u32 {
        self.opened.saturating_add(self.pauses)
    }

    /// When the last request with an answer began.
    pub fn worked(&self) -> Option<Instant> {
        self.worked
    }

    /// Until when the host rests, if it ever did.
    pub fn rests_until(&self) -> Option<Instant> {
        self.rests_until
    }

    /// Whether a request that began then was sent before the last rest or pause began.
    fn is_late(&self, begun: Instant) -> bool {
        self.rest_begun.is_some_and(|at| begun <= at)
    }

    /// The host is up: a request ended [well](HostSign::Well).
    pub fn work(&mut self, span: Span) {
        self.worked = self.worked.max(Some(span.begun));
        if self.is_open() {
            // Other parts may send as well, and not only the one that tried.
            self.rests_until = None;
        }
        (self.failures, self.opened, self.pauses) = (0, 0, 0);
        self.down_since = None;
    }

    /// A request tries the host that other parts send to as well: they let it alone for a while.
    pub fn probe(&mut self, cooldown: Duration, now: Instant) {
        self.rests_until = self.rests_until.max(Some(now + cooldown));
    }

    /// A request had no answer.
    pub fn fail(&mut self, limits: &Limits, span: Span) -> Option<Change> {
        let now = span.ended;
        self.failures = self.failures.saturating_add(1);
        let late = self.is_open() && self.is_late(span.begun);
        let run = self.failures >= limits.breaker || self.is_open();
        if limits.breaker == 0 || self.is_given_up || late || !run {
            return None;
        }
        self.opened += 1;
        let since = *self.down_since.get_or_insert(now);
        let left = (since + limits.wait_out).saturating_duration_since(now);
        let was_tried = self.opened > 1 && left.is_zero();
        if was_tried || limits.probes.is_some_and(|most| self.opened > most) {
            return Some(self.give_up(now - since));
        }
        let rest = limits
            .cooldown
            .saturating_mul(1 << (self.opened - 1).min(20));
        // The last probe is sent when the time is over, and not long after.
        let rest = rest.min(LONGEST_REST.max(limits.cooldown)).min(left);
        self.rest(now, rest);
        Some(Change::Rests(self.failures, rest))
    }

    /// The host is overrun, and may have said for how long.
    pub fn pause(
        &mut self,
        requested: Option<Duration>,
        limits: &Limits,
        span: Span,
    ) -> Option<Change> {
        let now = span.ended;
        if self.is_given_up {
            return None;
        }
        let since = *self.down_since.get_or_insert(now);
        let late = self.is_late(span.begun);
        if !late && span.begun >= since && now - since >= limits.wait_out {
            return Some(self.give_up(now - since));
        }
        let pause = requested.unwrap_or_else(|| usual_pause(self.pauses));
        let pause = pause.min(limits.max_retry_after);
        let is_longer = self.rests_until.is_none_or(|until| until < now + pause);
        // A late one does not prolong the pause, unless it has a `Retry-After`.
        if late && requested.is_none() || pause.is_zero() || !is_longer {
            return None;
        }
        self.pauses += 1;
        self.rest(now, pause);
        Some(Change::Paused(pause, requested))
    }

    /// The host has no answer, and says that it is overrun.
    pub fn fail_and_pause(
        &mut self,
        requested: Option<Duration>,
        limits: &Limits,
        span: Span,
    ) -> Option<Change> {
        match (self.fail(limits, span), requested) {
            (Some(Change::Rests(failures, rest)), Some(requested)) => {
                let rest = rest.max(requested.min(limits.max_retry_after));
                self.rest(span.ended, rest);
                Some(Change::Rests(failures, rest))
            }
            (Some(change), _) => Some(change),
            (None, requested) => self.pause(requested, limits, span),
        }
    }

    fn rest(&mut self, now: Instant, rest: Duration) {
        self.rests_until = self.rests_until.max(Some(now + rest));
        self.rest_begun = Some(now);
    }

    fn give_up(&mut self, after: Duration) -> Change {
        self.is_given_up = true;
        Change::GivenUp(after)
    }
}

/// The health of a host, as one part or several have it.
#[derive(Clone, Default)]
pub(super) struct SharedHealth(Arc<Mutex<Health>>);

impl SharedHealth {
    pub fn get(&self) -> MutexGuard<'_, Health> {
        self.0.lock()
    }
}

/// The health of the hosts that several parts of a process send to, by their names.
#[derive(Default)]
pub struct Healths(Mutex<Known>);

#[derive(Default)]
struct Known {
    hosts: HashMap<Box<str>, Weak<Mutex<Health>>>,
    /// How many there may be before those are removed that no part has any more.
    most: usize,
}

impl Healths {
    /// The health of a host.
    pub(super) fn of(&self, name: &str) -> SharedHealth {
        let mut known = self.0.lock();
        if let Some(health) = known.hosts.get(name).and_then(Weak::upgrade) {
            return SharedHealth(health);
        }
        if known.hosts.len() >= known.most {
            known.hosts.retain(|_, health| health.strong_count() > 0);
            known.most = 2 * known.hosts.len() + 64;
        }
        let health = SharedHealth::default();
        known.hosts.insert(name.into(), Arc::downgrade(&health.0));
        health
    }
}
