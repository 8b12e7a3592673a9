//! The body of a request: bytes, or a source that gives one piece after the other.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::message::failure::{Failure, Kind, Phase};

/// A source of a request's body, for bodies that are large or not complete yet.
///
/// The source is polled for the next piece when the previous one has been written, by the thread that waits for the
/// request. So a slow source delays only its own request, and a server that reads slowly delays the source.
pub trait Source: Send {
    /// The next piece, of whatever size, or none at the end. An error fails the request, whose connection is closed. A
    /// source that returns pending wakes the task once it has something.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;

    /// Begins again, so that the request can be sent again. False if the source cannot begin again. Then, once a piece
    /// has been taken, the request is not retried, and redirects that repeat the body are not followed.
    fn rewind(&mut self) -> bool {
        false
    }
}

/// The body of a request. Clones of a source share it.
#[derive(Clone)]
pub(crate) enum Body {
    Whole(Bytes),
    Source(Arc<Sourced>),
}

/// A source and how far it has got.
pub(crate) struct Sourced {
    length: Option<u64>,
    state: Mutex<State>,
}

struct State {
    source: Box<dyn Source>,
    /// Whether a piece was taken.
    begun: bool,
    given: u64,
    /// The piece that completes the announced length, held back until the source ends.
    last: Option<Bytes>,
    ended: bool,
}

impl Default for Body {
    fn default() -> Body {
        Body::Whole(Bytes::new())
    }
}

impl Body {
    /// A body of `length` bytes, none if that is not known.
    pub fn new(source: impl Source + 'static, length: Option<u64>) -> Body {
        let state = State {
            source: Box::new(source),
            begun: false,
            given: 0,
            last: None,
            ended: false,
        };
        Body::Source(Arc::new(Sourced {
            length,
            state: Mutex::new(state),
        }))
    }

    /// Whether there is no body. A `Content-Length: 0` may have been announced all the same.
    pub fn is_empty(&self) -> bool {
        matches!(self, Body::Whole(bytes) if bytes.is_empty())
    }

    /// The whole body; none if it comes piece by piece.
    pub fn whole(&self) -> Option<&[u8]> {
        match self {
            Body::Whole(bytes) => Some(bytes),
            Body::Source(_) => None,
        }
    }

    /// How many bytes the body has; none if that is not known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Body::Whole(bytes) => Some(bytes.len() as u64),
            Body::Source(source) => source.length,
        }
    }

    /// Counts the body as sent, for a request to which a program responds in place of the network.
    pub fn begin(&self) {
        if let Body::Source(source) = self {
            source.lock().begun = true;
        }
    }

    /// Makes the body ready to be sent again; false if it can be sent only once, and sending has begun. A retry is then
    /// left out, and its response is the outcome. A redirect and a challenge of digest authentication fail, because
    /// their response only says where or how to send again.
    pub fn begin_again(&self) -> bool {
        match self {
            Body::Whole(_) => true,
            Body::Source(source) => source.begin_again(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length() {
            Some(length) => write!(f, "{length} bytes"),
            None => write!(f, "a source of bytes"),
        }
    }
}

impl Sourced {
    /// How many bytes were announced, none if their number is not known.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The next piece, never empty, none at the end. Fails when the source does, or when it does not have the announced
    /// length. No surplus byte is returned. The piece that completes the announced length is held back until the source
    /// ends. Otherwise the server could respond to a request before its body turns out to be too long.
    pub fn poll_piece(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let mut state = self.lock();
        state.begun = true;
        while !state.ended {
            let piece = match state.source.poll_piece(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {
                    state.ended = true;
                    break;
                }
                Poll::Ready(Some(Err(error))) => {
                    let why = format!("the request's body cannot be read: {error}");
                    return Poll::Ready(Some(Err(failure(why).because(&error))));
                }
                Poll::Ready(Some(Ok(piece))) if piece.is_empty() => continue,
                Poll::Ready(Some(Ok(piece))) => piece,
            };
            state.given += piece.len() as u64;
            match self.length {
                Some(length) if state.given > length => {
                    return Poll::Ready(Some(Err(failure(format!(
                        "the request's body has more than the announced {length} bytes"
                    )))));
                }
                Some(length) if state.given == length => state.last = Some(piece),
                _ => return Poll::Ready(Some(Ok(piece))),
            }
        }
        match state.last.take() {
            Some(piece) => Poll::Ready(Some(Ok(piece))),
            None => Poll::Ready(self.ended(state.given).map(Err)),
        }
    }

    /// Whether the last piece was returned.
    pub fn is_done(&self) -> bool {
        let state = self.lock();
        state.ended && state.last.is_none()
    }

    fn ended(&self, given: u64) -> Option<Failure> {
        let length = self.length.filter(|length| *length != given)?;
        Some(failure(format!(
            "the request's body ended after {given} of the announced {length} bytes"
        )))
    }

    fn begin_again(&self) -> bool {
        let mut state = self.lock();
        if state.begun && !state.source.rewind() {
            return false;
        }
        (state.begun, state.given) = (false, 0);
        (state.last, state.ended) = (None, false);
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(why: String) -> Failure {
    // The program itself caused it.
    Failure::new(Kind::Body, Phase::Send, why).for_good()
}
