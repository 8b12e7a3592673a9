//! The unread rest of a response on a stream: its body, and the rest of the request meanwhile.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::exchange::explain;
use super::permit::StreamPermit;
use super::qpack::Decoded;
use super::reader::{Message, Reader, Stop};
use super::writer::Writer;
use crate::config::Config;
use crate::h2::incoming::{cut_short, malformed, other_length, too_much};
use crate::h2::upload::Upload;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::Trailers;
use crate::runtime::timer::PhaseTimer;

/// Dropping it before the end stops the stream. The handles of the stream are dropped before its permit.
pub(crate) struct Incoming {
    reader: Reader,
    /// The announced length, if a body is allowed.
    length: Option<u64>,
    /// How many bytes of the body have come.
    received: u64,
    trailers: Trailers,
    /// Why the body cannot be read any further.
    failed: Option<Failure>,
    upload: Upload<Writer>,
    permit: StreamPermit,
}

impl Incoming {
    pub(super) fn new(
        reader: Reader,
        length: Option<u64>,
        upload: Upload<Writer>,
        permit: StreamPermit,
    ) -> Incoming {
        Incoming {
            reader,
            length,
            received: 0,
            trailers: None,
            failed: None,
            upload,
            permit,
        }
    }

    /// The announced length of the body.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Whether the end of the body has been read.
    pub fn has_ended(&self) -> bool {
        self.reader.has_ended()
    }

    /// Whether all of the body has been taken.
    pub fn is_whole(&self) -> bool {
        self.reader.has_ended()
    }

    /// The trailers of a body that is whole. Only the first call returns them.
    pub fn take_trailers(&mut self) -> Trailers {
        self.trailers.take()
    }

    /// Reads the next piece of the body, none at its end. Nothing is lost when the future is dropped.
    pub async fn next(
        &mut self,
        timer: &mut PhaseTimer<'_>,
        config: &Config,
    ) -> Result<Option<Bytes>, Failure> {
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        timer.restart(Phase::Read);
        let piece = poll_fn(|cx| self.poll_next(cx, timer, config)).await;
        // A late piece may still come.
        let lasting = |failure: &&Failure| failure.kind != Kind::Timeout;
        self.failed = piece.as_ref().err().filter(lasting).cloned();
        piece
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut PhaseTimer<'_>,
        config: &Config,
    ) -> Poll<Result<Option<Bytes>, Failure>> {
        if let Err(failure) = self.upload.poll(cx) {
            return Poll::Ready(Err(failure));
        }
        loop {
            return match self.reader.poll(cx, config) {
                Poll::Ready(Ok(Message::Piece(piece))) => Poll::Ready(self.take(piece)),
                Poll::Ready(Ok(Message::Head(Decoded { fields, .. }))) => {
                    self.trailers = Some(Box::new(fields));
                    continue;
                }
                Poll::Ready(Ok(Message::End)) => Poll::Ready(self.end()),
                Poll::Ready(Err(stop)) => Poll::Ready(Err(self.broken(stop))),
                Poll::Pending => timer.poll(cx).map(Err),
            };
        }
    }

    fn take(&mut self, piece: Bytes) -> Result<Option<Bytes>, Failure> {
        self.received += piece.len() as u64;
        match self.length {
            Some(length) if self.received > length => Err(other_length(self.received, length)),
            _ => Ok(Some(piece)),
        }
    }

    /// The stream has ended: the length is compared with the announced one.
    fn end(&self) -> Result<Option<Bytes>, Failure> {
        match self.length {
            Some(length) if self.received != length => Err(other_length(self.received, length)),
            _ => Ok(None),
        }
    }

    /// The meaning of an end before the end of the stream. A reset is never a regular end, whatever its code.
    fn broken(&self, stop: Stop) -> Failure {
        let stop = self.permit.cause(stop);
        let why = explain(&stop).text;
        match stop {
            Stop::Violation(violation) => {
                self.permit.link.violate(violation);
                malformed(format!("the body cannot be read: {why}"))
            }
            Stop::Malformed(_) => malformed(format!("the body cannot be read: {why}")),
            Stop::TooMuch(why) => too_much(&why),
            Stop::Reset(_) | Stop::Lost(_) => cut_short(&why),
        }
    }
}
