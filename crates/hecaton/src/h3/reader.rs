//! The response's side of a stream: its heads, the pieces of its body, its trailers, and its end.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use quinn::{ConnectionError, ReadError, RecvStream};

use super::frames::{
    FRAME_ERROR, FRAME_UNEXPECTED, HEADERS, MESSAGE_ERROR, Part, REQUEST_CANCELLED,
    Reader as Frames, Role, Violation,
};
use super::link::poll_bytes;
use super::qpack::{Decoded, decode};
use crate::config::Config;
use crate::h2::hpack::Wrong;
use crate::h2::response_state::ResponseState;
use crate::message::head::BadHead;
use crate::runtime::descriptors::OfProcess;

/// The next message of a response.
pub(super) enum Message {
    /// An interim or final head, or trailers.
    Head(Decoded),
    Piece(Bytes),
    End,
}

/// Why a response ends before its end.
pub(super) enum Stop {
    /// The server violates HTTP/3.
    Violation(Violation),
    /// This response is malformed.
    Malformed(Wrong),
    /// It has too many fields.
    TooMuch(BadHead),
    /// The server reset the stream, with this code.
    Reset(u64),
    /// The connection has ended.
    Lost(ConnectionError),
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Stop {
        Stop::Violation(violation)
    }
}

/// Dropping it before the end tells the server to stop.
pub(super) struct Reader {
    stream: OfProcess<RecvStream>,
    frames: Frames,
    input: Bytes,
    state: ResponseState,
    /// Whether the server has ended the stream, and all of it has been read.
    ended: bool,
}

impl Reader {
    /// `is_head`: the method is HEAD, so the response has no body.
    pub fn new(stream: RecvStream, is_head: bool, config: &Config) -> Reader {
        let mut state = ResponseState::new(is_head);
        state.sent = true;
        // Decoding adds to the bytes of a block, but for the names of the static table it takes away.
        let most = config.max_header_bytes.saturating_add(64 << 10);
        Reader {
            stream: OfProcess::new(stream),
            frames: Frames::new(Role::Request, most),
            input: Bytes::new(),
            state,
            ended: false,
        }
    }

    /// Whether an interim response or the head of the final one has come.
    pub fn has_begun(&self) -> bool {
        self.state.has_begun()
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    pub fn poll(&mut self, cx: &mut Context<'_>, config: &Config) -> Poll<Result<Message, Stop>> {
        if self.ended {
            return Poll::Ready(Ok(Message::End));
        }
        loop {
            match self.frames.next(&mut self.input) {
                Err(violation) => return Poll::Ready(Err(violation.into())),
                Ok(Some(part)) => match self.take(part, config) {
                    Ok(None) => {}
                    Ok(Some(message)) => return Poll::Ready(Ok(message)),
                    Err(stop) => return Poll::Ready(Err(stop)),
                },
                Ok(None) => match ready!(poll_bytes(&mut self.stream, cx)) {
                    Ok(Some(bytes)) => self.input = bytes,
                    Ok(None) => return Poll::Ready(self.end()),
                    Err(error) => return Poll::Ready(Err(stopped(error))),
                },
            }
        }
    }

    fn take(&mut self, part: Part, config: &Config) -> Result<Option<Message>, Stop> {
        let unexpected = |why| Stop::Violation(Violation::new(FRAME_UNEXPECTED, why));
        if self.state.has_ended() {
            return Err(unexpected("a frame came behind the trailers of a response"));
        }
        let message = match part {
            Part::Data(_) if self.state.is_at_head() => {
                return Err(unexpected("the body of a response comes before its head"));
            }
            Part::Data(bytes) => {
                // Each frame begins with no bytes, which are not counted again.
                if !bytes.is_empty() {
                    self.state.data(bytes.len());
                }
                (!bytes.is_empty()).then_some(Message::Piece(bytes))
            }
            Part::Frame(HEADERS, block) => Some(Message::Head(self.take_head(&block, config)?)),
            Part::Frame(..) | Part::TooLong(_) => {
                let most = config.max_header_bytes;
                return Err(Stop::TooMuch(BadHead::TooManyBytes(most)));
            }
        };
        match self.state.wrong() {
            Some(why) => Err(Stop::Malformed(why)),
            None => Ok(message),
        }
    }

    /// Takes a head, or trailers.
    fn take_head(&mut self, block: &[u8], config: &Config) -> Result<Decoded, Stop> {
        let decoded = decode(block, config)?;
        if let Some(why) = decoded.too_much {
            return Err(Stop::TooMuch(why));
        }
        let is_trailers = !self.state.is_at_head();
        self.state.head(&decoded.block, is_trailers);
        Ok(decoded)
    }

    fn end(&mut self) -> Result<Message, Stop> {
        self.ended = true;
        if !self.frames.is_between_frames() {
            let why = "a stream ends in the middle of a frame";
            return Err(Violation::new(FRAME_ERROR, why).into());
        }
        if self.state.is_at_head() {
            return Err(Stop::Malformed(
                "the stream ends before the head of a final response",
            ));
        }
        Ok(Message::End)
    }
}

fn stopped(error: ReadError) -> Stop {
    match error {
        ReadError::Reset(code) => Stop::Reset(code.into_inner()),
        ReadError::ConnectionLost(error) => Stop::Lost(error),
        // These need a stream that was stopped here, or bytes before the handshake.
        ReadError::ClosedStream | ReadError::IllegalOrderedRead | ReadError::ZeroRttRejected => {
            Stop::Lost(ConnectionError::LocallyClosed)
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.ended || self.stream.is_inherited() {
            return;
        }
        let code = match self.state.wrong() {
            Some(_) => MESSAGE_ERROR,
            None => REQUEST_CANCELLED,
        };
        // A stream that the server has reset cannot be stopped.
        let _ = self.stream.stop(code.into());
    }
}
