//! One host: what waits for it, and what it is held to.
//!
//! Three clocks keep a host from the next request: its health and its bandwidth (`rests_until`), and its rate
//! (`next_start`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::adaptive::Adaptive;
use super::health::{Change, Health, SharedHealth};
use super::queue::{Queue, Waiting};
use super::terms::{HostSign, Limits, Sign, Span};
use crate::run::bandwidth::Bandwidth;

/// Whether the inputs of a host wait for its robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// They do not.
    Open,
    /// They do: the request for the file alone may start.
    Fetching,
    /// They do, and nothing may start: another part fetches the file.
    Shut,
}

/// How many requests a host got in the last second.
#[derive(Debug, Default)]
struct Lately {
    since: Option<Instant>,
    now: u32,
    before: u32,
}

impl Lately {
    const SECOND: Duration = Duration::from_secs(1);

    fn note(&mut self, at: Instant) {
        let age = self.since.map(|since| at.saturating_duration_since(since));
        match age {
            Some(age) if age < Self::SECOND => self.now += 1,
            Some(age) if age < 2 * Self::SECOND => {
                self.since = self.since.map(|since| since + Self::SECOND);
                (self.before, self.now) = (self.now, 1);
            }
            _ => (self.since, self.before, self.now) = (Some(at), 0, 1),
        }
    }

    fn a_second(&self) -> f64 {
        f64::from(self.now.max(self.before).max(1))
    }
}

/// A host, and what waits for it.
pub(super) struct HostState<T> {
    pub name: Box<str>,
    pub is_foreign: bool,
    /// Most in flight.
    pub most: usize,
    /// The time between two starts.
    pub interval: Duration,
    pub waiting: Queue<T>,
    pub delayed: usize,
    pub in_flight: usize,
    pub health: SharedHealth,
    /// The next start that its rate allows.
    pub next_start: Option<Instant>,
    pub is_ready: bool,
    /// Whether its time has not come: it is among the resting ones.
    pub is_resting: bool,
    /// Whether an item waited when the last rest ended. The next page of an input is queued after a response, so no item
    /// may wait at that moment.
    pub was_awaited: bool,
    /// Whether its inputs wait for its robots.txt.
    pub gate: Gate,
    /// Whether its next start is its first, or the first by another interval.
    pub awaits_turn: bool,
    /// The bandwidth of the host, if it has its own.
    pub bandwidth: Option<Arc<Bandwidth>>,
    pub started: u64,
    pub retried: u64,
    pub ended: u64,
    pub failed: u64,
    pub taken: Duration,
    lately: Lately,
    /// Its rate, if that follows what it can do: always, or since it was overrun.
    pub adaptive: Option<Adaptive>,
    /// Whether its rate follows what it can do because it was overrun, until its limit is reached again.
    was_overrun: bool,
}

impl<T: Waiting> HostState<T> {
    pub fn new(
        name: Box<str>,
        is_foreign: bool,
        limits: &Limits,
        health: SharedHealth,
    ) -> HostState<T> {
        let mut host = HostState {
            name,
            is_foreign,
            most: 1,
            interval: Duration::ZERO,
            waiting: Queue::new(),
            delayed: 0,
            in_flight: 0,
            health,
            next_start: None,
            is_ready: false,
            is_resting: false,
            was_awaited: false,
            gate: Gate::Open,
            awaits_turn: true,
            bandwidth: None,
            started: 0,
            retried: 0,
            ended: 0,
            failed: 0,
            taken: Duration::ZERO,
            lately: Lately::default(),
            adaptive: None,
            was_overrun: false,
        };
        host.limit(limits);
        host
    }

    /// Has it keep these limits.
    pub fn limit(&mut self, limits: &Limits) {
        (self.most, self.interval) = match self.is_foreign {
            true => (limits.foreign, limits.foreign_interval),
            false => (limits.local, limits.local_interval),
        };
        self.adaptive = limits.adapts.then(|| Adaptive::new(limits.shards));
        self.was_overrun = false;
    }

    /// Whether another may start now, with this health.
    pub fn may_start(&self, health: &Health) -> bool {
        let most = match self.gate {
            Gate::Open => self.most,
            // The request for the file may itself be delayed.
            Gate::Fetching => usize::from(self.delayed == 0),
            Gate::Shut => 0,
        };
        // While it is tried again, by one alone.
        let most = if health.is_open() { most.min(1) } else { most };
        let is_let = !self.is_resting && !health.is_given_up();
        is_let && self.in_flight < most && !self.waiting.is_empty()
    }

