//! A request on its way out: its head, then its body, as fast as the socket takes them.

use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::time::{Sleep, sleep};

use super::encode::{encode, estimate, waits_to_send};
use crate::config::Config;
use crate::h1::connection::Connection;
use crate::message::body::{Body, Sourced};
use crate::message::failure::Failure;
use crate::message::request::Request;
use crate::runtime::yield_now::PIECES_PER_TURN;

/// Most heads are shorter than this. The memory of longer output is not kept.
const MOST_KEPT: usize = 4 << 10;

pub(crate) struct Outgoing {
    /// The head with a small body after it; later each piece of a body from a source.
    output: Vec<u8>,
    /// How much of the output, and of a whole body after it, has been written.
    written: usize,
    begun: bool,
    rest: Rest,
    /// Until when the body waits for `100 Continue`, if it waits (RFC 9110 §10.1.1).
    held: Option<Pin<Box<Sleep>>>,
}

/// The part of the request after the output.
enum Rest {
    Whole(Bytes),
    Source(Arc<Sourced>),
}

/// Why a request cannot be written to its end.
pub(crate) enum Stopped {
    Socket(io::Error),
    /// Its body ended too early, or is too long.
    Body(Failure),
}

impl Outgoing {
    /// A request to be written to `connection`, whose memory it uses.
    pub fn new(connection: &mut Connection, request: &Request, config: &Config) -> Outgoing {
        let mut output = std::mem::take(&mut connection.output);
        output.clear();
        if output.capacity() == 0 {
            output.reserve_exact(estimate(request, config));
        }
        let forward = connection.forward.as_deref();
        let whole = encode(request, config, forward, &mut output);
        let rest = match &request.body {
            Body::Source(source) => Rest::Source(source.clone()),
            Body::Whole(body) if !whole => Rest::Whole(body.clone()),
            Body::Whole(_) => Rest::Whole(Bytes::new()),
        };
        Outgoing {
            output,
            written: 0,
            begun: false,
            rest,
            held: waits_to_send(request, config).then(|| Box::pin(sleep(config.expect_timeout))),
        }
    }

    /// Whether all is written.
    pub fn is_done(&self) -> bool {
        match &self.rest {
            Rest::Whole(body) => self.written == self.output.len() + body.len(),
            Rest::Source(_) => false,
        }
    }

    /// Whether anything is written.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether the body still waits for `100 Continue`.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// The server has sent `100 Continue`.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// Writes what the socket takes and the source gives.
    pub fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Result<(), Stopped> {
        let mut pieces = 0;
        loop {
            if !self.poll_remaining(cx, connection)? || self.poll_hold(cx).is_pending() {
                return Ok(());
            }
            if self.remaining().is_empty() && !self.poll_refill(cx)? {
                return Ok(());
            }
            pieces += 1;
            // A source that is always ready must not delay other requests.
            if pieces == PIECES_PER_TURN {
                cx.waker().wake_by_ref();
                return Ok(());
            }
        }
    }

    /// Drops the memory of a long output that is written, which would wait with the request for its response, and be
    /// kept by the idle connection.
    pub fn drop_written(&mut self) {
        if self.output.capacity() > MOST_KEPT {
            self.written -= self.output.len();
            self.output = Vec::new();
        }
    }

    /// Gives the connection its memory back.
    pub fn give_back(&mut self, connection: &mut Connection) {
        connection.output = std::mem::take(&mut self.output);
    }

    /// Writes what there is; false if the socket takes no more now.
    fn poll_remaining(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
    ) -> Result<bool, Stopped> {
        loop {
            let remaining = self.remaining();
            if remaining.is_empty() {
                return Ok(true);
            }
            match connection.poll_write(cx, remaining) {
                Poll::Pending => return Ok(false),
                Poll::Ready(Ok(0)) => {
                    return Err(Stopped::Socket(io::ErrorKind::WriteZero.into()));
                }
                Poll::Ready(Ok(count)) => self.written += count,
                Poll::Ready(Err(error)) => return Err(Stopped::Socket(error)),
            }
            self.begun = true;
        }
    }

    /// Ready when the body may be written: `100 Continue` has come, or took too long.
    fn poll_hold(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(held) = &mut self.held {
            ready!(held.as_mut().poll(cx));
            self.held = None;
        }
        Poll::Ready(())
    }

    /// The bytes to write next.
    fn remaining(&self) -> &[u8] {
        match (self.written.checked_sub(self.output.len()), &self.rest) {
            (None, _) => &self.output[self.written..],
            _ if self.is_held() => &[],
            (Some(written), Rest::Whole(body)) => &body[written..],
            (Some(_), Rest::Source(_)) => &[],
        }
    }

    /// Puts the next piece of a source into the output; false if there is nothing to be written now.
    fn poll_refill(&mut self, cx: &mut Context<'_>) -> Result<bool, Stopped> {
        let Rest::Source(source) = &self.rest else {
            return Ok(false);
        };
        let chunked = source.length().is_none();
        let Poll::Ready(piece) = source.poll_piece(cx) else {
            return Ok(false);
        };
        self.output.clear();
        self.written = 0;
        match piece.transpose().map_err(Stopped::Body)? {
            Some(piece) if chunked => {
                // Writing to memory does not fail.
                let _ = write!(self.output, "{:x}\r\n", piece.len());
                self.output.extend_from_slice(&piece);
                self.output.extend_from_slice(b"\r\n");
            }
            Some(piece) => {
                self.output.extend_from_slice(&piece);
                if source.is_done() {
                    self.rest = Rest::Whole(Bytes::new());
                }
            }
            None => {
                if chunked {
                    self.output.extend_from_slice(b"0\r\n\r\n");
                }
                self.rest = Rest::Whole(Bytes::new());
            }
        }
        Ok(true)
    }
}
