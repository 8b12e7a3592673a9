//! The gate: holds the responses of a round until enough are held at once, so that a client's true
//! concurrency is seen exactly. In a probe it holds all of them, in a measured round at moments drawn by chance.

use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::timer::Timer;
use crate::times::Times;

/// After this long without a new request, all held responses are released. Long enough for TLS
/// handshakes at a load of 15.
pub(crate) const QUIET: Duration = Duration::from_millis(500);
/// As `QUIET`, for a check during a round: shorter, because the client has opened its connections by then.
const QUIET_CHECK: Duration = Duration::from_millis(30);
/// Checks hold one response in this many.
const SHARE: u64 = 50;
/// The most checks of a round; and the fewest, as long as they hold at most one response in twenty.
const MOST_CHECKS: u64 = 32;
const FEW_CHECKS: u64 = 2;

/// Holds requests in generations: all of one are released together.
pub(crate) struct Gate {
    /// The number of held responses that releases them; 0 while there is no gate.
    width: Cell<usize>,
    held: Cell<usize>,
    quiet: Cell<Duration>,
    /// The checks, if responses are held only at chosen moments.
    checks: RefCell<Option<Checks>>,
    generation: Cell<u64>,
    last_arrival: Cell<Instant>,
    wakers: RefCell<Vec<Waker>>,
    arrival: Notify,
}

/// Checks of a round: from which request on responses are held, and how many were.
#[derive(Default)]
struct Checks {
    arrived: u64,
    /// The arrivals at which a check begins; the next one is at the end.
    moments: Vec<u64>,
    held: bool,
    seen: Vec<u32>,
    /// When the first response of the present check was held.
    begun: Option<Instant>,
    /// How long after the first response the second one was held, for each check.
    gaps: Times,
    /// When the last response of the present check was held.
    last: Option<Instant>,
    /// The time until each later request of the present check, by [`class`]: the longest of each class.
    longest: Vec<Option<Duration>>,
    /// The waits of all finished checks.
    waits: Vec<Times>,
}

/// The first positions have a class each; later positions share one up to the next power of two.
const SINGLE_CLASSES: usize = 16;

/// The class of a request that is held behind this many others, two or more.
fn class(behind: usize) -> usize {
    match behind {
        ..SINGLE_CLASSES => behind - 2,
        _ => SINGLE_CLASSES - 2 + (behind / SINGLE_CLASSES).ilog2() as usize,
    }
}

impl Checks {
    /// Moments for a round of `count` requests with `width` in flight. At each moment `width` requests
    /// are still to come.
    fn draw(width: usize, count: u64) -> Checks {
        let width = width as u64;
        let range = count.saturating_sub(2 * width);
        let waves = count / width.max(1);
        let few = (waves / 20).clamp(1, FEW_CHECKS);
        let wanted = (waves / SHARE).clamp(few, MOST_CHECKS);
        let moments = (0..wanted).map(|_| width + rand::random_range(0..range.max(1)));
        let mut moments: Vec<u64> = if range == 0 {
            Vec::new()
        } else {
            moments.collect()
        };
        moments.sort_unstable_by(|left, right| right.cmp(left));
        Checks {
            moments,
            ..Checks::default()
        }
    }

    /// Counts an arriving request, and returns whether its response is held.
    fn arrive(&mut self) -> bool {
        self.arrived += 1;
        self.held |= self
            .moments
            .last()
            .is_some_and(|moment| *moment <= self.arrived);
        self.held
    }

    /// A response is held behind this number of others.
    fn hold(&mut self, behind: usize, now: Instant) {
        match (behind, self.begun) {
            (0, _) => self.begun = Some(now),
            (1, Some(begun)) => self.gaps.record(now - begun),
            (2.., Some(_)) => self.wait(class(behind), now),
            _ => {}
        }
        self.last = Some(now);
    }

    fn wait(&mut self, class: usize, now: Instant) {
        let wait = now - self.last.unwrap_or(now);
        let more = self.longest.len().max(class + 1);
        self.longest.resize(more, None);
        self.longest[class] = self.longest[class].max(Some(wait));
    }

    /// Releases the held responses.
    fn end(&mut self, held: usize) {
        if !std::mem::take(&mut self.held) {
            return;
        }
        self.seen.push(u32::try_from(held).unwrap_or(u32::MAX));
        let longest = std::mem::take(&mut self.longest);
        let more = self.waits.len().max(longest.len());
        self.waits.resize_with(more, Times::new);
        for (waits, longest) in self.waits.iter_mut().zip(longest) {
            longest.into_iter().for_each(|wait| waits.record(wait));
        }
        let arrived = self.arrived;
        self.moments.retain(|moment| *moment > arrived);
    }
}

