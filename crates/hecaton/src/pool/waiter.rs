//! A waiter: one request in the queue for a connection, and its grant.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::task::AtomicWaker;

use super::connection::Held;
use crate::message::failure::Failure;
use crate::multiplex::Stream;
use crate::runtime::lock::lock;

/// The connection or stream for a request.
pub(crate) enum Acquired {
    Stream(Stream),
    /// The peer supports only HTTP/1.1. Holds a connection, if one was opened already.
    Http1(Option<Held>),
}

/// The grant for a waiting request.
pub(super) enum Grant {
    Acquired(Acquired),
    /// The task to open another connection; the request keeps its entry until it has begun.
    Open,
    /// The failure of the request that tried to open a connection for all.
    Failed(Failure),
}

pub(super) struct Waiter {
    /// Since when it has waited.
    pub since: Instant,
    grant: Mutex<Option<Grant>>,
    waker: AtomicWaker,
    /// Whether it has left the queue.
    left: AtomicBool,
}

impl Default for Waiter {
    fn default() -> Waiter {
        Waiter {
            since: Instant::now(),
            grant: Mutex::default(),
            waker: AtomicWaker::default(),
            left: AtomicBool::default(),
        }
    }
}

impl Waiter {
    /// Gives a grant, which replaces an earlier one.
    pub fn give(&self, grant: Grant) {
        *lock(&self.grant) = Some(grant);
        self.waker.wake();
    }

    /// Takes the grant.
    pub fn take(&self) -> Option<Grant> {
        lock(&self.grant).take()
    }

    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<Grant> {
        self.waker.register(cx.waker());
        self.take().map_or(Poll::Pending, Poll::Ready)
    }

    /// Records that it has left the queue, and returns whether it was in the queue until now.
    pub fn leave(&self) -> bool {
        !self.left.swap(true, Ordering::Relaxed)
    }

    pub fn is(self: &Arc<Waiter>, other: &Option<Arc<Waiter>>) -> bool {
        other.as_ref().is_some_and(|other| Arc::ptr_eq(self, other))
    }
}
