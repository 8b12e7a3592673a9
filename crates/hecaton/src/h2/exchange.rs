//! One request on one stream: the request is sent, the head of the response is read, then its body (`incoming`).
//!
//! The stream belongs to this request; a task drives the connection under it. A request that is dropped resets its
//! stream (RST_STREAM CANCEL) when the connection is driven next, and leaves the others alone.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::Method;
use http::header::CONTENT_LENGTH;

use super::head::{request_head, response_fields};
use super::incoming::Incoming;
use super::link::Link;
use super::permit::StreamPermit;
use super::upload::Upload;
use crate::config::Config;
use crate::message::attempt::{Trace, Version};
use crate::message::broken::Broken;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::reason;
use crate::message::request::Request;
use crate::runtime::timer::PhaseTimer;

/// The head of a response.
pub(crate) struct Head {
    pub status: u16,
    /// The fields as `name: value\r\n`, names in lower case.
    pub fields: Vec<u8>,
}

/// Sends `request` on a stream of its own and reads the head of the response; the body is still to come.
pub(crate) async fn exchange(
    permit: StreamPermit,
    request: &Request,
    config: &Config,
    trace: &mut Trace,
) -> Result<(Head, Incoming), Broken> {
    trace.attempt().phase = Phase::Send;
    trace.attempt().version = Some(Version::Http2);
    let mut timer = PhaseTimer::new(config);
    let mut exchange = Exchange::begin(permit, request, config)?;
    let mut sending = Sending {
        trace,
        settled: false,
    };
    let response = poll_fn(|cx| exchange.poll_head(cx, &mut timer, &mut sending)).await?;
    let (head, body) = response.into_parts();
    let fields = response_fields(&head.headers, config)
        .map_err(|why| protocol(Phase::FirstByte, why.to_string(), why.reason()))?;
    sending.trace.attempt().phase = Phase::Read;
    let status = head.status.as_u16();
    let bodiless = request.method == Method::HEAD || matches!(status, 204 | 304);
    let length = head.headers.get(CONTENT_LENGTH).filter(|_| !bodiless);
    // h2 has checked it.
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    let incoming = Incoming::new(body, length, exchange.upload, exchange.permit);
    Ok((Head { status, fields }, incoming))
}

/// The trace of a request that `h2` has. If the request is given up, it counts as sent: `h2` may still hold its head,
/// and sends it before it resets the stream.
struct Sending<'a> {
    trace: &'a mut Trace,
    /// Whether the response has begun, or the stream has ended.
    settled: bool,
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        let attempt = self.trace.attempt();
        if !self.settled && !attempt.sent {
            attempt.phase = attempt.reached();
            attempt.sent = true;
        }
    }
}

/// A request under way. The handles of the stream are dropped before its permit.
struct Exchange {
    response: ResponseFuture,
    upload: Upload<SendStream<Bytes>>,
    stream: u32,
    permit: StreamPermit,
}

impl Exchange {
    fn begin(
        mut permit: StreamPermit,
        request: &Request,
        config: &Config,
    ) -> Result<Exchange, Broken> {
        let head = request_head(request, config).map_err(|why| {
            let why = format!("the request cannot be sent: {why}");
            protocol(Phase::Send, why, None)
        })?;
        let sent = permit.send(head, request.body.is_empty());
        let (response, stream) = sent.map_err(|error| permit.broken(&error, false, Phase::Send))?;
        Ok(Exchange {
            stream: response.stream_id().as_u32(),
            response,
            upload: Upload::new(stream, request, config),
            permit,
        })
    }

    /// Reads interim responses while the body waits for one of them.
    fn poll_interim(&mut self, cx: &mut Context<'_>) {
        while self.upload.is_held() {
            match self.response.poll_informational(cx) {
                Poll::Ready(Some(Ok(interim))) if interim.status() == 100 => self.upload.release(),
                Poll::Ready(Some(Ok(_))) => {}
                _ => break,
            }
        }
    }

    /// Sends what the peer's windows allow, and waits for the head, which may come before the end.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut PhaseTimer<'_>,
        sending: &mut Sending<'_>,
    ) -> Poll<Result<http::Response<RecvStream>, Broken>> {
        let trace = &mut *sending.trace;
        self.poll_interim(cx);
        // The response, or its absence, shows how it went.
        let failure = self.upload.poll(cx).err();
        trace.attempt().sent = self.permit.has_left(self.stream);
        if let Some(failure) = failure {
            return Poll::Ready(Err(Broken::Failed(failure)));
        }
        if self.upload.is_done() && trace.attempt().phase == Phase::Send {
            trace.attempt().send_time = trace.lap();
            trace.attempt().phase = Phase::FirstByte;
        }
        match Pin::new(&mut self.response).poll(cx) {
            Poll::Ready(Ok(response)) => {
                self.upload.give_up_if_held();
                sending.settled = true;
                trace.attempt().sent = true;
                trace.attempt().first_byte_time = trace.lap();
                Poll::Ready(Ok(response))
            }
            Poll::Ready(Err(error)) => {
                let phase = trace.attempt().phase;
                // Read again: another thread may have driven the connection to its end meanwhile.
                let sent = self.permit.has_left(self.stream);
                sending.settled = true;
                trace.attempt().sent = sent;
                Poll::Ready(Err(self.permit.broken(&error, sent, phase)))
            }
            Poll::Pending => {
                timer.follow(trace.attempt().phase);
                timer.poll(cx).map(|late| Err(Broken::Failed(late)))
            }
        }
    }
}

