//! Makes three values of an outcome, which Ruby decodes on demand (`ruby/lib/hecaton/record.rb`).
//!
//! Most programs look only at the status and the body, so the rest travels as one string: first the times, then the
//! header fields. Layout, integers little-endian, durations in nanoseconds with 2^64 − 1 for none:
//!
//! - elapsed: u64, number of attempts: u32, number of redirects: u32, length of the trailers: u32, of the facts: u32
//! - per attempt: connection u64, flags u8, phase u8, ending u8, version u8, status u16, redirects before it u16.
//!   Nine times follow as u64: queue, resolve, connect, tls, send, first byte, read, its begin, its end. The flags are 1 reused and 2
//!   sent. The ending is 0 unfinished, 1 status, 2 failed or 3 resent. The version is 0 none, 1 HTTP/1, 2 HTTP/2 or 3 HTTP/3.
//! - the facts: per attempt the server that it reached (`who_answered.rs`)
//! - method and URL of the response, with a space between them, or the URL of the last request: length u32, bytes
//! - per redirect: status u32, length u32, URL
//! - header fields as `name: value\r\n`, then trailers of the length above

use std::cell::RefCell;
use std::time::Duration;

use hecaton::{
    Attempt, Ending, Error as Failure, InvalidUrl, Method, Outcome, Part, Phase, Reason, Redirect,
    Response, Streaming, Version,
};
use magnus::value::ReprValue;
use magnus::{IntoValue, RArray, RString, Ruby, Value};

use crate::{content_type, error_classes, who_answered};

/// Status, record and body of a response; nil, record and a list of facts of an error.
pub fn values(ruby: &Ruby, outcome: Outcome) -> [Value; 3] {
    match outcome {
        Ok(response) => {
            let status = response.status().into_value_with(ruby);
            let record = response_record(ruby, &response);
            let body = body(ruby, &response);
            [status, record.as_value(), body.as_value()]
        }
        Err(error) => failure(ruby, &error),
    }
}

/// A request with status and record of its head, or with nil and a piece of its body.
pub fn part(ruby: &Ruby, request: Value, part: Part) -> [Value; 3] {
    match part {
        Part::Head(response) => {
            let status = response.status().into_value_with(ruby);
            [request, status, response_record(ruby, &response).as_value()]
        }
        Part::Piece(piece) => {
            let piece = ruby.str_from_slice(&piece);
            [request, ruby.qnil().as_value(), piece.as_value()]
        }
    }
}

/// Nil, record and facts of an error.
pub fn failure(ruby: &Ruby, error: &Failure) -> [Value; 3] {
    let parts = Parts {
        elapsed: error.elapsed(),
        attempts: error.attempts(),
        redirects: error.redirects(),
        ..Parts::default()
    };
    let record = record(ruby, &parts, |record| {
        record.extend_from_slice(error.url().as_bytes());
    });
    let facts = facts(ruby, error);
    [ruby.qnil().as_value(), record.as_value(), facts.as_value()]
}

/// Nil, record and facts of a request with an invalid URL.
pub fn refused(ruby: &Ruby, error: &InvalidUrl) -> [Value; 3] {
    let record = record(ruby, &Parts::default(), |record| {
        record.extend_from_slice(error.url().as_bytes());
    });
    let facts = ruby.ary_new_from_values(&[
        ruby.to_symbol("URLError").into_value_with(ruby),
        ruby.to_symbol(Phase::Queue.name()).into_value_with(ruby),
        false.into_value_with(ruby),
        error.url().into_value_with(ruby),
        format!("{error} (nothing had been sent)").into_value_with(ruby),
        ruby.qnil().into_value_with(ruby),
        reason(ruby, error.reason()),
        false.into_value_with(ruby),
    ]);
    [ruby.qnil().as_value(), record.as_value(), facts.as_value()]
}

