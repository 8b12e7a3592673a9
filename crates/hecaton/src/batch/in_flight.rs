//! A request of a batch that has been started, with what must be known when it ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::client::Outcome;
use crate::message::origin::Origin;

/// Ready when the request has ended, or has come as far as it goes by itself.
pub(crate) struct InFlight<T, Output = Outcome> {
    tag: Option<T>,
    origin: Option<Arc<Origin>>,
    sending: Pin<Box<dyn Future<Output = Output> + Send>>,
}

/// The same with how it ended.
pub(crate) struct Ended<T, Output = Outcome> {
    pub tag: T,
    pub origin: Option<Arc<Origin>>,
    pub result: std::thread::Result<Output>,
}

impl<T, Output> InFlight<T, Output> {
    pub fn new(
        tag: T,
        origin: Option<Arc<Origin>>,
        sending: impl Future<Output = Output> + Send + 'static,
    ) -> InFlight<T, Output> {
        InFlight {
            tag: Some(tag),
            origin,
            sending: Box::pin(sending),
        }
    }

    /// Its tag, until it has ended.
    pub fn tag(&self) -> Option<&T> {
        self.tag.as_ref()
    }

    /// Its tag; the request is given up.
    pub fn into_tag(self) -> Option<T> {
        self.tag
    }
}

// The tag is never pinned: it is only kept here.
impl<T, Output> Unpin for InFlight<T, Output> {}

impl<T, Output> Future for InFlight<T, Output> {
    type Output = Ended<T, Output>;

    /// A panic is an end too: the batch has to know of it, and lets it go on.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended<T, Output>> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.sending.as_mut().poll(cx)));
        let result = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        Poll::Ready(Ended {
            tag: self.tag.take().expect("it has not ended before"),
            origin: self.origin.take(),
            result,
        })
    }
}
