//! A started request of a batch, with what the batch must know when the request ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio_util::sync::ReusableBoxFuture;

use crate::client::Outcome;
use crate::message::origin::Origin;
use crate::runtime::yield_now::poll_turn;

/// The memory of a future, about a kibibyte. It is reused, because malloc does not serve this size from its fast path.
pub(crate) type Slot<Output = Outcome> = ReusableBoxFuture<'static, Output>;

/// A future that is ready when the request has ended, or when a part of its response waits for its reader.
pub(crate) struct InFlight<T, Output = Outcome> {
    tag: Option<T>,
    origin: Option<Arc<Origin>>,
    /// None when it has ended.
    sending: Option<Slot<Output>>,
}

/// A request that has ended: its tag, its origin and how it ended.
pub(crate) struct Ended<T, Output = Outcome> {
    pub tag: T,
    pub origin: Option<Arc<Origin>>,
    pub result: std::thread::Result<Output>,
    /// None after a panic.
    pub slot: Option<Slot<Output>>,
}

impl<T, Output> InFlight<T, Output> {
    pub fn new(
        tag: T,
        origin: Option<Arc<Origin>>,
        sending: impl Future<Output = Output> + Send + 'static,
    ) -> InFlight<T, Output> {
        InFlight::in_slot(tag, origin, Slot::new(sending))
    }

    /// A started request whose future is in `sending` already.
    pub fn in_slot(
        tag: T,
        origin: Option<Arc<Origin>>,
        sending: Slot<Output>,
    ) -> InFlight<T, Output> {
        InFlight {
            tag: Some(tag),
            origin,
            sending: Some(sending),
        }
    }

    /// The request's tag, until the request has ended.
    pub fn tag(&self) -> Option<&T> {
        self.tag.as_ref()
    }

    /// Gives the request up, and returns its tag.
    pub fn into_tag(self) -> Option<T> {
        self.tag
    }
}

// The tag is never pinned.
impl<T, Output> Unpin for InFlight<T, Output> {}

impl<T, Output> Future for InFlight<T, Output> {
    type Output = Ended<T, Output>;

    /// A panic ends the request too: the batch must learn of it, so that the other requests continue.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended<T, Output>> {
        ready!(poll_turn(cx));
        let sending = self.sending.as_mut().expect(UNENDED);
        let result = match catch_unwind(AssertUnwindSafe(|| sending.poll(cx))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        Poll::Ready(Ended {
            tag: self.tag.take().expect(UNENDED),
            origin: self.origin.take(),
            slot: self.sending.take().filter(|_| result.is_ok()),
            result,
        })
    }
}

const UNENDED: &str = "it has not ended before";

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// When a request ends, everything that it held is dropped, its client and its body included.
    #[test]
    fn a_free_slot_holds_nothing_of_its_last_request() {
        let held = Arc::new(());
        let holding = held.clone();
        let mut request = InFlight::new(1, None, async move { Arc::strong_count(&holding) });
        let Poll::Ready(ended) =
            Pin::new(&mut request).poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("it waits for nothing");
        };
        assert_eq!((ended.result.unwrap(), Arc::strong_count(&held)), (2, 1));
        let mut slot = ended.slot.expect("its slot is there");
        slot.set(async { 7 });
        let mut next = InFlight::in_slot(2, None, slot);
        let ended = Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(
            ended,
            Poll::Ready(Ended {
                tag: 2,
                result: Ok(7),
                ..
            })
        ));
    }
}