/// The record of a response whose body may be unread.
pub fn of_stream(ruby: &Ruby, stream: &Streaming) -> Value {
    let parts = Parts {
        elapsed: stream.elapsed(),
        attempts: stream.attempts(),
        redirects: stream.redirects(),
        headers: stream.header_block(),
        trailers: stream.trailer_block(),
    };
    let record = record(ruby, &parts, |record| {
        add_method(record, stream.method());
        record.extend_from_slice(stream.url().as_bytes());
    });
    record.as_value()
}

/// The name of a finer reason of an error, or nil.
pub fn reason(ruby: &Ruby, reason: Option<Reason>) -> Value {
    let name = reason.map(|reason| ruby.to_symbol(reason.name()));
    name.into_value_with(ruby)
}

/// Class name, phase, whether sent, URL, message, the operating system's number of the reason or nil, the finer reason
/// or nil, whether an interceptor gave the error.
fn facts(ruby: &Ruby, error: &Failure) -> RArray {
    ruby.ary_new_from_values(&[
        ruby.to_symbol(error_classes::class(error.kind()))
            .into_value_with(ruby),
        ruby.to_symbol(error.phase().name()).into_value_with(ruby),
        error.sent().into_value_with(ruby),
        error.url().into_value_with(ruby),
        error.to_string().into_value_with(ruby),
        error.os_error().into_value_with(ruby),
        reason(ruby, error.reason()),
        error.is_given().into_value_with(ruby),
    ])
}

/// The header fields and the trailers of a record; none if it is invalid.
pub fn blocks(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let number = |at: usize| -> Option<usize> {
        let bytes = record.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let (attempts, redirects, trailers) = (number(8)?, number(12)?, number(16)?);
    let mut start = attempts.checked_mul(ATTEMPT)?.checked_add(HEAD)?;
    start = start.checked_add(number(FACTS)?)?;
    start = start.checked_add(number(start)?)?.checked_add(4)?;
    for _ in 0..redirects {
        let length = number(start.checked_add(4)?)?;
        start = start.checked_add(length)?.checked_add(8)?;
    }
    let end = record.len().checked_sub(trailers)?;
    Some((record.get(start..end)?, &record[end..]))
}

/// How many bytes come before the attempts, and how many each attempt has.
const HEAD: usize = 24;
const ATTEMPT: usize = 88;

/// Offset of the length of the facts.
const FACTS: usize = 20;

/// The body, in the encoding that its Content-Type names if that fits.
fn body(ruby: &Ruby, response: &Response) -> RString {
    let named = response.content_type().unwrap_or_default();
    content_type::labelled(ruby, named, response.body())
}

/// A record of a connection that was opened without a request.
pub fn connection(ruby: &Ruby, attempts: &[Attempt]) -> RString {
    let parts = Parts {
        attempts,
        ..Parts::default()
    };
    record(ruby, &parts, |_| ())
}

fn response_record(ruby: &Ruby, response: &Response) -> RString {
    let parts = Parts {
        elapsed: response.elapsed(),
        attempts: response.attempts(),
        redirects: response.redirects(),
        headers: response.header_block(),
        trailers: response.trailer_block(),
    };
    record(ruby, &parts, |record| {
        add_method(record, response.method());
        response.write_url(record);
    })
}

/// The parts of a record, without the URL and the method before it.
#[derive(Default)]
struct Parts<'a> {
    elapsed: Duration,
    attempts: &'a [Attempt],
    redirects: &'a [Redirect],
    headers: &'a [u8],
    trailers: &'a [u8],
}

