//! A request's body on its way out, as fast as the peer's windows allow and its source gives.

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

/// How much of a body `h2` is given at once.
const AHEAD: usize = 256 << 10;

pub(super) struct Upload {
    stream: SendStream<Bytes>,
    /// The bytes to send.
    rest: Bytes,
    /// The source of further bytes; none once the source has ended.
    source: Option<Arc<Sourced>>,
    done: bool,
    /// Until when the body waits for `100 Continue`, if it waits (RFC 9110 §10.1.1).
    held: Option<Pin<Box<Sleep>>>,
}

impl Upload {
    /// The body of a request to be sent on `stream`. A stream without a body was ended with its head.
    pub fn new(stream: SendStream<Bytes>, request: &Request, config: &Config) -> Upload {
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
            held: waits_to_send(request, config).then(|| Box::pin(sleep(config.expect_timeout))),
        }
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

    /// Whether `h2` has the whole body.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Sends what the peer's windows allow and the source gives. Fails when the source does. Errors of the stream do
    /// not matter here, because the response shows them.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Result<(), Failure> {
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
                self.done = self.stream.send_data(Bytes::new(), true).is_ok();
            }
        }
        Ok(true)
    }

    /// Sends some of the bytes that are ready; false if the stream accepts no more now.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        self.stream.reserve_capacity(self.rest.len().min(AHEAD));
        let Poll::Ready(Some(Ok(room))) = self.stream.poll_capacity(cx) else {
            return false; // None and errors mean that the stream is closed.
        };
        let piece = self.rest.split_to(room.min(self.rest.len()));
        let last = self.rest.is_empty() && self.source.is_none();
        let sent = self.stream.send_data(piece, last).is_ok();
        self.done = last && sent;
        sent
    }
}
