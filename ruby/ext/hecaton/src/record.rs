//! An outcome → the three values that Ruby decodes when it is asked (`ruby/lib/hecaton/record.rb`).
//!
//! Most programs look at the status and the body alone, so the rest travels as one string: first the
//! times, then the header fields. Layout, integers little-endian, durations in nanoseconds with
//! 2^64 − 1 for none:
//!
//! - elapsed: u64, number of attempts: u32, number of redirects: u32
//! - per attempt: connection u64, flags u8 (1 reused, 2 sent), phase u8, ending u8 (0 unfinished,
//!   1 status, 2 failed, 3 moved), version u8 (0 none, 1 HTTP/1, 2 HTTP/2), status u16, redirects before it u16,
//!   then queue, resolve, connect, tls, send, first byte, read, its begin, its end as u64
//! - the URL that answered, or was asked last: length u32, bytes
//! - per redirect: status u32, length u32, URL
//! - header fields as `name: value\r\n`

use std::time::Duration;

use hecaton::{
    Attempt, Ending, Error as Failure, Kind, Outcome, Part, Phase, Redirect, Response, Streaming,
    Version,
};
use magnus::encoding::EncodingCapable;
use magnus::{IntoValue, RArray, RString, Ruby, Value};

/// Status, record and body of a response; nil, record and a list of facts of an error.
pub fn values(ruby: &Ruby, outcome: Outcome) -> [Value; 3] {
    match outcome {
        Ok(response) => {
            let record = ruby.str_from_slice(&response_record(&response));
            let body = body(ruby, &response);
            [
                response.status().into_value_with(ruby),
                record.into_value_with(ruby),
                body.into_value_with(ruby),
            ]
        }
        Err(error) => failure(ruby, &error),
    }
}

/// A request with status and record of its head, or with nil and a piece of its body.
pub fn part(ruby: &Ruby, request: Value, part: Part) -> [Value; 3] {
    match part {
        Part::Head(response) => {
            let record = ruby.str_from_slice(&response_record(&response));
            [
                request,
                response.status().into_value_with(ruby),
                record.into_value_with(ruby),
            ]
        }
        Part::Piece(piece) => {
            let piece = ruby.str_from_slice(&piece);
            [
                request,
                ruby.qnil().into_value_with(ruby),
                piece.into_value_with(ruby),
            ]
        }
    }
}

/// Nil, record and facts of an error.
pub fn failure(ruby: &Ruby, error: &Failure) -> [Value; 3] {
    let record = ruby.str_from_slice(&failure_record(error));
    [
        ruby.qnil().into_value_with(ruby),
        record.into_value_with(ruby),
        facts(ruby, error).into_value_with(ruby),
    ]
}

/// The record of a response whose body may be read yet.
pub fn of_stream(ruby: &Ruby, stream: &Streaming) -> Value {
    let redirects = stream.redirects();
    let mut record = times(stream.elapsed(), stream.attempts(), redirects.len());
    let write_url = |record: &mut Vec<u8>| record.extend_from_slice(stream.url().as_bytes());
    add_way(&mut record, write_url, redirects);
    record.extend_from_slice(stream.header_block());
    ruby.str_from_slice(&record).into_value_with(ruby)
}

/// Class name, phase, whether sent, URL, message, the operating system's number of the reason or nil.
fn facts(ruby: &Ruby, error: &Failure) -> RArray {
    let class = match error.kind() {
        Kind::Timeout => "TimeoutError",
        Kind::Resolve => "ResolveError",
        Kind::Connect => "ConnectError",
        Kind::Tls => "TLSError",
        Kind::Protocol => "ProtocolError",
        Kind::Body => "BodyError",
        Kind::Redirect => "RedirectError",
        Kind::Cancelled => "CancelledError",
    };
    ruby.ary_new_from_values(&[
        ruby.to_symbol(class).into_value_with(ruby),
        ruby.to_symbol(error.phase().name()).into_value_with(ruby),
        error.sent().into_value_with(ruby),
        error.url().into_value_with(ruby),
        error.to_string().into_value_with(ruby),
        error.os_error().into_value_with(ruby),
    ])
}

/// The body with the encoding that its Content-Type names; bytes when it names none.
fn body(ruby: &Ruby, response: &Response) -> RString {
    let content_type = response
        .header("content-type")
        .and_then(|value| std::str::from_utf8(value).ok());
    let name = content_type.and_then(charset);
    if name.is_some_and(|name| name.eq_ignore_ascii_case("utf-8")) {
        return ruby.enc_str_new(response.body(), ruby.utf8_encoding());
    }
    let string = ruby.str_from_slice(response.body());
    if let Some(index) = name.and_then(|name| ruby.find_encindex(name).ok()) {
        let _ = string.enc_associate(index);
    }
    string
}

/// The charset parameter (RFC 9110 §8.3.2), or UTF-8 for JSON (RFC 8259 §8.1).
fn charset(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';');
    let media_type = parameters.next()?.trim();
    let named = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"'))
    });
    named.or(media_type
        .eq_ignore_ascii_case("application/json")
        .then_some("utf-8"))
}

fn failure_record(error: &Failure) -> Vec<u8> {
    let mut record = times(error.elapsed(), error.attempts(), error.redirects().len());
    let write_url = |record: &mut Vec<u8>| record.extend_from_slice(error.url().as_bytes());
    add_way(&mut record, write_url, error.redirects());
    record
}

fn response_record(response: &Response) -> Vec<u8> {
    let mut record = times(
        response.elapsed(),
        response.attempts(),
        response.redirects().len(),
    );
    let write_url = |record: &mut Vec<u8>| response.write_url(record);
    add_way(&mut record, write_url, response.redirects());
    record.extend_from_slice(response.header_block());
    record
}

/// The URL that answered, and the redirects that led to it.
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

fn times(elapsed: Duration, attempts: &[Attempt], redirects: usize) -> Vec<u8> {
    let mut record = Vec::with_capacity(16 + attempts.len() * 88 + 240);
    record.extend_from_slice(&nanoseconds(Some(elapsed)).to_le_bytes());
    for count in [attempts.len(), redirects] {
        record.extend_from_slice(&(count as u32).to_le_bytes());
    }
    for attempt in attempts {
        add_attempt(&mut record, attempt);
    }
    record
}

fn add_attempt(record: &mut Vec<u8>, attempt: &Attempt) {
    let (ending, status) = match attempt.ending {
        Ending::Unfinished => (0, 0),
        Ending::Status(status) => (1, status),
        Ending::Failed => (2, 0),
        Ending::Moved => (3, 0),
    };
    let flags = u8::from(attempt.reused) | u8::from(attempt.sent) << 1;
    record.extend_from_slice(&attempt.connection.to_le_bytes());
    let version = match attempt.version {
        None => 0,
        Some(Version::Http1) => 1,
        Some(Version::Http2) => 2,
    };
    record.extend_from_slice(&[flags, phase_number(attempt.phase), ending, version]);
    record.extend_from_slice(&status.to_le_bytes());
    record.extend_from_slice(&attempt.redirects.to_le_bytes());
    let Attempt {
        queue,
        resolve,
        connect,
        tls,
        send,
        first_byte,
        read,
        ended,
        ..
    } = attempt;
    let begun = &Some(attempt.begun);
    for duration in [
        queue, resolve, connect, tls, send, first_byte, read, begun, ended,
    ] {
        record.extend_from_slice(&nanoseconds(*duration).to_le_bytes());
    }
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
