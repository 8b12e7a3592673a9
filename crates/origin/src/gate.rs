//! The gate: holds the answers of a round until enough are held at once, so that a client's true
//! concurrency is seen exactly.

use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::timer::Timer;

/// Without a new request for so long, what is held is released.
pub(crate) const QUIET: Duration = Duration::from_millis(150);

/// Holds requests in generations: all of one are released together.
pub(crate) struct Gate {
    /// So many release themselves; 0 while there is no gate.
    width: Cell<usize>,
    held: Cell<usize>,
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
            generation: Cell::new(0),
            last_arrival: Cell::new(Instant::now()),
            wakers: RefCell::new(Vec::new()),
            arrival: Notify::new(),
        }
    }

    /// Sets the width for a new round; what is still held is released.
    pub(crate) fn set(&self, width: usize) {
        self.release();
        self.width.set(width);
    }

    /// A request arrives; `None` when there is no gate.
    pub(crate) fn enter(&self, now: Instant) -> Option<Ticket> {
        if self.width.get() == 0 {
            return None;
        }
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
        self.held.set(0);
        self.generation.set(self.generation.get() + 1);
        for waker in self.wakers.take() {
            waker.wake();
        }
    }

    /// Releases what is held when it has been quiet; never ends.
    pub(crate) async fn watch(&self, timer: &Timer) {
        loop {
            self.arrival.notified().await;
            while self.held.get() > 0 {
                let quiet = self.last_arrival.get() + QUIET;
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
    fn one_that_leaves_does_not_count() {
        let (gate, now) = (Gate::new(), Instant::now());
        gate.set(2);
        gate.leave(gate.enter(now).unwrap());
        let first = gate.enter(now).unwrap();
        assert!(!gate.is_open(first));
        gate.enter(now);
        assert!(gate.is_open(first));
    }
}
