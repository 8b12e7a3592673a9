//! The gate: holds the responses of a round until enough are held at once, so that a client's true
//! concurrency is seen exactly.

use std::cell::{Cell, RefCell};
use std::task::Waker;

use tokio::task::yield_now;

/// The turns of the runtime after which a request that has come through the network is at the gate: one looks at the sockets, and one
/// reads. A session of TLS or HTTP/2 takes some more.
const TURNS: usize = 8;

/// Holds requests in generations: all of one are released together.
#[derive(Default)]
pub(crate) struct Gate {
    /// The number of held responses that releases them; 0 while there is no gate.
    width: Cell<usize>,
    held: Cell<usize>,
    /// Requests of the round that have not arrived yet. Once there are none, nothing is waited for.
    to_come: Cell<u64>,
    generation: Cell<u64>,
    wakers: RefCell<Vec<Waker>>,
}

/// The generation that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

impl Gate {
    /// Sets the width for a new round of `count` requests; what is still held is released.
    pub(crate) fn set(&self, width: usize, count: u64) {
        self.release();
        self.to_come.set(count);
        self.width.set(width);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.width.get() > 0
    }

    /// A request arrives; `None` when there is no gate, or its response goes around it.
    pub(crate) fn enter(&self, goes_around: bool) -> Option<Ticket> {
        if !self.is_set() {
            return None;
        }
        let to_come = self.to_come.get().saturating_sub(1);
        self.to_come.set(to_come);
        let ticket = Ticket(self.generation.get());
        if !goes_around {
            self.held.set(self.held.get() + 1);
        }
        if self.held.get() >= self.width.get() || to_come == 0 {
            self.release();
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

    /// Holds nothing more in this round, unless nothing is held or a request comes meanwhile. Returns whether it opened. The gate cannot
    /// know that a client has no more requests to send, so whoever watches the client says so.
    pub(crate) async fn open_unless_one_comes(&self) -> bool {
        let before = self.to_come.get();
        for _ in 0..TURNS {
            yield_now().await;
        }
        let stuck = self.held.get() > 0 && self.to_come.get() == before;
        if stuck {
            self.width.set(0);
            self.release();
        }
        stuck
    }

    fn release(&self) {
        self.held.set(0);
        self.generation.set(self.generation.get() + 1);
        for waker in self.wakers.take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    #[test]
    fn the_gate_opens_for_all_when_the_last_one_arrives() {
        let gate = Gate::default();
        assert_eq!(gate.enter(false), None);
        gate.set(2, 10);
        let first = gate.enter(false).unwrap();
        assert!(!gate.is_open(first));
        let second = gate.enter(false).unwrap();
        assert!(gate.is_open(first) && gate.is_open(second));
        let third = gate.enter(false).unwrap();
        assert!(!gate.is_open(third));
    }

    #[test]
    fn the_last_request_of_a_round_opens_the_gate() {
        let gate = Gate::default();
        gate.set(3, 4);
        let first = gate.enter(false).unwrap();
        assert_eq!(gate.enter(true), None);
        gate.enter(false);
        assert!(!gate.is_open(first));
        assert_eq!(gate.enter(true), None);
        assert!(gate.is_open(first), "nobody else comes");
    }

    #[test]
    fn a_gate_that_nobody_fills_opens_for_the_rest_of_the_round() {
        let gate = Gate::default();
        gate.set(2, 100);
        assert!(!opens(&gate, async || ()), "nothing is held");
        let ticket = gate.enter(false).unwrap();
        assert!(opens(&gate, async || ()) && gate.is_open(ticket));
        assert_eq!(gate.enter(false), None);
        gate.set(2, 100);
        assert!(gate.enter(false).is_some());
    }

    #[test]
    fn a_gate_stays_closed_when_a_request_comes() {
        let gate = Gate::default();
        gate.set(3, 100);
        let ticket = gate.enter(false).unwrap();
        let comes = async || assert!(gate.enter(false).is_some());
        assert!(!opens(&gate, comes) && !gate.is_open(ticket));
    }

    /// Whether it opens while something else happens.
    fn opens(gate: &Gate, meanwhile: impl AsyncFnOnce()) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let mut opened = pin!(gate.open_unless_one_comes());
            let first = poll_fn(|context| Poll::Ready(opened.as_mut().poll(context))).await;
            assert!(first.is_pending(), "what has come is looked at first");
            meanwhile().await;
            opened.await
        })
    }

    #[test]
    fn a_request_that_leaves_does_not_count() {
        let gate = Gate::default();
        gate.set(2, 10);
        gate.leave(gate.enter(false).unwrap());
        let first = gate.enter(false).unwrap();
        assert!(!gate.is_open(first));
        gate.enter(false);
        assert!(gate.is_open(first));
    }
}
