//! Who decides whether a request is sent again, where a program does so itself.

use futures_util::future::BoxFuture;

use crate::message::error::Error;
use crate::message::response::Response;

/// An attempt that is about to be made: what of the request goes on the wire.
#[derive(Clone, Debug)]
pub struct Upcoming {
    /// The number of the attempt, from 1.
    pub number: usize,
    /// The method.
    pub method: String,
    /// The absolute URL, without credentials.
    pub url: String,
    /// The headers, those that the engine adds included.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Whether the request has a body.
    pub has_body: bool,
}

/// Headers to be set: a name takes the place of all fields of that name, and none as its value leaves them out.
pub type Changes = Vec<(String, Option<Vec<u8>>)>;

/// Decides which requests are sent again, in the place of what [`Retry`](crate::Retry) says of failures, statuses and methods.
pub trait Hooks: Send + Sync {
    /// Whether the request with this number is sent again, which ended so. Asked after each outcome as long as there is a try
    /// left (`max` of the request's retries) and time. Of a [`Streaming`](crate::Streaming) response the head is known alone: its
    /// body is empty.
    fn again(&self, number: usize, outcome: Result<Response, Error>) -> BoxFuture<'static, bool>;

    /// Called before each attempt of a request that is to be [`watched`](crate::Request::watched), with its number. Returns headers
    /// to be set in this attempt; none makes the request fail.
    fn before_attempt(
        &self,
        _number: usize,
        _attempt: Upcoming,
    ) -> BoxFuture<'static, Option<Changes>> {
        Box::pin(std::future::ready(Some(Changes::new())))
    }
}
