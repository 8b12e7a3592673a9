//! Who may be asked next: hosts with their limits, in turns. Nothing here sends or looks at the clock.
//!
//! A host rests until its rate allows another request, for as long as it asked for (429, 503 with `Retry-After`), and when a run of
//! failures opened its breaker. Then one request tries it again; after some that failed too, what waits for the host is skipped.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

/// A start that is late by less does not put off those after it.
const LATENESS: Duration = Duration::from_millis(5);

/// The longest pause of a host that says that it is overrun, but not for how long.
const LONGEST_GUESS: Duration = Duration::from_secs(60);

/// Tries again that are free, whatever the budget.
const FREE_RETRIES: u64 = 10;

/// Hosts that nothing is known of are forgotten when there are more.
const MOST_REMEMBERED: usize = 4096;

/// What every host is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most in flight to a host of this machine or a private network.
    pub own: usize,
    /// Most in flight to a host of others.
    pub foreign: usize,
    /// The time between two starts to one of our own.
    pub own_interval: Duration,
    /// The same to one of others.
    pub foreign_interval: Duration,
    /// Failures in a row that open the breaker; 0 for never.
    pub breaker: u32,
    /// The first rest.
    pub rest: Duration,
    /// Most tries of a host that rests.
    pub probes: u32,
    /// Tries again as a share of requests.
    pub retry_budget: f64,
    /// The longest pause that a host may ask for.
    pub longest_pause: Duration,
}

/// How a request ended, as its host's limits see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended {
    /// Well.
    Well,
    /// Badly.
    Badly,
    /// The host asks for a pause, of this length if it says so.
    Pause(Option<Duration>),
}

/// What changed with a host, to be told.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It rests for so long after so many failures.
    Rests(u32, Duration),
    /// It is given up.
    GivenUp,
    /// It asked for a pause.
    Paused(Duration),
}

/// What comes next.
pub enum Next<T> {
    /// Start this one of the host.
    Start(u32, T),
    /// Skip this one: its host was given up.
    Skip(T),
    /// Nothing until then, or until one ends.
    Wait(Option<Instant>),
}

/// The hosts of a part.
pub struct Hosts<T> {
    limits: Limits,
    hosts: Vec<Host<T>>,
    by_name: HashMap<Box<str>, u32, FixedState>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
    resting: BTreeMap<(Instant, u64), u32>,
    delayed: BTreeMap<(Instant, u64), (u32, T)>,
    given_up: Vec<u32>,
    order: u64,
}

struct Host<T> {
    name: Box<str>,
    is_foreign: bool,
    waiting: VecDeque<T>,
    delayed: usize,
    in_flight: usize,
    not_before: Option<Instant>,
    is_ready: bool,
    is_resting: bool,
    /// In a row.
    failures: u32,
    pauses: u32,
    /// How often the breaker opened since the last good answer.
    opened: u32,
    is_given_up: bool,
    /// While robots.txt is asked for.
    is_gated: bool,
    /// What it asks to be let alone between two requests.
    delay: Duration,
    started: u64,
    retried: u64,
    ended: u64,
    failed: u64,
    taken: Duration,
}

