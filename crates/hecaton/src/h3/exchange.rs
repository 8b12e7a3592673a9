//! One request on one stream: the request is sent, the head of the response is read, then its body (`incoming`).

use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use http::Method;
use quinn::ConnectionError;

use super::frames::{HEADERS, NO_ERROR, REQUEST_REJECTED, VERSION_FALLBACK, name_of, push_head};
use super::incoming::Incoming;
use super::permit::StreamPermit;
use super::qpack::{Decoded, encode};
use super::reader::{Message, Reader, Stop};
use super::sent::SentWatch;
use super::writer::Writer;
use crate::config::Config;
use crate::h2::exchange::Head;
use crate::h2::head::request_head;
use crate::h2::upload::Upload;
use crate::message::attempt::{Trace, Version};
use crate::message::broken::Broken;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::Fields;
use crate::message::reason::Reason;
use crate::message::request::Request;
use crate::runtime::timer::PhaseTimer;
use crate::transport::tls::quic::alert;

/// Sends `request` on a stream of its own and reads the head of the response; the body is still to come.
pub(crate) async fn exchange(
    permit: StreamPermit,
    request: &Request,
    config: &Config,
    trace: &mut Trace,
) -> Result<(Head, Incoming), Broken> {
    trace.attempt().phase = Phase::Send;
    trace.attempt().version = Some(Version::Http3);
    let mut timer = PhaseTimer::new(config);
    // Dropped after the exchange, whose stream sends nothing any more then.
    let mut watch = SentWatch::new(trace, &permit.link);
    let mut exchange = Exchange::begin(permit, request, config).await?;
    let head = poll_fn(|cx| exchange.poll_head(cx, config, &mut timer, &mut watch)).await?;
    watch.trace.attempt().phase = Phase::Read;
    let status = head.block.status.unwrap_or_default();
    let bodiless = request.method == Method::HEAD || matches!(status, 204 | 304);
    let length = content_length(&head.fields).map_err(|why| exchange.malformed(why))?;
    exchange
        .permit
        .link
        .progressed
        .store(true, Ordering::Relaxed);
    let Exchange {
        reader,
        upload,
        permit,
        ..
    } = exchange;
    let incoming = Incoming::new(reader, length.filter(|_| !bodiless), upload, permit);
    let fields = head.fields;
    Ok((Head { status, fields }, incoming))
}

/// A request under way. The handles of the stream are dropped before its permit.
struct Exchange {
    reader: Reader,
    upload: Upload<Writer>,
    permit: StreamPermit,
}

impl Exchange {
    async fn begin(
        mut permit: StreamPermit,
        request: &Request,
        config: &Config,
    ) -> Result<Exchange, Broken> {
        let head = request_head(request, config).map_err(|why| {
            let why = format!("the request cannot be sent: {why}");
            protocol(Phase::Send, why, None)
        })?;
        let (send, receive) = permit.open(config).await?;
        let block = encode(&head);
        let mut bytes = Vec::with_capacity(block.len() + 8);
        push_head(&mut bytes, HEADERS, block.len());
        bytes.extend_from_slice(&block);
        let writer = Writer::new(send, bytes, request.body.is_empty());
        Ok(Exchange {
            reader: Reader::new(receive, request.method == Method::HEAD, config),
            upload: Upload::new(writer, request, config),
            permit,
        })
    }

