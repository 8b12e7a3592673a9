//! Rounds whose connections must be new: those that were open before such a round are closed when it begins.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::task::{Context, Waker};

/// The open connections that wait for a request, and how many such rounds have begun.
#[derive(Default)]
pub(crate) struct Ages {
    rounds: Cell<u64>,
    waiting: RefCell<HashMap<u64, Waker>>,
}

/// A connection's entry.
#[derive(Default)]
pub(crate) struct Age {
    /// How many such rounds had begun when it was accepted.
    rounds: u64,
    /// Whether the connection waits for a request.
    waits: bool,
}

impl Ages {
    /// The entry of a connection that is accepted now.
    pub(crate) fn accepted(&self) -> Age {
        Age {
            rounds: self.rounds.get(),
            waits: false,
        }
    }

    /// Begins such a round: wakes the connections that wait, which then find that they are too old.
    pub(crate) fn begin(&self) {
        self.rounds.set(self.rounds.get() + 1);
        for (_, waker) in self.waiting.borrow_mut().drain() {
            waker.wake();
        }
    }

    /// Whether a connection was accepted before such a round. If not, its task is woken when one begins.
    pub(crate) fn is_too_old(&self, number: u64, age: &mut Age, context: &Context<'_>) -> bool {
        // A connection has one task from its first request to its last, and so one waker.
        if !std::mem::replace(&mut age.waits, true) {
            let waker = context.waker().clone();
            self.waiting.borrow_mut().insert(number, waker);
        }
        age.rounds < self.rounds.get()
    }

    /// A connection has ended.
    pub(crate) fn ended(&self, number: u64) {
        self.waiting.borrow_mut().remove(&number);
    }
}
