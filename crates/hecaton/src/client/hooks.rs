//! Hooks of a program: its retry predicate, changes to an attempt before the attempt is made, and responses in place of
//! the network's.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};

use crate::message::error::Error;
use crate::message::failure::{Kind, Phase};
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
    /// The headers, those that the engine adds included. An interceptor sees `Host` and the framing of the body only if
    /// the request sets them itself.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Whether the request has a body.
    pub has_body: bool,
    /// Whether a content coding of the response is decoded.
    pub decodes: bool,
}

/// Headers to set: a value replaces all fields of that name, and none removes them.
pub type Changes = Vec<(String, Option<Vec<u8>>)>;

/// A program's response to an attempt that it intercepts.
#[derive(Clone, Debug)]
pub enum Given {
    /// Nothing: the attempt is made on the network. If `observed`, [`Hooks::observe`] may receive its response.
    Nothing {
        /// Whether the program observes responses.
        observed: bool,
    },
    /// A response in place of the network's.
    Response(GivenResponse),
    /// A failure in place of the network's.
    Failure(GivenFailure),
}

/// A response that a program gives. The settings of the client hold for it as for a response of the network.
#[derive(Clone, Debug)]
pub struct GivenResponse {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body. It is decoded if it begins as its `Content-Encoding` says; `br` cannot be recognized, and is not.
    pub body: Vec<Bytes>,
    /// The failure after the last piece of the body; none for a body that is whole.
    pub ending: Option<GivenFailure>,
    /// How long the program took to respond, for [`first_byte_timeout`](crate::Config::first_byte_timeout).
    pub took: Duration,
}

/// A failure that a program gives.
#[derive(Clone, Debug)]
pub struct GivenFailure {
    /// What went wrong.
    pub kind: Kind,
    /// In which phase. With `Queue` the attempt counts as not made, and only a retry predicate may cause
    /// another.
    pub phase: Phase,
    /// Whether the request counts as sent.
    pub sent: bool,
    /// Whether the connection ended before a response: such a request may be re-sent on another one.
    pub ended: bool,
    /// The reason.
    pub detail: String,
}

/// Functions of the program that the engine calls for single requests.
pub trait Hooks: Send + Sync {
    /// The retry predicate: whether the request with this number is sent again after this outcome. Called only for a
    /// request with `retry`, as long as its `max` is not reached and the next wait ends before the deadline. A
    /// [`Streaming`](crate::Streaming) response comes here with an empty body.
    fn again(&self, number: usize, outcome: Result<Response, Error>) -> BoxFuture<'static, bool>;

    /// Called before each attempt of a request that is to [call it](crate::Request::call_before_attempt), with its
    /// number. Returns headers to be set in this attempt; none makes it fail, and only a retry predicate may cause
    /// another.
    fn before_attempt(
        &self,
        _number: usize,
        _attempt: Upcoming,
    ) -> BoxFuture<'static, Option<Changes>> {
        Box::pin(ready(Some(Changes::new())))
    }

    /// Called before each attempt of a request that is to be [`intercepted`](crate::Request::intercepted), with its
    /// number. Not called for a re-send of an attempt that the network had.
    fn respond(&self, _number: usize, _attempt: Upcoming) -> BoxFuture<'static, Given> {
        Box::pin(ready(Given::Nothing { observed: false }))
    }

    /// Called with a response of the network that another attempt replaces, or that is a redirect which is refused, if
    /// the program observes responses and if the body could be read whole.
    fn observe(&self, _number: usize, _response: Response) -> BoxFuture<'static, ()> {
        Box::pin(ready(()))
    }
}