/// What is told of a host.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HostView {
    /// Its name.
    pub name: String,
    /// Requests that wait for it, as far as they are read.
    pub waiting: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Requests that ended.
    pub done: u64,
    /// Those of them that ended badly.
    pub failed: u64,
    /// What one took, on average, in milliseconds.
    pub ms: f64,
    /// `rests`, `paused` or `given up`, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl<T> Hosts<T> {
    /// None yet.
    pub fn new(limits: Limits) -> Hosts<T> {
        Hosts {
            limits,
            hosts: Vec::new(),
            by_name: HashMap::default(),
            free: Vec::new(),
            ready: VecDeque::new(),
            resting: BTreeMap::new(),
            delayed: BTreeMap::new(),
            given_up: Vec::new(),
            order: 0,
        }
    }

    /// The number of a host, and whether nothing was known of it.
    pub fn number(&mut self, name: &str, is_foreign: bool) -> (u32, bool) {
        if let Some(number) = self.by_name.get(name) {
            return (*number, false);
        }
        let host = Host::new(name.into(), is_foreign);
        let number = match self.free.pop() {
            Some(number) => {
                self.hosts[number as usize] = host;
                number
            }
            None => {
                self.hosts.push(host);
                self.hosts.len() as u32 - 1
            }
        };
        self.by_name.insert(name.into(), number);
        (number, true)
    }

    /// Lets one alone start, until [`open_gate`](Hosts::open_gate).
    pub fn close_gate(&mut self, number: u32) {
        self.hosts[number as usize].is_gated = true;
    }

    /// Opens the gate again, with this much time between two starts at least; what waited behind it, to be queued again.
    pub fn open_gate(&mut self, number: u32, delay: Duration) -> Vec<T> {
        let host = &mut self.hosts[number as usize];
        host.is_gated = false;
        host.delay = delay;
        host.waiting.drain(..).collect()
    }

    /// The name of a host.
    pub fn name(&self, number: u32) -> &str {
        &self.hosts[number as usize].name
    }

    /// Queues one behind the others of its host.
    pub fn push(&mut self, number: u32, item: T) {
        self.hosts[number as usize].waiting.push_back(item);
        self.review(number);
    }

    /// Queues one again, before the others of its host, from then on.
    pub fn again(&mut self, number: u32, item: T, at: Instant) {
        self.order += 1;
        self.hosts[number as usize].delayed += 1;
        self.hosts[number as usize].retried += 1;
        self.delayed.insert((at, self.order), (number, item));
    }

    /// Whether the host's budget has another try.
    pub fn may_retry(&self, number: u32) -> bool {
        let host = &self.hosts[number as usize];
        let earned =
            (host.started - host.retried.min(host.started)) as f64 * self.limits.retry_budget;
        !host.is_given_up && (host.retried as f64) < FREE_RETRIES as f64 + earned
    }

    /// What comes next. One to start counts as in flight until [`ended`](Hosts::ended) is told of it.
    pub fn next(&mut self, now: Instant) -> Next<T> {
        self.wake(now);
        while let Some(number) = self.given_up.last().copied() {
            match self.hosts[number as usize].waiting.pop_front() {
                Some(item) => {
                    return Next::Skip(item);
                }
                None => self.given_up.pop(),
            };
        }
        while let Some(number) = self.ready.pop_front() {
            let most = self.most(number);
            let host = &mut self.hosts[number as usize];
            host.is_ready = false;
            if !host.may_start(most) {
                continue;
            }
            let Some(item) = host.waiting.pop_front() else {
                continue;
            };
            host.in_flight += 1;
            host.started += 1;
            self.space(number, now);
            self.review(number);
            return Next::Start(number, item);
        }
        let first = |time: Option<&(Instant, u64)>| time.map(|(at, _)| *at);
        let times = [
            first(self.resting.keys().next()),
            first(self.delayed.keys().next()),
        ];
        Next::Wait(times.into_iter().flatten().min())
    }

    /// One of this host has ended, after so long.
    pub fn ended(
        &mut self,
        number: u32,
        ended: Ended,
        took: Duration,
        now: Instant,
    ) -> Option<Change> {
        let limits = self.limits;
        let host = &mut self.hosts[number as usize];
        host.in_flight -= 1;
        host.ended += 1;
        host.taken += took;
        let change = match ended {
            Ended::Well => {
                (host.failures, host.opened, host.pauses) = (0, 0, 0);
                None
            }
            Ended::Badly => {
                host.failed += 1;
                host.fail(&limits, now)
            }
            Ended::Pause(asked) => {
                host.failed += 1;
                host.pause(asked, &limits, now)
            }
        };
        if change == Some(Change::GivenUp) {
            self.given_up.push(number);
        }
        if change.is_some() {
            self.rest(number);
        }
        self.review(number);
        self.forget_if_idle(number);
        change
    }

    /// One that was to start did not: it was no request.
    pub fn unstarted(&mut self, number: u32) {
        self.hosts[number as usize].in_flight -= 1;
        self.review(number);
    }

    /// The slowest hosts, and those that rest.
    pub fn slowest(&self, most: usize, now: Instant) -> Vec<HostView> {
        let mut known: Vec<&Host<T>> = self
            .by_name
            .values()
            .map(|number| &self.hosts[*number as usize])
            .collect();
        let key = |host: &&Host<T>| {
            let mean = host
                .taken
                .checked_div(host.ended.max(1) as u32)
                .unwrap_or_default();
            std::cmp::Reverse((host.is_given_up, host.state(now).is_some(), mean))
        };
        known.sort_by_key(key);
        known.truncate(most);
        known.into_iter().map(|host| host.view(now)).collect()
    }

    /// The host that holds up all: one that rests while requests wait for it, else the one with the most to do.
    pub fn holding_up(&self, now: Instant) -> Option<HostView> {
        let known = self
            .by_name
            .values()
            .map(|number| &self.hosts[*number as usize]);
        let busy = known.filter(|host| host.waiting.len() + host.delayed + host.in_flight > 0);
        let worst = busy.max_by_key(|host| {
            let waiting = host.waiting.len() + host.delayed;
            let rests = waiting > 0 && host.state(now).is_some();
            (rests, waiting + host.in_flight)
        });
        worst.map(|host| host.view(now))
    }

    fn most(&self, number: u32) -> usize {
        match self.hosts[number as usize].is_foreign {
            true => self.limits.foreign,
            false => self.limits.own,
        }
    }

    /// After each change: gives a host its turn if it may start another.
    fn review(&mut self, number: u32) {
        let most = self.most(number);
        let host = &mut self.hosts[number as usize];
        if host.is_given_up && !host.waiting.is_empty() && !self.given_up.contains(&number) {
            self.given_up.push(number);
        }
        if !host.is_ready && host.may_start(most) {
            host.is_ready = true;
            self.ready.push_back(number);
        }
    }

    /// After a start: keeps the host from another until its rate allows it.
    fn space(&mut self, number: u32, now: Instant) {
        let host = &mut self.hosts[number as usize];
        let interval = match host.is_foreign {
            true => self.limits.foreign_interval,
            false => self.limits.own_interval,
        };
        let interval = interval.max(host.delay);
        if interval.is_zero() {
            return;
        }
        let on_time = now.checked_sub(LATENESS).unwrap_or(now);
        host.not_before = Some(host.not_before.map_or(now, |at| at.max(on_time)) + interval);
        if host.not_before.is_some_and(|at| at > now) {
            self.rest(number);
        }
    }

    fn rest(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        if let (Some(until), false) = (host.not_before, host.is_given_up) {
            host.is_resting = true;
            self.order += 1;
            self.resting.insert((until, self.order), number);
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some(first) = self
            .resting
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let number = first.remove();
            let host = &mut self.hosts[number as usize];
            // It may rest on, for another reason.
            if host.not_before.is_none_or(|until| until <= now) {
                host.is_resting = false;
            }
            self.review(number);
        }
        while let Some(first) = self
            .delayed
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let (number, item) = first.remove();
            let host = &mut self.hosts[number as usize];
            host.delayed -= 1;
            host.waiting.push_front(item);
            self.review(number);
        }
    }

    fn forget_if_idle(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        if self.by_name.len() > MOST_REMEMBERED && host.is_idle() {
            self.by_name.remove(&host.name);
            self.free.push(number);
        }
    }
}

