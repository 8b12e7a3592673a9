//! Hooks of a program: its retry predicate, and changes to an attempt before the attempt is made.

use futures_util::future::BoxFuture;

use crate::message::error::Error;
use crate::message::response::Response;

/// An attempt that is about to be made.
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

/// Headers to set: a value replaces all fields of that name, and none removes them.
pub type Changes = Vec<(String, Option<Vec<u8>>)>;

/// Decides which requests are sent again, instead of the failures, statuses and methods of [`Retry`](crate::Retry), and changes
/// attempts before they are made.
pub trait Hooks: Send + Sync {
    /// The retry predicate: whether the request with this number is sent again after this outcome. Called after each outcome as
    /// long as a try (`max` of the request's retries) and time are left. A [`Streaming`](crate::Streaming) response comes here
    /// with its head alone: its body is empty.
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
