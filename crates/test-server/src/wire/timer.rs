//! A queue of wake-ups on one clock.

use std::cell::{Cell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::task::{Poll, Waker};
use std::time::Instant;

use crate::wire::clock::Clock;

/// Wakes tasks at given instants, as accurately as the clock goes.
pub(crate) struct Timer {
    clock: Clock,
    queue: RefCell<BinaryHeap<Reverse<Entry>>>,
    serial: Cell<u64>,
    /// The instant that the clock is set to.
    armed: Cell<Option<Instant>>,
}

struct Entry {
    at: Instant,
    /// Entries of one instant wake in the order they came.
    serial: u64,
    waker: Waker,
}

impl Timer {
    /// Must be called inside the runtime.
    pub(crate) fn new() -> io::Result<Timer> {
        Ok(Timer {
            clock: Clock::new()?,
            queue: RefCell::new(BinaryHeap::new()),
            serial: Cell::new(0),
            armed: Cell::new(None),
        })
    }

    /// Wakes `waker` once, not before `at`.
    pub(crate) fn wake_at(&self, at: Instant, waker: Waker) {
        let serial = self.serial.replace(self.serial.get() + 1);
        self.queue
            .borrow_mut()
            .push(Reverse(Entry { at, serial, waker }));
        if self.armed.get().is_none_or(|armed| at < armed) {
            self.arm(at, Instant::now());
        }
    }

    /// Waits until `at`.
    pub(crate) async fn sleep_until(&self, at: Instant) {
        poll_fn(|context| {
            if Instant::now() >= at {
                return Poll::Ready(());
            }
            self.wake_at(at, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Wakes every task that is due. Code that has just read the clock may call this: under load it wakes tasks sooner
    /// than the event queue does.
    pub(crate) fn fire(&self, now: Instant) {
        if self.armed.get().is_none_or(|armed| now < armed) {
            return;
        }
        let mut queue = self.queue.borrow_mut();
        while queue.peek().is_some_and(|Reverse(entry)| entry.at <= now) {
            if let Some(Reverse(entry)) = queue.pop() {
                entry.waker.wake();
            }
        }
        match queue.peek() {
            Some(Reverse(next)) => self.arm(next.at, now),
            None => self.armed.set(None),
        }
    }

    /// Fires whenever the clock says so; never ends.
    pub(crate) async fn run(&self) {
        while self.clock.due().await.is_ok() {
            self.fire(Instant::now());
        }
    }

    fn arm(&self, at: Instant, now: Instant) {
        self.clock.set(at.saturating_duration_since(now));
        self.armed.set(Some(at));
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.at, self.serial).cmp(&(other.at, other.serial))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.serial == other.serial
    }
}

impl Eq for Entry {}
