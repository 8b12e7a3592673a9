//! The hosts of a part with their limits: which may get the next request. Nothing here sends or looks at the clock.
//!
//! A host rests until its rate allows another request, until a pause is over (429, 503), and after a run of failures
//! opened its breaker. Then one request at a time probes the host, after rests that grow. A host that has no answer for
//! too long is given up, with the inputs that wait for it. A host that was overrun gets a lower rate, which grows again,
//! and one that refuses connections fewer requests at once.

mod adaptive;
mod crowd;
mod health;
mod host;
mod queue;
mod terms;
mod view;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

pub use self::health::{Change, Healths, usual_pause};
pub use self::host::Gate;
use self::host::HostState;
pub use self::queue::Waiting;
pub use self::terms::{HostSign, Limits, Span};
pub use self::view::HostView;
use super::bandwidth::Bandwidth;

/// A start that is late by less does not put off those after it.
const LATENESS: Duration = Duration::from_millis(5);

/// Tries again that are free, whatever the budget.
const FREE_RETRIES: u64 = 10;

/// Idle hosts are forgotten when there are more than this.
const MOST_REMEMBERED: usize = 1024;

/// What comes next.
pub enum Next<T> {
    /// Start this one of the host.
    Start(u32, T),
    /// Skip this one of the host: it was given up.
    Skip(u32, T),
    /// Nothing until then, or until one ends.
    Wait(Option<Instant>),
}

/// The hosts of a part.
pub struct Hosts<T> {
    limits: Limits,
    /// The health of its hosts, if other parts send to them too.
    healths: Option<Arc<Healths>>,
    hosts: Vec<HostState<T>>,
    by_name: HashMap<Box<str>, u32, FixedState>,
    free: Vec<u32>,
    ready: VecDeque<u32>,
    resting: BTreeMap<(Instant, u64), u32>,
    delayed: BTreeMap<(Instant, u64), (u32, T)>,
    given_up: Vec<u32>,
    /// Hosts that may be idle.
    idle: Vec<u32>,
    order: u64,
}

impl<T: Waiting> Hosts<T> {
    /// None yet. `healths` is what is known of them here, if other parts send to them too.
    pub fn new(limits: Limits, healths: Option<Arc<Healths>>) -> Hosts<T> {
        Hosts {
            limits,
            healths,
            hosts: Vec::new(),
            by_name: HashMap::default(),
            free: Vec::new(),
            ready: VecDeque::new(),
            resting: BTreeMap::new(),
            delayed: BTreeMap::new(),
            given_up: Vec::new(),
            idle: Vec::new(),
            order: 0,
        }
    }

