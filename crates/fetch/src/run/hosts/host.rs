//! One host: what waits for it, what it is held to, and how its failures and pauses count. Pure decisions.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::adaptive::{Adaptive, Sign};

/// The longest pause of a host that says that it is overrun, but not for how long.
const LONGEST_GUESS: Duration = Duration::from_secs(60);

/// The longest rest of a host that is down, unless its first rest is longer. A host that comes back is noticed within
/// it.
const LONGEST_REST: Duration = Duration::from_secs(300);

/// The limits of every host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most in flight to a host of this machine or a private network.
    pub own: usize,
    /// Most in flight to a host of others.
    pub foreign: usize,
    /// The time between two starts to one of our own.
    pub own_interval: Duration,
    /// The time between two starts to one of others.
    pub foreign_interval: Duration,
    /// Failures in a row that open the breaker; 0 for never.
    pub breaker: u32,
    /// The first rest.
    pub cooldown: Duration,
    /// Most probes of a host that rests, if there is a limit.
    pub probes: Option<u32>,
    /// Whether the rate of each host follows what it can do, below its interval.
    pub adapts: bool,
    /// How many shards share each host.
    pub shards: u32,
    /// Where in each interval this part's starts are, from 0 to 1: the shards of a host take turns.
    pub turn: f64,
    /// How long a host may be down before it is given up.
    pub wait_out: Duration,
    /// Tries again as a share of requests.
    pub retry_budget: f64,
    /// The longest pause that `Retry-After` can cause.
    pub max_retry_after: Duration,
}

/// How a request ended, as its host's limits see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended {
    /// Well.
    Well,
    /// Badly.
    Badly,
    /// The host sent a 429 or 503, with this Retry-After if it had one.
    Pause(Option<Duration>),
}

impl Ended {
    /// The sign that it gives to the host's adaptive rate.
    pub fn sign(self) -> Sign {
        match self {
            Ended::Well => Sign::Good,
            Ended::Badly => Sign::Failed,
            Ended::Pause(_) => Sign::Overrun,
        }
    }
}

/// A change of a host's state, for the observer.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It rests for so long after so many failures.
    Rests(u32, Duration),
    /// It is given up, after it was down for this long.
    GivenUp(Duration),
    /// The host sent a 429 or 503.
    Paused(Duration),
}

/// A host, and what waits for it.
pub(super) struct HostState<T> {
    pub name: Box<str>,
    pub is_foreign: bool,
    /// Most in flight.
    pub most: usize,
    /// The time between two starts.
    pub interval: Duration,
    pub waiting: VecDeque<T>,
    pub delayed: usize,
    pub in_flight: usize,
    pub not_before: Option<Instant>,
    pub is_ready: bool,
    pub is_resting: bool,
    /// In a row.
    pub failures: u32,
    pub pauses: u32,
    /// How often the breaker opened since the last good response.
    pub opened: u32,
    /// When it opened first since then.
    pub down_since: Option<Instant>,
    pub is_given_up: bool,
    /// While its robots.txt is fetched.
    pub is_gated: bool,
    /// Whether its next start is its first, or the first by another interval.
    pub awaits_turn: bool,
    /// The crawl delay between two requests.
    pub delay: Duration,
    pub started: u64,
    pub retried: u64,
    pub ended: u64,
    pub failed: u64,
    pub taken: Duration,
    /// Its rate, if that follows what it can do.
    pub adaptive: Option<Adaptive>,
}

impl<T> HostState<T> {
    pub fn new(name: Box<str>, is_foreign: bool, limits: &Limits) -> HostState<T> {
        let mut host = HostState {
            name,
            is_foreign,
            most: 1,
            interval: Duration::ZERO,
            waiting: VecDeque::new(),
            delayed: 0,
            in_flight: 0,
            not_before: None,
            is_ready: false,
            is_resting: false,
            failures: 0,
            pauses: 0,
            opened: 0,
            down_since: None,
            is_given_up: false,
            is_gated: false,
            awaits_turn: true,
            delay: Duration::ZERO,
            started: 0,
            retried: 0,
            ended: 0,
            failed: 0,
            taken: Duration::ZERO,
            adaptive: None,
        };
        host.limit(limits);
        host
    }

    /// Has it keep these limits.
    pub fn limit(&mut self, limits: &Limits) {
        (self.most, self.interval) = match self.is_foreign {
            true => (limits.foreign, limits.foreign_interval),
            false => (limits.own, limits.own_interval),
        };
        self.adaptive = limits.adapts.then(|| Adaptive::new(limits.shards));
    }

    pub fn may_start(&self) -> bool {
        // While it is tried again, by one alone.
        let most = if self.opened > 0 || self.is_gated {
            1
        } else {
            self.most
        };
        !self.is_resting && !self.is_given_up && self.in_flight < most && !self.waiting.is_empty()
    }

    pub fn is_idle(&self) -> bool {
        let nothing_left = self.waiting.is_empty() && self.in_flight == 0 && self.delayed == 0;
        nothing_left && !self.is_resting && !self.is_ready && self.opened == 0 && !self.is_given_up
    }

    pub fn fail(&mut self, limits: &Limits, now: Instant) -> Option<Change> {
        self.failures = self.failures.saturating_add(1);
        // Requests that were in flight when the breaker opened say nothing new.
        let late = self.opened > 0 && self.not_before.is_some_and(|until| until > now);
        let run = self.failures >= limits.breaker || self.opened > 0;
        if limits.breaker == 0 || self.is_given_up || late || !run {
            return None;
        }
        self.opened += 1;
        let since = *self.down_since.get_or_insert(now);
        let left = (since + limits.wait_out).saturating_duration_since(now);
        let was_tried = self.opened > 1 && left.is_zero();
        if was_tried || limits.probes.is_some_and(|most| self.opened > most) {
            self.is_given_up = true;
            return Some(Change::GivenUp(now - since));
        }
        let rest = limits
            .cooldown
            .saturating_mul(1 << (self.opened - 1).min(20));
        // The last probe is sent when the time is over, and not long after.
        let rest = rest.min(LONGEST_REST.max(limits.cooldown)).min(left);
        self.not_before = Some(self.not_before.map_or(now + rest, |at| at.max(now + rest)));
        Some(Change::Rests(self.failures, rest))
    }

    pub fn pause(
        &mut self,
        requested: Option<Duration>,
        limits: &Limits,
        now: Instant,
    ) -> Option<Change> {
        if let Some(change) = self.fail(limits, now) {
            return Some(match (change, requested) {
                (Change::Rests(failures, rest), Some(requested)) => {
                    let rest = rest.max(requested.min(limits.max_retry_after));
                    self.not_before = self.not_before.max(Some(now + rest));
                    Change::Rests(failures, rest)
                }
                (change, _) => change,
            });
        }
        let guess = Duration::from_secs(1 << self.pauses.min(6)).min(LONGEST_GUESS);
        let pause = requested.unwrap_or(guess).min(limits.max_retry_after);
        let until = now + pause;
        // Requests that were in flight when the pause began do not prolong it, unless they have a `Retry-After`.
        if self.not_before.is_some_and(|at| at > now) && requested.is_none() || pause.is_zero() {
            return None;
        }
        let is_news = self.not_before.is_none_or(|at| at < until);
        if is_news {
            self.pauses += 1;
            self.not_before = Some(until);
        }
        is_news.then_some(Change::Paused(pause))
    }
}