/// A record as a String. Each thread keeps the buffer for the next one.
fn record(ruby: &Ruby, parts: &Parts<'_>, write_url: impl FnOnce(&mut Vec<u8>)) -> RString {
    thread_local! {
        static RECORD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let record = RECORD.with_borrow_mut(|record| {
        record.clear();
        record.shrink_to(MOST_KEPT);
        add_times(record, parts);
        add_way(record, write_url, parts.redirects);
        record.extend_from_slice(parts.headers);
        record.extend_from_slice(parts.trailers);
        ruby.str_from_slice(record)
    });
    who_answered::attach_certificates(ruby, record, parts.attempts);
    record
}

/// A thread keeps at most this many bytes of a buffer for the next record. Most records need a few hundred.
const MOST_KEPT: usize = 4096;

fn add_method(record: &mut Vec<u8>, method: &Method) {
    record.extend_from_slice(method.as_str().as_bytes());
    record.push(b' ');
}

/// The URL of the response, and the redirects that led to it.
fn add_way(record: &mut Vec<u8>, write_url: impl FnOnce(&mut Vec<u8>), redirects: &[Redirect]) {
    let at = record.len();
    record.extend_from_slice(&[0; 4]);
    write_url(record);
    let length = (record.len() - at - 4) as u32;
    record[at..at + 4].copy_from_slice(&length.to_le_bytes());
    for redirect in redirects {
        record.extend_from_slice(&u32::from(redirect.status).to_le_bytes());
        record.extend_from_slice(&(redirect.url.len() as u32).to_le_bytes());
        record.extend_from_slice(redirect.url.as_bytes());
    }
}

/// Adds the times, and the lengths of the later parts.
fn add_times(record: &mut Vec<u8>, parts: &Parts<'_>) {
    let (attempts, redirects) = (parts.attempts, parts.redirects.len());
    record.extend_from_slice(&nanoseconds(Some(parts.elapsed)).to_le_bytes());
    for count in [attempts.len(), redirects, parts.trailers.len(), 0] {
        record.extend_from_slice(&(count as u32).to_le_bytes());
    }
    for attempt in attempts {
        add_attempt(record, attempt);
    }
    let start = record.len();
    for attempt in attempts {
        who_answered::add(record, attempt);
    }
    let length = (record.len() - start) as u32;
    record[FACTS..FACTS + 4].copy_from_slice(&length.to_le_bytes());
}

fn add_attempt(record: &mut Vec<u8>, attempt: &Attempt) {
    let ending = match attempt.ending {
        Ending::Unfinished => 0,
        Ending::Status(_) => 1,
        Ending::Failed => 2,
        Ending::Resent => 3,
    };
    let status = attempt.status.unwrap_or(0);
    let flags = u8::from(attempt.reused) | u8::from(attempt.sent) << 1;
    let version = match attempt.version {
        None => 0,
        Some(Version::Http1) => 1,
        Some(Version::Http2) => 2,
        Some(Version::Http3) => 3,
    };
    let times = [
        attempt.queue_time,
        attempt.resolve_time,
        attempt.connect_time,
        attempt.tls_time,
        attempt.send_time,
        attempt.first_byte_time,
        attempt.read_time,
        Some(attempt.begun),
        attempt.ended,
    ];
    // Built in an array, because a Vec would check its capacity at each step.
    let mut bytes = [0; ATTEMPT];
    bytes[..8].copy_from_slice(&attempt.connection.to_le_bytes());
    bytes[8..12].copy_from_slice(&[flags, phase_number(attempt.phase), ending, version]);
    bytes[12..14].copy_from_slice(&status.to_le_bytes());
    bytes[14..16].copy_from_slice(&attempt.redirects.to_le_bytes());
    for (bytes, time) in bytes[16..].chunks_exact_mut(8).zip(times) {
        bytes.copy_from_slice(&nanoseconds(time).to_le_bytes());
    }
    record.extend_from_slice(&bytes);
}

/// Position in `Phase::ALL`, which Ruby gets at start-up.
fn phase_number(phase: Phase) -> u8 {
    phase as u8
}

fn nanoseconds(duration: Option<Duration>) -> u64 {
    duration.map_or(u64::MAX, |duration| {
        duration.as_nanos().try_into().unwrap_or(u64::MAX - 1)
    })
}
