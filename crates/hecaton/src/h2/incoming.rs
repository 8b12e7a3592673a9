//! The unread rest of a response on a stream: its body, and the rest of the request meanwhile.

use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::{RecvStream, SendStream};
use http::HeaderMap;

use super::exchange::explain;
use super::head::response_fields;
use super::permit::StreamPermit;
use super::upload::Upload;
use super::window::Taken;
use crate::config::Config;
use crate::message::failure::{Failure, Kind, Phase, came_of};
use crate::message::fields::Trailers;
use crate::message::head::BadHead;
use crate::message::reason::Reason;
use crate::runtime::timer::PhaseTimer;

/// Dropping it before the end resets the stream. The handles of the stream are dropped before its permit.
pub(crate) struct Incoming {
    /// None once it has ended.
    body: Option<RecvStream>,
    /// The announced length, if a body is allowed.
    length: Option<u64>,
    /// How many bytes of the body have come.
    received: u64,
    taken: Taken,
    trailers: Trailers,
    upload: Upload<SendStream<Bytes>>,
    permit: StreamPermit,
}

impl Incoming {
    pub(super) fn new(
        body: RecvStream,
        length: Option<u64>,
        upload: Upload<SendStream<Bytes>>,
        permit: StreamPermit,
    ) -> Incoming {
        Incoming {
            body: Some(body),
            length,
            received: 0,
            taken: Taken::default(),
            trailers: None,
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
        self.body.is_none()
    }

    /// Whether all of the body has been taken.
    pub fn is_whole(&self) -> bool {
        self.body.as_ref().is_none_or(RecvStream::is_end_stream)
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
        if let Some(body) = &mut self.body {
            let piece = self.taken.release(body.flow_control());
            self.permit.link.note_taken(&mut self.taken, piece);
        }
        timer.restart(Phase::Read);
        poll_fn(|cx| self.poll_next(cx, timer, config)).await
    }

    /// The stream has ended, perhaps with trailers.
    fn end_with(
        &mut self,
        trailers: Option<HeaderMap>,
        config: &Config,
    ) -> Result<Option<Bytes>, Failure> {
        if let Some(trailers) = trailers {
            let block = response_fields(&trailers, config).map_err(|why| too_much(&why))?;
            self.trailers = Some(Box::new(block));
        }
        self.end()
    }

    /// The stream has ended: the length is compared with the announced one.
    fn end(&mut self) -> Result<Option<Bytes>, Failure> {
        self.body = None;
        match self.length {
            Some(length) if length != self.received => Err(other_length(self.received, length)),
            _ => Ok(None),
        }
    }

    /// The meaning of an error of `h2`. The response may have been whole before the connection ended, with the rest of
    /// the request unsent. A reset of the stream is never a regular end, whatever its code. After END_STREAM `h2`
    /// reports no reset, not even one that only refuses the rest of the request (RFC 9113 §8.1).
    fn stopped(&mut self, error: &h2::Error) -> Result<Option<Bytes>, Failure> {
        match self.permit.is_whole(self.received) {
            true => self.end(),
            false => Err(self.broken(error)),
        }
    }

    /// The meaning of an end before END_STREAM.
    fn broken(&self, error: &h2::Error) -> Failure {
        if let Some(why) = self.permit.malformed() {
            let detail = format!("the body cannot be read: {why}");
            return malformed(detail);
        }
        let announced = self.length.filter(|_| error.is_library());
        let came = announced.and_then(|length| Some((self.permit.other_length(length)?, length)));
        match came {
            Some((came, length)) => other_length(came, length),
            None => cut_short(&explain(error, &self.permit.link).text),
        }
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut PhaseTimer<'_>,
        config: &Config,
    ) -> Poll<Result<Option<Bytes>, Failure>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(Ok(None));
        };
        let shrunk = self.permit.link.shrunk();
        self.taken.look(shrunk, body.flow_control());
        if let Err(failure) = self.upload.poll(cx) {
            return Poll::Ready(Err(failure));
        }
        loop {
            return match body.poll_data(cx) {
                Poll::Ready(Some(Ok(piece))) if piece.is_empty() => continue,
                Poll::Ready(Some(Ok(piece))) => {
                    self.taken.take(piece.len());
                    self.received += piece.len() as u64;
                    Poll::Ready(Ok(Some(piece)))
                }
                Poll::Ready(None) => match body.poll_trailers(cx) {
                    Poll::Ready(Ok(trailers)) => Poll::Ready(self.end_with(trailers, config)),
                    Poll::Ready(Err(error)) => Poll::Ready(self.stopped(&error)),
                    Poll::Pending => self.wait(cx, timer),
                },
                Poll::Ready(Some(Err(error))) => Poll::Ready(self.stopped(&error)),
                Poll::Pending => self.wait(cx, timer),
            };
        }
    }

    /// Nothing has come.
    fn wait(
        &self,
        cx: &mut Context<'_>,
        timer: &mut PhaseTimer<'_>,
    ) -> Poll<Result<Option<Bytes>, Failure>> {
        self.permit.waits(cx.waker());
        // They may have shrunk before the waker was known.
        if self.taken.has_missed(self.permit.link.shrunk()) {
            cx.waker().wake_by_ref();
        }
        timer.poll(cx).map(Err)
    }
}

pub(crate) fn too_much(why: &BadHead) -> Failure {
    let most = match why {
        BadHead::TooManyFields(_) => "fields than max_header_fields",
        _ => "bytes than max_header_bytes",
    };
    let detail = format!("the body cannot be read: its trailers have more {most} allows");
    malformed(detail)
}

pub(crate) fn malformed(detail: String) -> Failure {
    let failure = Failure::new(Kind::Body, Phase::Read, detail);
    failure.for_reason(Reason::BodyMalformed).for_good()
}

pub(crate) fn other_length(came: u64, length: u64) -> Failure {
    if came < length {
        return cut_short(&came_of(came, length));
    }
    let detail = format!("the body is longer than the {length} bytes that were announced");
    Failure::new(Kind::Body, Phase::Read, detail).for_good()
}

pub(crate) fn cut_short(why: &str) -> Failure {
    let detail = format!("the body was cut short: {why}");
    Failure::new(Kind::Body, Phase::Read, detail).for_reason(Reason::BodyCutShort)
}
