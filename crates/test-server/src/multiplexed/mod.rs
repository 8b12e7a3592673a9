//! Requests on connections of many streams, HTTP/2 and HTTP/3: they are counted and get responses as over HTTP/1.1.

mod fault;
mod life;
mod response;
mod stream;

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Response};

use crate::hub::Hub;
use crate::ledger::ConnectionEntry;
use crate::wire::tls::Secure;

pub(crate) use life::Life;
pub(crate) use stream::{request_of, serve};

/// State shared by the streams of one connection.
pub(crate) struct Shared {
    pub(crate) hub: Rc<Hub>,
    pub(crate) number: u64,
    pub(crate) secure: Option<Box<Secure>>,
    pub(crate) entry: RefCell<ConnectionEntry>,
    /// Whether the first stream with each id is refused.
    pub(crate) refuse_first: bool,
}

/// Why a stream ends without its whole response.
pub(crate) struct Lost;

impl From<http::Error> for Lost {
    fn from(_: http::Error) -> Lost {
        Lost
    }
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// When the client ends it.
    Open,
    /// When the streams that are processed are done.
    AfterStreams,
    /// Now, in good order.
    Now,
    /// Now, and as no server ends that has sent all: TLS without its close_notify, or QUIC with an error.
    Cut,
}

/// The reason in the reset of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// The server failed.
    Failed,
    /// The request was not processed.
    Refused,
}

/// The server's end of one stream.
pub(crate) trait Exchange {
    /// The next bytes of the request's body; none at its end.
    async fn receive(&mut self) -> Result<Option<Bytes>, Lost>;

    /// Ready when the client has given the response up.
    fn poll_given_up(&mut self, context: &mut Context<'_>) -> Poll<()>;

    /// Sends the head of the response; `ends`: nothing follows.
    async fn head(&mut self, head: Response<()>, ends: bool) -> Result<(), Lost>;

    /// Sends bytes of the body as the windows allow; `count` is called for each piece. Empty bytes may end the stream.
    async fn data(&mut self, bytes: Bytes, ends: bool, count: impl Fn(usize)) -> Result<(), Lost>;

    /// Sends the trailers, which end the stream.
    async fn trailers(&mut self, trailers: HeaderMap) -> Result<(), Lost>;

    /// Resets the stream.
    fn reset(&mut self, reset: Reset);

    /// Says that later streams of the connection are not processed, and ends it after the others.
    fn go_away(&self);

    /// Ends the connection.
    fn end(&self, ending: Ending);

    /// Sends a frame that no server may send, and ends the connection.
    fn garbage(&self);
}