/// The generation that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate {
            width: Cell::new(0),
            held: Cell::new(0),
            quiet: Cell::new(QUIET),
            checks: RefCell::new(None),
            generation: Cell::new(0),
            last_arrival: Cell::new(Instant::now()),
            wakers: RefCell::new(Vec::new()),
            arrival: Notify::new(),
        }
    }

    /// Sets the width for a new round; what is still held is released.
    pub(crate) fn set(&self, width: usize) {
        self.release();
        self.checks.replace(None);
        self.quiet.set(QUIET);
        self.width.set(width);
    }

    /// Holds responses only at a few moments of a round of `count` requests; what is still held is released.
    pub(crate) fn check(&self, width: usize, count: u64) {
        self.set(width);
        if width > 0 {
            self.checks.replace(Some(Checks::draw(width, count)));
            self.quiet.set(QUIET_CHECK);
        }
    }

    /// For the checks so far: the number of held responses of each, the times until the second request, and the times
    /// until each later request.
    pub(crate) fn checks(&self) -> (Vec<u32>, Times, Vec<Times>) {
        let checks = self.checks.borrow();
        let facts = |checks: &Checks| {
            (
                checks.seen.clone(),
                checks.gaps.clone(),
                checks.waits.clone(),
            )
        };
        checks.as_ref().map(facts).unwrap_or_default()
    }

    /// A request arrives; `None` when there is no gate.
    pub(crate) fn enter(&self, now: Instant) -> Option<Ticket> {
        if self.width.get() == 0 {
            return None;
        }
        let mut checks = self.checks.borrow_mut();
        if checks.as_mut().is_some_and(|checks| !checks.arrive()) {
            return None;
        }
        if let Some(checks) = checks.as_mut() {
            checks.hold(self.held.get(), now);
        }
        drop(checks);
        let ticket = Ticket(self.generation.get());
        self.held.set(self.held.get() + 1);
        self.last_arrival.set(now);
        if self.held.get() >= self.width.get() {
            self.release();
        } else {
            self.arrival.notify_one();
        }
        Some(ticket)
    }

    /// A held request is given up because its client went away.
    pub(crate) fn leave(&self, ticket: Ticket) {
        if !self.is_open(ticket) {
            self.held.set(self.held.get() - 1);
        }
    }

    pub(crate) fn is_open(&self, ticket: Ticket) -> bool {
        ticket.0 < self.generation.get()
    }

    /// Wakes `waker` at the next release.
    pub(crate) fn wake_on_release(&self, waker: Waker) {
        self.wakers.borrow_mut().push(waker);
    }

    fn release(&self) {
        if let Some(checks) = self.checks.borrow_mut().as_mut() {
            checks.end(self.held.get());
        }
        self.held.set(0);
        self.generation.set(self.generation.get() + 1);
        for waker in self.wakers.take() {
            waker.wake();
        }
    }

    /// Releases what is held once no request has come for a while; never returns.
    pub(crate) async fn watch(&self, timer: &Timer) {
        loop {
            self.arrival.notified().await;
            while self.held.get() > 0 {
                let quiet = self.last_arrival.get() + self.quiet.get();
                if Instant::now() >= quiet {
                    self.release();
                } else {
                    timer.sleep_until(quiet).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_opens_for_all_when_the_last_one_arrives() {
        let (gate, now) = (Gate::new(), Instant::now());
        assert_eq!(gate.enter(now), None);
        gate.set(2);
        let first = gate.enter(now).unwrap();
        assert!(!gate.is_open(first));
        let second = gate.enter(now).unwrap();
        assert!(gate.is_open(first) && gate.is_open(second));
        let third = gate.enter(now).unwrap();
        assert!(!gate.is_open(third));
    }

    #[test]
    fn a_check_has_the_time_until_the_second_request() {
        let (gate, now) = (Gate::new(), Instant::now());
        gate.check(4, 12);
        gate.checks.borrow_mut().as_mut().unwrap().moments = vec![2];
        for ms in [0, 1, 5, 9, 11] {
            gate.enter(now + Duration::from_millis(ms));
        }
        let (seen, gaps, waits) = gate.checks();
        let listed = |times: &Times| times.iter().collect::<Vec<_>>();
        assert_eq!((&seen[..], listed(&gaps)), (&[4][..], vec![(4000, 1)]));
        let waits: Vec<_> = waits.iter().map(listed).collect();
        assert_eq!(waits, [vec![(4000, 1)], vec![(2000, 1)]]);
        let classes = [2, 3, 15, 16, 31, 32, 100].map(class);
        assert_eq!(classes, [0, 1, 13, 14, 14, 15, 16]);
    }

    #[test]
    fn a_request_that_leaves_does_not_count() {
        let (gate, now) = (Gate::new(), Instant::now());
        gate.set(2);
        gate.leave(gate.enter(now).unwrap());
        let first = gate.enter(now).unwrap();
        assert!(!gate.is_open(first));
        gate.enter(now);
        assert!(gate.is_open(first));
    }

    /// A round has at least three requests for each in flight, and on a busy machine no more.
    #[test]
    fn the_shortest_round_has_a_check_that_everyone_in_flight_can_reach() {
        for width in [1, 2, 8, 50] {
            for _ in 0..1000 {
                let count = 3 * width as u64;
                let moments = Checks::draw(width, count).moments;
                assert_eq!(moments.len(), 1, "{width}");
                let still_to_come = count - moments[0] + 1;
                assert!(still_to_come >= width as u64, "{width}: {moments:?}");
            }
        }
    }
}
