//! A request's body on its way out over HTTP/2 and HTTP/3, as fast as the peer's windows allow and its source gives.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::SendStream;
use tokio::time::{Sleep, sleep};

use crate::config::Config;
use crate::h1::encode::waits_to_send;
use crate::message::body::{Body, Sourced};
use crate::message::failure::Failure;
use crate::message::request::Request;

/// How much of a body is handed over at once.
const AHEAD: usize = 256 << 10;

/// Where the bytes of a body go.
pub(crate) trait Outlet {
    /// How many of `wanted` bytes it takes now; none if the stream is closed.
    fn poll_room(&mut self, cx: &mut Context<'_>, wanted: usize) -> Poll<Option<usize>>;

    /// Takes bytes that there is room for; whether the stream is still open.
    fn send(&mut self, piece: Bytes, last: bool) -> bool;

    /// Hands over what was taken; whether nothing is left.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> bool;
}

impl Outlet for SendStream<Bytes> {
    fn poll_room(&mut self, cx: &mut Context<'_>, wanted: usize) -> Poll<Option<usize>> {
        self.reserve_capacity(wanted);
        // None and errors mean that the stream is closed.
        self.poll_capacity(cx).map(|room| room.and_then(Result::ok))
    }

    fn send(&mut self, piece: Bytes, last: bool) -> bool {
        self.send_data(piece, last).is_ok()
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> bool {
        true
    }
}

pub(crate) struct Upload<S> {
    stream: S,
    /// The bytes to send.
    rest: Bytes,
    /// The source of further bytes; none once the source has ended.
    source: Option<Arc<Sourced>>,
    done: bool,
    /// Whether the stream has handed over what it took.
    flushed: bool,
    /// Until when the body waits for `100 Continue`, if it waits (RFC 9110 §10.1.1).
    held: Option<Pin<Box<Sleep>>>,
}

impl<S: Outlet> Upload<S> {
    /// The body of a request to be sent on `stream`. A stream without a body was ended with its head.
    pub fn new(stream: S, request: &Request, config: &Config) -> Upload<S> {
        let body = request.body.clone();
        let done = body.is_empty();
        let (rest, source) = match body {
            Body::Whole(bytes) => (bytes, None),
            Body::Source(source) => (Bytes::new(), Some(source)),
        };
        Upload {
            stream,
            rest,
            source,
            done,
            flushed: false,
            held: waits_to_send(request, config).then(|| Box::pin(sleep(config.expect_timeout))),
        }
    }

    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Whether the body waits for `100 Continue`.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The server has sent `100 Continue`.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// The server has sent a final response instead of `100 Continue`: the body is not sent. The stream is reset when
    /// its handles are dropped.
    pub fn give_up_if_held(&mut self) {
        self.done |= self.held.take().is_some();
    }

    /// Whether the whole body was handed over.
    pub fn is_done(&self) -> bool {
        self.done && self.flushed
    }

    /// Sends what the peer's windows allow and the source gives. Fails when the source does. Errors of the stream do
    /// not matter here, because the response shows them.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Result<(), Failure> {
        self.flushed = self.stream.poll_flush(cx);
        if let Some(held) = &mut self.held {
            if held.as_mut().poll(cx).is_pending() {
                return Ok(());
            }
            self.held = None;
        }
        while !self.done {
            if self.rest.is_empty() && !self.refill(cx)? {
                break;
            }
            if !self.done && !self.send(cx) {
                break;
            }
        }
        self.flushed = self.stream.poll_flush(cx);
        Ok(())
    }

    /// Takes the next piece of the source, or ends the stream; false if there is nothing yet.
    fn refill(&mut self, cx: &mut Context<'_>) -> Result<bool, Failure> {
        let Some(source) = &self.source else {
            return Ok(false);
        };
        let Poll::Ready(piece) = source.poll_piece(cx) else {
            return Ok(false);
        };
        match piece.transpose()? {
            Some(piece) => {
                self.rest = piece;
                if source.is_done() {
                    self.source = None;
                }
            }
            None => {
                self.source = None;
                self.done = self.stream.send(Bytes::new(), true);
            }
        }
        Ok(true)
    }

    /// Sends some of the bytes that are ready; false if the stream accepts no more now.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        let wanted = self.rest.len().min(AHEAD);
        let Poll::Ready(Some(room)) = self.stream.poll_room(cx, wanted) else {
            return false;
        };
        let piece = self.rest.split_to(room.min(self.rest.len()));
        let last = self.rest.is_empty() && self.source.is_none();
        let sent = self.stream.send(piece, last);
        self.done = last && sent;
        sent
    }
}
