//! Attempts to which a program responds in place of the network: stubs of tests, and recorders.
//!
//! The program is called where an attempt would get its connection. Its response is then an attempt like any other. The
//! `BodyReader` reads its body, with the same limits.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method};
use tokio::time::timeout_at;

use super::body_reader::{BodyReader, GivenBody, Source, decoder};
use super::hooks::{Given, GivenFailure, GivenResponse, Hooks, Upcoming};
use super::open_response::{AttemptOptions, OpenResponse};
use super::shared::Shared;
use crate::message::attempt::Trace;
use crate::message::broken::Broken;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::Fields;
use crate::message::head::BadHead;
use crate::message::request::Request;
use crate::runtime::timer::exceeded;

/// A program's hooks, and the number by which they know a request.
#[derive(Clone, Copy)]
pub(super) struct Interceptor<'a> {
    hooks: &'a dyn Hooks,
    number: usize,
}

impl Shared {
    /// The interceptor of this request's attempts, if there is one.
    pub(super) fn interceptor_of(&self, request: &Request) -> Option<Interceptor<'_>> {
        let number = request.options.as_ref()?.intercepted_as?;
        let hooks = &**self.hooks.as_ref()?;
        Some(Interceptor { hooks, number })
    }

    /// An attempt to which the program responds, or else the network. An `Err` outside means that the program has
    /// refused the request, and that the attempt was not made.
    pub(super) async fn intercepted(
        self: &Arc<Self>,
        request: &Request,
        by: Interceptor<'_>,
        options: AttemptOptions,
        trace: &mut Trace,
    ) -> Result<Result<OpenResponse, Broken>, Failure> {
        // A re-send goes where its attempt went: to the program or to the network.
        if trace.given || !trace.is_resend() {
            let given = self.given(request, by, options, trace).await?;
            if let Some(result) = given {
                return Ok(result);
            }
        }
        // The timer around the request knows nothing of waits that were passed at once.
        let at = trace.deadline.at.into();
        let made = timeout_at(at, self.attempt(request, options, trace)).await;
        Ok(made.unwrap_or_else(|_| Err(Broken::Failed(trace.used_up()))))
    }

    /// The program's response to an attempt; none if the attempt is made on the network.
    async fn given(
        self: &Arc<Self>,
        request: &Request,
        by: Interceptor<'_>,
        options: AttemptOptions,
        trace: &mut Trace,
    ) -> Result<Option<Result<OpenResponse, Broken>>, Failure> {
        trace.attempt().phase = Phase::FirstByte;
        let upcoming = self.intercepted_attempt(request, trace.attempts.len());
        let given = by.hooks.respond(by.number, upcoming).await;
        trace.given = !matches!(given, Given::Nothing { .. });
        trace.observed = matches!(given, Given::Nothing { observed: true });
        // The program may have taken longer than the request has.
        let late = trace.deadline.left() == Duration::ZERO;
        match given {
            Given::Failure(failure) if failure.phase == Phase::Queue => {
                trace.attempts.pop();
                Err(failure.into_failure())
            }
            _ if late => Ok(Some(Err(Broken::Failed(trace.used_up())))),
            Given::Nothing { .. } => {
                trace.lap();
                trace.attempt().phase = Phase::Queue;
                Ok(None)
            }
            Given::Failure(failure) => Ok(Some(Err(failure.of_attempt(request, trace)))),
            Given::Response(response) => {
                let result = self.given_response(response, request, options, trace).await;
                Ok(Some(result.map_err(Broken::Failed)))
            }
        }
    }

    /// The attempt as an interceptor sees it: without the headers that the engine adds last, `Host` and the framing of
    /// the body.
    fn intercepted_attempt(&self, request: &Request, number: usize) -> Upcoming {
        let own_host = request.host != request.origin.host_header();
        let own_framing = request.announced().is_some();
        let mut upcoming = self.upcoming(request, number);
        upcoming.headers.retain(|(name, _)| {
            let is = |other: &str| name.eq_ignore_ascii_case(other);
            (own_host || !is("host"))
                && (own_framing || !is("content-length") && !is("transfer-encoding"))
        });
        upcoming
    }

    /// A response that the program gave, read as one of the network.
    async fn given_response(
        self: &Arc<Self>,
        given: GivenResponse,
        request: &Request,
        options: AttemptOptions,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Failure> {
        trace.attempt().sent = true;
        request.body.begin();
        exceeded(&self.config, Phase::FirstByte, given.took)?;
        let malformed = |why: BadHead| {
            Failure::new(Kind::Protocol, Phase::FirstByte, why.to_string())
                .for_reason(why.reason())
                .for_good()
        };
        let fields = self.head_of(&given.headers).map_err(malformed)?;
        trace.attempt().first_byte_time = trace.lap();
        let status = given.status;
        trace.attempt().phase = Phase::Read;
        trace.attempt().status = Some(status);
        let body = match request.method == Method::HEAD || matches!(status, 204 | 304) {
            true => GivenBody::default(),
            false => given_body(given),
        };
        let decoder = match is_coded(&body, &fields) {
            true => decoder(request, &self.config, status, &fields)?,
            false => None,
        };
        let reading = self.reading_of(options, request, status, &fields);
        let reader = BodyReader::new(Source::Given(body), decoder, self);
        let body = reader.body(reading, trace).await?;
        Ok(OpenResponse {
            status,
            fields,
            body,
        })
    }

    /// The header fields as a block, within the client's limits.
    fn head_of(&self, headers: &[(String, Vec<u8>)]) -> Result<Vec<u8>, BadHead> {
        if headers.len() > self.config.max_header_fields {
            return Err(BadHead::TooManyFields(self.config.max_header_fields));
        }
        let mut block = Vec::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|_| "a header's name is invalid")?;
            if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
                return Err("a header's value contains a line break".into());
            }
            for part in [name.as_str().as_bytes(), b": ", value.trim_ascii(), b"\r\n"] {
                block.extend_from_slice(part);
            }
        }
        match block.len() > self.config.max_header_bytes {
            true => Err(BadHead::TooManyBytes(self.config.max_header_bytes)),
            false => Ok(block),
        }
    }
}

