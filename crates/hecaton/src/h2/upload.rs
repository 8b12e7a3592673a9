//! A request's body on its way out, as fast as the peer's windows allow.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::SendStream;

/// How much of a body `h2` is asked to hold at once.
const AHEAD: usize = 256 << 10;

pub(super) struct Upload {
    stream: SendStream<Bytes>,
    rest: Bytes,
    done: bool,
}

impl Upload {
    /// A body to be sent on `stream`, which was ended with its head if there is none.
    pub fn new(stream: SendStream<Bytes>, body: Bytes) -> Upload {
        Upload {
            stream,
            done: body.is_empty(),
            rest: body,
        }
    }

    /// Whether `h2` has all of it.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Sends what the peer's windows allow. An error is no news: the response tells what became of the
    /// stream.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        while !self.done {
            self.stream.reserve_capacity(self.rest.len().min(AHEAD));
            let Some(room) = ready!(self.stream.poll_capacity(cx)).transpose()? else {
                return Poll::Pending; // The stream is closed.
            };
            let piece = self.rest.split_to(room.min(self.rest.len()));
            self.done = self.rest.is_empty();
            self.stream.send_data(piece, self.done)?;
        }
        Poll::Ready(Ok(()))
    }
}
