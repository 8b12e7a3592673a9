//! Who decides whether a request is sent again, where a program does so itself.

use futures_util::future::BoxFuture;

use crate::message::error::Error;
use crate::message::response::Response;

/// Decides which requests are sent again, in the place of what [`Retry`](crate::Retry) says of failures, statuses and methods.
pub trait Judge: Send + Sync {
    /// Whether the request with this number is sent again, which ended so. Asked after each outcome as long as there is a try
    /// left (`max` of the request's retries) and time. Of a [`Streaming`](crate::Streaming) response the head is known alone: its
    /// body is empty.
    fn again(&self, number: usize, outcome: Result<Response, Error>) -> BoxFuture<'static, bool>;
}