impl GivenFailure {
    /// The end of an attempt that failed in this way.
    fn of_attempt(self, request: &Request, trace: &mut Trace) -> Broken {
        let attempt = trace.attempt();
        (attempt.sent, attempt.phase) = (self.sent, self.phase);
        if self.sent {
            request.body.begin();
        }
        Broken::opening(self.into_failure())
    }

    fn into_failure(self) -> Failure {
        let failure = Failure::new(self.kind, self.phase, self.detail);
        Failure {
            ended: self.ended,
            given: true,
            ..failure
        }
    }
}

fn given_body(given: GivenResponse) -> GivenBody {
    let pieces = given.body.into_iter().filter(|piece| !piece.is_empty());
    GivenBody {
        pieces: pieces.collect(),
        ending: given.ending.map(GivenFailure::into_failure),
    }
}

/// Whether a body begins as its last coding does. Headers of stubs are often copied from a response whose body was
/// decoded. The coding `br` has no beginning of its own, so such a body is left as it is.
fn is_coded(body: &GivenBody, fields: &[u8]) -> bool {
    let codings = Fields(fields)
        .iter()
        .filter(|(name, _)| *name == "content-encoding");
    let Some(last) = codings
        .filter_map(|(_, value)| value.rsplit(|byte| *byte == b',').next())
        .last()
    else {
        return false;
    };
    let mut first = [0; 4];
    for (place, byte) in first.iter_mut().zip(body.pieces.iter().flatten()) {
        *place = *byte;
    }
    match &last.trim_ascii().to_ascii_lowercase()[..] {
        b"gzip" | b"x-gzip" => first.starts_with(&[0x1F, 0x8B]),
        // RFC 1950 §2.2.
        b"deflate" => first[0] & 0x0F == 8 && u16::from_be_bytes([first[0], first[1]]) % 31 == 0,
        b"zstd" => first == [0x28, 0xB5, 0x2F, 0xFD],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_body_is_decoded_only_if_it_begins_as_its_coding() {
        let coded = |coding: &str, body: &'static [u8]| {
            let fields = format!("content-encoding: {coding}\r\n");
            let (first, rest) = body.split_at(body.len().min(1));
            let pieces = [first, rest].map(Bytes::from_static).into();
            let body = GivenBody {
                pieces,
                ..GivenBody::default()
            };
            is_coded(&body, fields.as_bytes())
        };
        assert!(coded("gzip", b"\x1F\x8B\x08"));
        assert!(coded("br, X-GZIP", b"\x1F\x8B\x08"));
        assert!(coded("deflate", b"\x78\x9C\x01"));
        assert!(coded("zstd", b"\x28\xB5\x2F\xFD\x00"));
        assert!(!coded("gzip", b"plain"));
        assert!(!coded("gzip, br", b"\x1F\x8B\x08"));
        assert!(!coded("deflate", b"plain"));
        assert!(!coded("deflate", b""));
        assert!(!coded("br", b"\x1F\x8B"));
    }
}