impl<T> Host<T> {
    fn new(name: Box<str>, is_foreign: bool) -> Host<T> {
        Host {
            name,
            is_foreign,
            waiting: VecDeque::new(),
            delayed: 0,
            in_flight: 0,
            not_before: None,
            is_ready: false,
            is_resting: false,
            failures: 0,
            pauses: 0,
            opened: 0,
            is_given_up: false,
            is_gated: false,
            delay: Duration::ZERO,
            started: 0,
            retried: 0,
            ended: 0,
            failed: 0,
            taken: Duration::ZERO,
        }
    }

    fn may_start(&self, most: usize) -> bool {
        // While it is tried again, by one alone.
        let most = if self.opened > 0 || self.is_gated {
            1
        } else {
            most
        };
        !self.is_resting && !self.is_given_up && self.in_flight < most && !self.waiting.is_empty()
    }

    fn is_idle(&self) -> bool {
        let nothing_left = self.waiting.is_empty() && self.in_flight == 0 && self.delayed == 0;
        nothing_left
            && !self.is_resting
            && !self.is_ready
            && self.failures == 0
            && !self.is_given_up
    }

    fn fail(&mut self, limits: &Limits, now: Instant) -> Option<Change> {
        self.failures = self.failures.saturating_add(1);
        // Those that were on their way when it opened tell nothing new.
        let late = self.opened > 0 && self.not_before.is_some_and(|until| until > now);
        let run = self.failures >= limits.breaker || self.opened > 0;
        if limits.breaker == 0 || self.is_given_up || late || !run {
            return None;
        }
        self.opened += 1;
        if self.opened > limits.probes {
            self.is_given_up = true;
            return Some(Change::GivenUp);
        }
        let rest = limits.rest.saturating_mul(1 << (self.opened - 1).min(10));
        self.not_before = Some(self.not_before.map_or(now + rest, |at| at.max(now + rest)));
        Some(Change::Rests(self.failures, rest))
    }

    fn pause(&mut self, asked: Option<Duration>, limits: &Limits, now: Instant) -> Option<Change> {
        if let Some(change) = self.fail(limits, now) {
            return Some(change);
        }
        let guess = Duration::from_secs(1 << self.pauses.min(6)).min(LONGEST_GUESS);
        let pause = asked.unwrap_or(guess).min(limits.longest_pause);
        let until = now + pause;
        // Those that were on their way when it began do not make it longer, but what they ask for counts.
        if self.not_before.is_some_and(|at| at > now) && asked.is_none() || pause.is_zero() {
            return None;
        }
        let is_news = self.not_before.is_none_or(|at| at < until);
        if is_news {
            self.pauses += 1;
            self.not_before = Some(until);
        }
        is_news.then_some(Change::Paused(pause))
    }

    fn state(&self, now: Instant) -> Option<&'static str> {
        let rests = self
            .not_before
            .is_some_and(|until| until > now + Duration::from_millis(900));
        match (self.is_given_up, self.opened > 0, rests) {
            (true, _, _) => Some("given up"),
            (_, true, _) => Some("rests"),
            (_, _, true) => Some("paused"),
            _ => None,
        }
    }

    fn view(&self, now: Instant) -> HostView {
        HostView {
            name: self.name.to_string(),
            waiting: (self.waiting.len() + self.delayed) as u64,
            in_flight: self.in_flight as u64,
            done: self.ended,
            failed: self.failed,
            ms: self.taken.as_secs_f64() * 1e3 / self.ended.max(1) as f64,
            state: self.state(now).map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests;