    /// Sends what the server's windows allow, and waits for the final head, which may come before the end.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        config: &Config,
        timer: &mut PhaseTimer<'_>,
        watch: &mut SentWatch<'_>,
    ) -> Poll<Result<Decoded, Broken>> {
        loop {
            watch.before_a_write();
            // The response, or its absence, shows how it went.
            let failure = self.upload.poll(cx).err();
            watch.after_a_write(self.upload.stream().has_begun());
            let trace = &mut *watch.trace;
            if let Some(failure) = failure {
                return Poll::Ready(Err(Broken::Failed(failure)));
            }
            if self.upload.is_done() && trace.attempt().phase == Phase::Send {
                trace.attempt().send_time = trace.lap();
                trace.attempt().phase = Phase::FirstByte;
            }
            match self.reader.poll(cx, config) {
                Poll::Ready(Ok(Message::Head(head))) => match head.block.status {
                    Some(100) => self.upload.release(),
                    Some(101..200) => {}
                    _ => {
                        self.upload.give_up_if_held();
                        trace.attempt().sent = true;
                        trace.attempt().first_byte_time = trace.lap();
                        return Poll::Ready(Ok(head));
                    }
                },
                // The reader gives nothing else before a final head.
                Poll::Ready(Ok(_)) => return Poll::Ready(Err(self.malformed("it has no head"))),
                Poll::Ready(Err(stop)) => {
                    watch.note();
                    return Poll::Ready(Err(self.broken(stop, watch.trace)));
                }
                Poll::Pending => return self.wait(cx, timer, trace),
            }
        }
    }

    /// Nothing has come.
    fn wait(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut PhaseTimer<'_>,
        trace: &mut Trace,
    ) -> Poll<Result<Decoded, Broken>> {
        let permit = &self.permit;
        permit.link.waits(permit.stream(), cx.waker());
        if permit.is_left_out() && !self.reader.has_begun() {
            let why = "the server ended the connection before this request";
            let failure = Failure::new(Kind::Protocol, trace.attempt().phase, why);
            return Poll::Ready(Err(Broken::Unprocessed(failure, permit.has_progressed())));
        }
        timer.follow(trace.attempt().phase);
        timer.poll(cx).map(|late| Err(Broken::Failed(late)))
    }

    fn malformed(&self, why: &str) -> Broken {
        let detail = format!("the response is malformed: {why}");
        protocol(Phase::FirstByte, detail, Some(Reason::ResponseMalformed))
    }

    /// The meaning of a stream's end without a response.
    fn broken(&mut self, stop: Stop, trace: &mut Trace) -> Broken {
        let (phase, sent) = (trace.attempt().phase, trace.attempt().sent);
        let begun = self.reader.has_begun();
        let stop = self.permit.cause(stop);
        if let Stop::Lost(error) = &stop
            && let Some(alert) = alert(error)
        {
            return Broken::Failed(alert.failure(phase).for_good());
        }
        let why = explain(&stop);
        let failure = Failure::new(Kind::Protocol, phase, why.text).for_reason(why.reason);
        match stop {
            Stop::Violation(violation) => {
                self.permit.link.violate(violation);
                Broken::Failed(failure.for_good())
            }
            Stop::Malformed(_) | Stop::TooMuch(_) => Broken::Failed(failure.for_good()),
            Stop::Reset(code) => self.refused(code, failure, begun),
            // A GOAWAY guarantees that the server did nothing for the requests that it leaves out.
            Stop::Lost(_) if !begun && (self.permit.is_left_out() || !sent) => {
                Broken::Unprocessed(failure, self.permit.has_progressed())
            }
            // An error is a judgement of the server, and part of a response is more than none.
            Stop::Lost(error) if !begun && is_silent(&error) => Broken::Ended(failure),
            Stop::Lost(_) => Broken::Failed(failure),
        }
    }

    /// The server reset the stream before the head of a response.
    fn refused(&mut self, code: u64, failure: Failure, begun: bool) -> Broken {
        if code == u64::from(REQUEST_REJECTED) && !begun {
            // No further request uses the connection of a server that refused a stream.
            self.permit.loan.retires = true;
            return Broken::Refused(failure);
        }
        if self.permit.is_left_out() && !begun {
            return Broken::Unprocessed(failure, self.permit.has_progressed());
        }
        if code == u64::from(VERSION_FALLBACK) && self.permit.loan.use_http1() {
            return match begun {
                true => Broken::Failed(failure),
                false => Broken::Unprocessed(failure, false),
            };
        }
        if code == u64::from(VERSION_FALLBACK) {
            let detail = "the server requires another version of HTTP (H3_VERSION_FALLBACK), and the \
                setting `http` allows HTTP/3 alone";
            return protocol(failure.phase, detail.into(), None);
        }
        Broken::Failed(failure)
    }
}

