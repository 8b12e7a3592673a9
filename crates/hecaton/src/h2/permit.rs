//! A stream permit: the right of one request to one stream of an HTTP/2 connection, until it is dropped.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::SendStream;
use h2::client::{ResponseFuture, SendRequest};
use http::Method;

use super::link::Link;
use super::loan::Loan;
use crate::transport::tls::explain::Explanation;

pub(crate) struct StreamPermit {
    pub(crate) link: Arc<Link>,
    send: Option<SendRequest<Bytes>>,
    /// How many bytes had come on the connection when the permit was given.
    received: u64,
    /// Its stream, once it has one.
    stream: Option<u32>,
    /// Returned last.
    pub loan: Loan,
}

impl StreamPermit {
    pub fn new(loan: Loan, link: Arc<Link>, send: SendRequest<Bytes>) -> StreamPermit {
        link.opens_stream();
        StreamPermit {
            received: link.observed.received(),
            link,
            send: Some(send),
            stream: None,
            loan,
        }
    }

    /// Whether the connection is still good: it has not ended and is not about to, as far as is known, and still allows
    /// streams. A new connection may not allow any yet.
    pub fn is_usable(&mut self) -> bool {
        let context = &mut Context::from_waker(Waker::noop());
        let ready = self.send.as_mut().map(|send| send.poll_ready(context));
        let allows = |send: &SendRequest<Bytes>| send.current_max_send_streams() > 0;
        let allowed = !self.loan.reused || self.send.as_ref().is_some_and(allows);
        allowed
            && !self.loan.retires
            && matches!(ready, Some(Poll::Ready(Ok(()))))
            && self.link.is_open()
    }

    /// Opens the stream; nothing is written before the connection is driven.
    pub fn send(
        &mut self,
        head: http::Request<()>,
        ends: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let mut send = self.send.take().expect("a permit is for one request");
        let is_head = head.method() == Method::HEAD;
        let (response, stream) = send.send_request(head, ends)?;
        let id = response.stream_id().as_u32();
        self.link.observed.opened(id, is_head);
        self.stream = Some(id);
        Ok((response, stream))
    }

    /// Whether a body of this many bytes is everything that the peer sent before it ended its side of the stream. `h2`
    /// forgets that end when the connection ends. That an end was observed does not prove that `h2` handed over all
    /// bytes before it: frames are observed first.
    pub fn is_whole(&self, received: u64) -> bool {
        let whole = |stream| self.link.observed.whole_body(stream);
        self.stream.and_then(whole) == Some(received)
    }

    /// Why the response on the stream is malformed.
    pub fn malformed(&self) -> Option<String> {
        let why = self.link.observed.wrong(self.stream?)?;
        Some(format!("the response is malformed: {why}"))
    }

    /// Whether an interim response or the head of the final one has come.
    pub fn has_begun(&self) -> bool {
        self.stream
            .is_some_and(|stream| self.link.observed.has_begun(stream))
    }

    /// The number of body bytes that came, if it is not the announced one; counted here, because `h2` does not hand
    /// over the last of them.
    pub fn other_length(&self, length: u64) -> Option<u64> {
        let (body, ended) = self.link.observed.body(self.stream?)?;
        (body > length || (ended && body < length)).then_some(body)
    }

    /// Whether the peer's GOAWAY says that it did nothing for this request.
    pub fn is_left_out(&self) -> bool {
        self.stream
            .is_some_and(|stream| self.link.observed.leaves_out(stream))
    }

    /// Whether the request on this stream has begun to leave the machine.
    pub fn has_left(&self, stream: u32) -> bool {
        self.link.observed.has_left(stream)
    }

    /// The reader of the body waits for bytes, and is woken when windows have shrunk. Bytes that were kept back for it
    /// come in another turn.
    pub fn waits(&self, waker: &Waker) {
        if self
            .stream
            .is_some_and(|stream| self.link.observed.waits(stream, waker))
        {
            self.link.wake();
        }
    }

    /// Why the peer refused the whole connection, if it did so by TLS.
    pub fn refusal(&self) -> Option<&Explanation> {
        self.link.observed.refusal()
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.link.closes_stream();
        // A connection that is closed now sends a GOAWAY only if no handle could still use it.
        self.send = None;
        if let Some(stream) = self.stream {
            self.link.observed.closed(stream);
            self.link.doubt(self.received);
        }
        self.loan.retires |= self.link.observed.is_faulty();
    }
}
