//! The gate: holds the responses of a round until enough are held at once, so that a client's true
//! concurrency is seen exactly.

use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::timer::Timer;

/// After this long without a new request, all held responses are released. Long enough for TLS
/// handshakes at a load of 15.
pub(crate) const QUIET: Duration = Duration::from_millis(500);
/// So often held responses are released for that in a round; after it none is held. A client with too few in flight would
/// otherwise wait at every response.
const PATIENCE: u32 = 4;

/// Holds requests in generations: all of one are released together.
pub(crate) struct Gate {
    /// The number of held responses that releases them; 0 while there is no gate.
    width: Cell<usize>,
    held: Cell<usize>,
    /// Requests of the round that have not arrived yet. Once there are none, nothing is waited for.
    to_come: Cell<u64>,
    patience: Cell<u32>,
    generation: Cell<u64>,
    last_arrival: Cell<Instant>,
    wakers: RefCell<Vec<Waker>>,
    arrival: Notify,
}

/// The generation that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate {
            width: Cell::new(0),
            held: Cell::new(0),
            to_come: Cell::new(0),
            patience: Cell::new(0),
            generation: Cell::new(0),
            last_arrival: Cell::new(Instant::now()),
            wakers: RefCell::new(Vec::new()),
            arrival: Notify::new(),
        }
    }

    /// Sets the width for a new round of `count` requests; what is still held is released.
    pub(crate) fn set(&self, width: usize, count: u64) {
        self.release();
        self.to_come.set(count);
        self.patience.set(PATIENCE);
        self.width.set(width);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.width.get() > 0
    }

    /// A request arrives; `None` when there is no gate, or its response goes around it.
    pub(crate) fn enter(&self, now: Instant, goes_around: bool) -> Option<Ticket> {
        if !self.is_set() {
            return None;
        }
        let to_come = self.to_come.get().saturating_sub(1);
        self.to_come.set(to_come);
        let ticket = Ticket(self.generation.get());
        if !goes_around {
            self.held.set(self.held.get() + 1);
        }
        self.last_arrival.set(now);
        if self.held.get() >= self.width.get() || to_come == 0 {
            self.release();
        } else {
            self.arrival.notify_one();
        }
        (!goes_around).then_some(ticket)
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
        self.held.set(0);
        self.generation.set(self.generation.get() + 1);
        for waker in self.wakers.take() {
            waker.wake();
        }
    }

    /// Nobody has come for a while.
    fn give_up(&self) {
        let left = self.patience.get().saturating_sub(1);
        self.patience.set(left);
        if left == 0 {
            self.width.set(0);
        }
        self.release();
    }

    /// Releases what is held once no request has come for a while; never returns.
    pub(crate) async fn watch(&self, timer: &Timer) {
        loop {
            self.arrival.notified().await;
            while self.held.get() > 0 {
                let quiet = self.last_arrival.get() + QUIET;
                if Instant::now() >= quiet {
                    self.give_up();
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
        assert_eq!(gate.enter(now, false), None);
        gate.set(2, 10);
        let first = gate.enter(now, false).unwrap();
        assert!(!gate.is_open(first));
        let second = gate.enter(now, false).unwrap();
        assert!(gate.is_open(first) && gate.is_open(second));
        let third = gate.enter(now, false).unwrap();
        assert!(!gate.is_open(third));
    }

    #[test]
    fn the_last_request_of_a_round_opens_the_gate() {
        let (gate, now) = (Gate::new(), Instant::now());
        gate.set(3, 4);
        let first = gate.enter(now, false).unwrap();
        assert_eq!(gate.enter(now, true), None);
        gate.enter(now, false);
        assert!(!gate.is_open(first));
        assert_eq!(gate.enter(now, true), None);
        assert!(gate.is_open(first), "nobody else comes");
    }

    #[test]
    fn a_gate_that_nobody_fills_opens_for_good() {
        let (gate, now) = (Gate::new(), Instant::now());
        gate.set(2, 100);
        for _ in 0..PATIENCE {
            let ticket = gate.enter(now, false).unwrap();
            gate.give_up();
            assert!(gate.is_open(ticket));
        }
        assert_eq!(gate.enter(now, false), None);
    }

    #[test]
    fn a_request_that_leaves_does_not_count() {
        let (gate, now) = (Gate::new(), Instant::now());
        gate.set(2, 10);
        gate.leave(gate.enter(now, false).unwrap());
        let first = gate.enter(now, false).unwrap();
        assert!(!gate.is_open(first));
        gate.enter(now, false);
        assert!(gate.is_open(first));
    }
}