/// Whether the connection ended without a judgement of the server, as over TCP.
fn is_silent(error: &ConnectionError) -> bool {
    match error {
        ConnectionError::TimedOut | ConnectionError::Reset => true,
        ConnectionError::ApplicationClosed(close) => {
            close.error_code.into_inner() == NO_ERROR.into()
        }
        _ => false,
    }
}

fn protocol(phase: Phase, detail: String, reason: Option<Reason>) -> Broken {
    let failure = Failure::new(Kind::Protocol, phase, detail);
    Broken::Failed(failure.for_reason(reason).for_good())
}

/// Why a response ended.
pub(super) struct Explanation {
    /// In our own words. The text of the server's CONNECTION_CLOSE belongs in no message, except its code.
    pub text: String,
    /// If it is one of the table.
    pub reason: Option<Reason>,
}

pub(super) fn explain(stop: &Stop) -> Explanation {
    let (text, reason) = match stop {
        Stop::Violation(violation) => (
            format!("the server violates HTTP/3: {}", violation.why),
            Some(Reason::ResponseMalformed),
        ),
        Stop::Malformed(why) => (
            format!("the response is malformed: {why}"),
            Some(Reason::ResponseMalformed),
        ),
        Stop::TooMuch(why) => (why.to_string(), why.reason()),
        Stop::Reset(code) => (
            format!("the server reset the stream ({})", name_of(*code)),
            None,
        ),
        Stop::Lost(error) => of_connection(error),
    };
    Explanation { text, reason }
}

fn of_connection(error: &ConnectionError) -> (String, Option<Reason>) {
    let ended = |code: String| (format!("the server ended the connection ({code})"), None);
    let closed = Some(Reason::ConnectionClosed);
    match error {
        ConnectionError::ApplicationClosed(close)
            if close.error_code.into_inner() == NO_ERROR.into() =>
        {
            let text = "the connection ended before the response did";
            (text.into(), closed)
        }
        ConnectionError::ApplicationClosed(close) => ended(name_of(close.error_code.into_inner())),
        ConnectionError::ConnectionClosed(close) => ended(format!("QUIC: {:?}", close.error_code)),
        ConnectionError::TimedOut => {
            let text = "the connection ended before the response did: nothing came for too long";
            (text.into(), closed)
        }
        ConnectionError::Reset => {
            let text =
                "the connection ended before the response did: the server knows nothing of it";
            (text.into(), closed)
        }
        ConnectionError::LocallyClosed => ("the connection was closed".into(), closed),
        other => (format!("the connection failed: {other}"), None),
    }
}

/// The announced length of a body (RFC 9110 §8.6).
fn content_length(fields: &[u8]) -> Result<Option<u64>, &'static str> {
    let mut found = None;
    for (name, value) in Fields(fields).iter() {
        if name != "content-length" {
            continue;
        }
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(value).unwrap_or_default();
        let length = digits.then(|| text.parse::<u64>().ok()).flatten();
        let length = length.ok_or("its Content-Length is not a number of bytes")?;
        if found.is_some_and(|other| other != length) {
            return Err("it has two lengths");
        }
        found = Some(length);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_and_there_is_one() {
        assert_eq!(content_length(b"a: 1\r\n"), Ok(None));
        assert_eq!(content_length(b"content-length: 12\r\n"), Ok(Some(12)));
        let twice = b"content-length: 12\r\ncontent-length: 12\r\n";
        assert_eq!(content_length(twice), Ok(Some(12)));
        for wrong in ["", "+1", "1, 1", "99999999999999999999", "0x1"] {
            let fields = format!("content-length: {wrong}\r\n");
            assert!(content_length(fields.as_bytes()).is_err(), "{wrong}");
        }
        assert!(content_length(b"content-length: 1\r\ncontent-length: 2\r\n").is_err());
    }
}