    /// The number of a host, and whether nothing was known of it.
    pub fn number(&mut self, name: &str, is_foreign: bool) -> (u32, bool) {
        if let Some(number) = self.by_name.get(name) {
            return (*number, false);
        }
        let healths = self.healths.as_ref();
        let health = healths.map_or_else(Default::default, |healths| healths.of(name));
        let host = HostState::new(name.into(), is_foreign, &self.limits, health);
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

    /// Has a host keep limits of its own.
    pub fn limit(&mut self, number: u32, limits: &Limits) {
        self.hosts[number as usize].limit(limits);
    }

    /// Has a host keep a bandwidth of its own.
    pub fn limit_bandwidth(&mut self, number: u32, bandwidth: Arc<Bandwidth>) {
        self.hosts[number as usize].bandwidth = Some(bandwidth);
    }

    /// The bandwidth of a host that has its own.
    pub fn bandwidth(&self, number: u32) -> Option<&Arc<Bandwidth>> {
        self.hosts[number as usize].bandwidth.as_ref()
    }

    /// Has the inputs of a host wait, until [`open_gate`](Hosts::open_gate).
    pub fn close_gate(&mut self, number: u32, gate: Gate) {
        self.hosts[number as usize].gate = gate;
    }

    /// Whether they wait.
    pub fn is_gated(&self, number: u32) -> bool {
        self.hosts[number as usize].gate != Gate::Open
    }

    /// Opens the gate again; what waited behind it, to be queued again.
    pub fn open_gate(&mut self, number: u32) -> Vec<T> {
        let host = &mut self.hosts[number as usize];
        host.gate = Gate::Open;
        host.waiting.drain()
    }

    /// Has a host keep this much time between two starts at least.
    pub fn delay(&mut self, number: u32, delay: Duration) {
        let host = &mut self.hosts[number as usize];
        host.health.get().delay = delay;
        host.awaits_turn |= !delay.is_zero();
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

    /// Queues one before those of its host that were not sent yet; while the host is in trouble, any may come first.
    pub fn push_front(&mut self, number: u32, item: T) {
        self.hosts[number as usize].waiting.push_front(item);
        self.review(number);
    }

    /// Queues one that was sent while its host is down: it is sent when the host is back, or if no other waits.
    pub fn put_back(&mut self, number: u32, item: T) {
        self.hosts[number as usize].waiting.push_tried(item);
        self.review(number);
    }

    /// Whether so many inputs wait for a host that their failures alone would give it a rest, if each is tried so often.
    pub fn would_rest(&self, number: u32, tries: u32) -> bool {
        let host = &self.hosts[number as usize];
        let failures = (host.waiting.len() as u64).saturating_mul(tries.into());
        let limits = &self.limits;
        limits.breaker > 0 && failures >= limits.breaker.into()
    }

    /// Queues one again, from then on: before those of its host that were not sent yet, unless the host is in trouble.
    pub fn again(&mut self, number: u32, item: T, at: Instant) {
        self.hosts[number as usize].retried += 1;
        self.later(number, item, at);
    }

    /// As [`again`](Hosts::again), without counting against the host's budget.
    pub fn later(&mut self, number: u32, item: T, at: Instant) {
        self.order += 1;
        self.hosts[number as usize].delayed += 1;
        self.delayed.insert((at, self.order), (number, item));
    }

    /// Whether the host's budget has another try.
    pub fn may_retry(&self, number: u32) -> bool {
        let host = &self.hosts[number as usize];
        let earned =
            (host.started - host.retried.min(host.started)) as f64 * self.limits.retry_budget;
        !host.health.get().is_given_up() && (host.retried as f64) < FREE_RETRIES as f64 + earned
    }

    /// Whether a host was given up.
    pub fn is_given_up(&self, number: u32) -> bool {
        self.hosts[number as usize].health.get().is_given_up()
    }

    /// Whether a request of the host that began after then had an answer.
    pub fn has_worked_since(&self, number: u32, then: Instant) -> bool {
        let health = self.hosts[number as usize].health.get();
        health.worked().is_some_and(|at| at > then)
    }

    /// Whether a host that refuses a connection may have an answer for others: it has some in flight, of this part or
    /// another, and had an answer once.
    pub fn is_crowded(&self, number: u32) -> bool {
        let health = self.hosts[number as usize].health.get();
        let is_up = health.worked().is_some() && !health.is_given_up();
        is_up && health.crowd.in_flight() > 0
    }

    /// How the last request of a host ended, or the one after which it was given up.
    pub fn last(&self, number: u32) -> Option<HostSign> {
        self.hosts[number as usize].health.get().last()
    }

    /// Whether a host rests after failures, and will be probed again.
    pub fn is_down(&self, number: u32) -> bool {
        let health = self.hosts[number as usize].health.get();
        health.is_open() && !health.is_given_up()
    }

    /// The next step. A started request counts as in flight until [`ended`](Hosts::ended).
    pub fn next(&mut self, now: Instant) -> Next<T> {
        self.forget_idle();
        self.wake(now);
        while let Some(number) = self.given_up.last().copied() {
            match self.hosts[number as usize].waiting.take_first() {
                Some(item) => return Next::Skip(number, item),
                None => self.given_up.pop(),
            };
        }
        while let Some(number) = self.ready.pop_front() {
            if let Some(item) = self.start(number, now) {
                self.space(number, now);
                self.review(number);
                return Next::Start(number, item);
            }
        }
        let first = |time: Option<&(Instant, u64)>| time.map(|(at, _)| *at);
        let times = [
            first(self.resting.keys().next()),
            first(self.delayed.keys().next()),
        ];
        Next::Wait(times.into_iter().flatten().min())
    }

    /// One of this host has ended. `wait`: how long its first byte took, or all of it if that is unknown.
    pub fn ended(
        &mut self,
        number: u32,
        ended: HostSign,
        span: Span,
        wait: Duration,
    ) -> Option<Change> {
        let host = &mut self.hosts[number as usize];
        host.adapt(ended, wait, span);
        let change = host.end(ended, &self.limits, span);
        if matches!(change, Some(Change::GivenUp(_))) {
            self.given_up.push(number);
        }
        if change.is_some() {
            self.rest(number);
        }
        self.review(number);
        self.may_be_idle(number);
        change
    }

    /// Counts out a request that says nothing about its host: it was not sent, or ended for reasons of this side or of
    /// a proxy, or with a connection that was closed for lack of use.
    pub fn uncount(&mut self, number: u32) {
        self.hosts[number as usize].uncount();
        self.review(number);
    }

    /// Starts the next of a host whose turn it is, unless the host must wait.
    fn start(&mut self, number: u32, now: Instant) -> Option<T> {
        let host = &mut self.hosts[number as usize];
        host.is_ready = false;
        let health = host.health.get();
        let (may_start, rests) = (host.may_start(&health), host.rests_until(&health));
        let waits = health.waits_for_others(now);
        drop(health);
        match waits {
            _ if !may_start => self.review(number),
            // Another part may have paused it, and bodies that came must be paid for.
            _ if rests.is_some_and(|until| until > now) => self.rest(number),
            _ if host.awaits_turn && !self.has_turn(number, now) => self.rest(number),
            // If no other part sends to it, the end of one of its own makes room.
            Some(until) if self.healths.is_some() => self.rest_until(number, until),
            Some(_) => {}
            None => return self.hosts[number as usize].start(&self.limits, now),
        }
        None
    }

    /// After each change: gives a host its turn if it may start another.
    fn review(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        if host.waiting.is_empty() {
            return;
        }
        let health = host.health.get();
        let (is_given_up, may_start) = (health.is_given_up(), host.may_start(&health));
        drop(health);
        if is_given_up && !self.given_up.contains(&number) {
            self.given_up.push(number);
        }
        if may_start && !host.is_ready {
            host.is_ready = true;
            self.ready.push_back(number);
        }
    }

    /// Before the first start: has the shards of a host begin one after the other, and returns whether this one begins.
    fn has_turn(&mut self, number: u32, now: Instant) -> bool {
        let host = &mut self.hosts[number as usize];
        host.awaits_turn = false;
        let offset = host.spacing().mul_f64(self.limits.turn);
        if !offset.is_zero() {
            host.next_start = host.next_start.max(Some(now + offset));
        }
        offset.is_zero()
    }

    /// After a start: keeps the host from another until its rate allows it.
    fn space(&mut self, number: u32, now: Instant) {
        let host = &mut self.hosts[number as usize];
        let interval = host.spacing();
        if interval.is_zero() {
            return;
        }
        // A crawl delay is the least time between two requests, and not the time that they have on average.
        let lateness = if host.health.get().delay.is_zero() {
            LATENESS
        } else {
            Duration::ZERO
        };
        let on_time = now.checked_sub(lateness).unwrap_or(now);
        let begun = |start: Option<Instant>| start.map_or(now, |at| at.max(on_time));
        host.next_start = Some(begun(host.next_start) + interval);
        if self.healths.is_some() {
            let mut health = host.health.get();
            let begun = begun(health.next_start());
            health.space(begun + interval / self.limits.shards);
        }
        if host.next_start.is_some_and(|at| at > now) {
            self.rest(number);
        }
    }

    fn rest(&mut self, number: u32) {
        let host = &self.hosts[number as usize];
        let health = host.health.get();
        let (until, is_given_up) = (host.not_before(&health), health.is_given_up());
        drop(health);
        if let (Some(until), false) = (until, is_given_up) {
            self.rest_until(number, until);
        }
    }

    fn rest_until(&mut self, number: u32, until: Instant) {
        self.hosts[number as usize].is_resting = true;
        self.order += 1;
        self.resting.insert((until, self.order), number);
    }

    fn wake(&mut self, now: Instant) {
        while let Some(first) = self
            .resting
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let number = first.remove();
            let host = &mut self.hosts[number as usize];
            // It may rest on, for another reason, or because another part found it down.
            let until = host.not_before(&host.health.get());
            let is_early = until.is_some_and(|until| until > now);
            if is_early && (self.healths.is_some() || host.bandwidth.is_some()) {
                self.rest(number);
            } else {
                host.is_resting = is_early;
                host.was_awaited = !host.waiting.is_empty();
            }
            self.review(number);
            self.may_be_idle(number);
        }
        while let Some(first) = self
            .delayed
            .first_entry()
            .filter(|first| first.key().0 <= now)
        {
            let (number, item) = first.remove();
            let host = &mut self.hosts[number as usize];
            host.delayed -= 1;
            host.waiting.push_tried(item);
            self.review(number);
        }
    }

    /// Looks at a host later, when all that is done about it is done.
    fn may_be_idle(&mut self, number: u32) {
        if self.by_name.len() > MOST_REMEMBERED {
            self.idle.push(number);
        }
    }

    fn forget_idle(&mut self) {
        while let Some(number) = self.idle.pop() {
            let host = &self.hosts[number as usize];
            // It may be forgotten already.
            if host.is_idle() && self.by_name.get(&host.name) == Some(&number) {
                self.by_name.remove(&host.name);
                self.free.push(number);
            }
        }
    }
}

#[cfg(test)]
mod tests;