/// Why a request fails that may only be sent over HTTP/2.
const NO_HTTP1: &str =
    "the server requires HTTP/1.1 (HTTP_1_1_REQUIRED), and the setting `http` allows HTTP/2 alone";

/// Whether the peer refused the stream, which guarantees that it did nothing for the request (RFC 9113 §8.7).
fn is_refusal(error: &h2::Error) -> bool {
    error.is_remote() && error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM)
}

fn protocol(phase: Phase, detail: String, reason: Option<reason::Reason>) -> Broken {
    let failure = Failure::new(Kind::Protocol, phase, detail);
    Broken::Failed(failure.for_reason(reason).for_good())
}

impl StreamPermit {
    /// Whether the peer requires HTTP/1.1 (RFC 9113 §7), and if so, whether it did nothing for this request.
    fn requires_http1(&self, error: &h2::Error) -> Option<bool> {
        let refused = error.is_remote() && error.is_reset();
        let reason = error.reason().filter(|_| error.is_remote());
        let required = reason.or(self.link.last_word()) == Some(Reason::HTTP_1_1_REQUIRED);
        required.then(|| refused || self.is_left_out())
    }

    fn failure(&self, error: &h2::Error, phase: Phase) -> Failure {
        let why = explain(error, &self.link);
        let failure = Failure::new(Kind::Protocol, phase, why.text).for_reason(why.reason);
        match error.get_io() {
            Some(io) => failure.because(io),
            None => failure,
        }
    }

    /// The meaning of a stream's end without a response.
    fn broken(&mut self, error: &h2::Error, sent: bool, phase: Phase) -> Broken {
        // Another try would be refused again.
        if let Some(why) = self.refusal() {
            return Broken::Failed(why.failure(phase));
        }
        if let Some(why) = self.malformed() {
            return protocol(phase, why, Some(reason::Reason::ResponseMalformed));
        }
        let failure = self.failure(error, phase);
        // Another try would fail in the same way: `h2` refuses the response, or cannot read the server.
        if (error.is_library() && error.is_reset()) || self.link.observed.refused().is_some() {
            return Broken::Failed(failure.for_good());
        }
        // A server that has begun a response has processed the request, whatever it says of it later.
        let begun = self.has_begun();
        if let Some(left_out) = self.requires_http1(error) {
            return match self.loan.use_http1() {
                true if left_out && !begun => Broken::Unprocessed(failure, false),
                true => Broken::Failed(failure),
                false => protocol(phase, NO_HTTP1.into(), None),
            };
        }
        if is_refusal(error) {
            // No further request uses the connection of a peer that refused a stream.
            self.loan.retires = true;
            return match begun {
                true => Broken::Failed(failure),
                false => Broken::Refused(failure),
            };
        }
        // A GOAWAY guarantees the same for the streams above the one that it names, whatever its code. `h2` reports it
        // only to those streams, unless the connection ends before `h2` has processed it.
        let left_out = (error.is_remote() && error.is_go_away()) || self.is_left_out();
        let ended = error.is_io() || error.is_go_away();
        if (left_out && !begun) || (ended && !sent) {
            return Broken::Unprocessed(failure, self.link.observed.has_progressed());
        }
        // An error in a GOAWAY is a judgement of the server, and part of a response is more than none. A server that
        // violates HTTP/2 on a new connection would do so again.
        let silent = self.link.last_word().is_none() && !begun;
        match silent && (error.is_io() || (ended && self.loan.reused)) {
            true => Broken::Ended(failure),
            false => Broken::Failed(failure),
        }
    }
}

/// Why a stream ended.
pub(super) struct Explanation {
    /// In our own words. The text of a peer's GOAWAY belongs in no message, except its code.
    pub text: String,
    /// If it is one of the table.
    reason: Option<reason::Reason>,
}

/// Says why a stream ended with this error.
pub(super) fn explain(error: &h2::Error, link: &Link) -> Explanation {
    use reason::Reason::{ConnectionClosed, ResponseMalformed};
    let code = error.reason().map(|reason| format!("{reason:?}"));
    let code = code.unwrap_or_default();
    let malformed = error.is_library().then_some(ResponseMalformed);
    let (text, reason) = match (link.observed.refused(), error.get_io(), link.last_word()) {
        (Some(why), ..) => (
            format!("the server violates HTTP/2: {why}"),
            Some(ResponseMalformed),
        ),
        (None, Some(_), Some(code)) => {
            (format!("the server ended the connection ({code:?})"), None)
        }
        (None, Some(io), None) => {
            let what = "the connection ended before the response did";
            // So `h2` says that the server closed the connection.
            let text = match io.kind() {
                ErrorKind::BrokenPipe => what.to_owned(),
                _ => format!("{what}: {io}"),
            };
            (text, Some(ConnectionClosed))
        }
        _ if error.is_remote() && error.is_reset() => {
            (format!("the server reset the stream ({code})"), None)
        }
        _ if error.is_remote() => (format!("the server ended the connection ({code})"), None),
        _ if error.is_reset() => (format!("the response is malformed ({code})"), malformed),
        _ => (
            format!("what came is not HTTP/2 as it should be ({code})"),
            malformed,
        ),
    };
    Explanation { text, reason }
}
