//! The request's side of a stream: frames on their way out, as far as the server's windows allow.

use std::pin::pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use quinn::SendStream;

use super::frames::{DATA, REQUEST_CANCELLED, push_head};
use crate::h2::upload::Outlet;
use crate::runtime::descriptors::OfProcess;

/// How much of a body is framed at once.
const AHEAD: usize = 64 << 10;

/// Dropping it before the end resets the stream.
pub(super) struct Writer {
    stream: OfProcess<SendStream>,
    /// The bytes to write: the head of a frame and its payload. Written ones are empty.
    pending: [Bytes; 2],
    /// Whether nothing follows.
    last: bool,
    /// Whether QUIC has taken a byte.
    begun: bool,
    /// Whether the stream has ended on this side, by its end or because the server reads no more.
    ended: bool,
}

impl Writer {
    /// Begins with these bytes; `last`: they are all.
    pub fn new(stream: SendStream, head: Vec<u8>, last: bool) -> Writer {
        Writer {
            stream: OfProcess::new(stream),
            pending: [head.into(), Bytes::new()],
            last,
            begun: false,
            ended: false,
        }
    }

    /// Whether QUIC has taken a byte, which it may send at any time.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    fn is_written(&self) -> bool {
        self.pending.iter().all(Bytes::is_empty)
    }
}

impl Outlet for Writer {
    fn poll_room(&mut self, cx: &mut Context<'_>, wanted: usize) -> Poll<Option<usize>> {
        match self.poll_flush(cx) {
            _ if self.ended => Poll::Ready(None),
            true => Poll::Ready(Some(wanted.min(AHEAD))),
            false => Poll::Pending,
        }
    }

    fn send(&mut self, piece: Bytes, last: bool) -> bool {
        let mut head = Vec::new();
        if !piece.is_empty() {
            push_head(&mut head, DATA, piece.len());
        }
        self.pending = [head.into(), piece];
        self.last = last;
        !self.ended
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> bool {
        while !self.ended && !self.is_written() {
            // The stream has the state of its writing, so that each poll may have a future of its own.
            let writing = pin!(self.stream.write_chunks(&mut self.pending));
            match writing.poll(cx) {
                Poll::Ready(Ok(_)) => self.begun = true,
                Poll::Ready(Err(_)) => self.ended = true,
                Poll::Pending => return false,
            }
        }
        if self.last && !self.ended {
            // If the server reads no more, the response shows why.
            let _ = self.stream.finish();
            self.ended = true;
        }
        self.is_written()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let is_over = self.ended && self.is_written();
        if !is_over && !self.stream.is_inherited() {
            let _ = self.stream.reset(REQUEST_CANCELLED.into());
        }
    }
}