    /// Before this, nothing is started, with this health.
    pub fn not_before(&self, health: &Health) -> Option<Instant> {
        self.rests_until(health).max(self.next_start)
    }

    /// Before this, nothing is started, whatever the rate allows. Other parts may have put it off.
    pub fn rests_until(&self, health: &Health) -> Option<Instant> {
        let bandwidth = self.bandwidth.as_ref();
        let paid_at = bandwidth.and_then(|bandwidth| bandwidth.paid_at());
        health.rests_until().max(paid_at)
    }

    pub fn is_idle(&self) -> bool {
        let nothing_left = self.waiting.is_empty() && self.in_flight == 0 && self.delayed == 0;
        let health = self.health.get();
        let is_well = !health.is_open() && !health.is_given_up();
        nothing_left && !self.is_resting && !self.is_ready && is_well
    }

    /// Starts the next of those that wait.
    pub fn start(&mut self, limits: &Limits, now: Instant) -> Option<T> {
        let mut health = self.health.get();
        let item = match self.gate {
            Gate::Open => self.waiting.take(health.troubles()),
            Gate::Fetching => self.waiting.take_opener(),
            Gate::Shut => None,
        }?;
        if limits.shards > 1 && health.is_open() {
            health.probe(limits.cooldown, now);
        }
        health.crowd.enter();
        drop(health);
        self.in_flight += 1;
        self.started += 1;
        self.lately.note(now);
        Some(item)
    }

    /// Counts one out that says nothing about the host.
    pub fn uncount(&mut self) {
        self.in_flight -= 1;
        self.health.get().crowd.leave(1);
    }

    /// Counts how one ended.
    pub fn end(&mut self, ended: HostSign, limits: &Limits, span: Span) -> Option<Change> {
        self.in_flight -= 1;
        self.ended += 1;
        self.failed += u64::from(ended != HostSign::Well);
        self.taken += span.ended - span.begun;
        let mut health = self.health.get();
        health.crowd.leave(1);
        health.note(ended);
        match ended {
            HostSign::Well => {
                health.crowd.answer();
                health.work(span);
                None
            }
            HostSign::Refused => {
                health.crowd.refuse(span);
                let change = health.fail(limits, span);
                if change.is_some() {
                    health.crowd.begin_again();
                }
                change
            }
            HostSign::Badly => health.fail(limits, span),
            HostSign::Overrun(requested) => health.pause(requested, limits, span),
            HostSign::Unavailable(requested) => health.fail_and_pause(requested, limits, span),
        }
    }

    /// The time between two starts: the longest that any rule requires.
    pub fn spacing(&self) -> Duration {
        let adaptive = self.adaptive.as_ref();
        let adaptive = adaptive.map_or(Duration::ZERO, Adaptive::interval);
        self.polite_spacing().max(adaptive)
    }

    /// The time between two starts, without regard to what the host can do.
    fn polite_spacing(&self) -> Duration {
        self.interval.max(self.health.get().delay)
    }

    /// Lets its rate follow an outcome. The rate grows only if requests wait for it.
    pub fn adapt(&mut self, ended: HostSign, wait: Duration, span: Span) {
        let sign = ended.sign();
        if self.adaptive.is_none() && sign != Sign::Overrun {
            return;
        }
        let polite = self.polite_spacing();
        let most = (!polite.is_zero()).then(|| 1.0 / polite.as_secs_f64());
        let health = self.health.get();
        let (is_open, is_troubled) = (health.is_open(), health.is_troubled());
        drop(health);
        let sign = match sign {
            // While its breaker is open, it is not overrun but down.
            Sign::Overrun if is_open => Sign::Failed,
            sign => sign,
        };
        if self.adaptive.is_none() && sign == Sign::Overrun {
            let rate = self.lately.a_second().min(most.unwrap_or(f64::INFINITY));
            self.was_overrun = true;
            self.adaptive = Some(Adaptive::from(rate));
        }
        let is_awaited = self.was_awaited || !self.waiting.is_empty();
        let is_held_back = self.is_resting && !is_troubled && is_awaited;
        let Some(adaptive) = &mut self.adaptive else {
            return;
        };
        adaptive.ended(sign, wait, is_held_back, most, span);
        let rate = adaptive.rate();
        // Without a limit, nobody knows what the host can do.
        if self.was_overrun && most.is_some_and(|most| rate >= most) {
            (self.adaptive, self.was_overrun) = (None, false);
        }
    }
}

impl<T> Drop for HostState<T> {
    /// Others may send to the host when a part is left with requests in flight.
    fn drop(&mut self) {
        self.health.get().crowd.leave(self.in_flight);
    }
}
