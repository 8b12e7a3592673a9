//! The requests that need Ruby while the engine runs without the GVL: for a piece of a body, or for a call.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

use crate::lock;

/// The requests that need Ruby, for the thread that can run it.
#[derive(Default)]
pub struct RubyQueue {
    tags: Mutex<Vec<usize>>,
    waker: AtomicWaker,
}

impl RubyQueue {
    /// Adds a request that needs a piece of its body, or a call about its outcome.
    pub fn add(&self, tag: usize) {
        lock(&self.tags).push(tag);
        self.waker.wake();
    }

    /// Ready as soon as a request needs Ruby.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        match lock(&self.tags).is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    /// The requests that need Ruby; each is returned once.
    pub fn take(&self) -> Vec<usize> {
        std::mem::take(&mut lock(&self.tags))
    }
}

/// The future's output, or none when a request needs Ruby first. The reactor has a turn first. Otherwise bodies
/// that always need a piece would starve deadlines and responses.
pub async fn ended_or_needed<T>(
    future: impl Future<Output = T>,
    ruby_queue: &RubyQueue,
) -> Option<T> {
    let mut future = pin!(future);
    let mut turned = false;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        let needed = ruby_queue.poll(cx).is_ready();
        match (needed, std::mem::replace(&mut turned, true)) {
            (true, true) => Poll::Ready(None),
            (true, false) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            (false, _) => Poll::Pending,
        }
    })
    .await
}
