//! Outcomes → lines of the results. Written by hand, for there are many: `tests` hold them against `Record`.

use std::borrow::Cow;
use std::io::Write;
use std::time::{Duration, SystemTime};

use hecaton::{Attempt, Error, Response};
use serde_json::{Map, Value};

use crate::plan::{Content, Planned};
use crate::record::{Body, Outcome};
use crate::request::Rendered;

/// Writes lines into a buffer.
#[derive(Default)]
pub struct RecordWriter {
    clock: Clock,
}

/// The facts of a request beside its response.
pub struct Tried {
    /// How often it was tried.
    pub attempts: u32,
    /// When the last try began.
    pub begun: SystemTime,
    /// Where a redirect led.
    pub location: Option<String>,
}

/// The parts of a response that are recorded.
#[derive(Default)]
pub struct KeptResponse<'a> {
    /// Whether the response is good.
    pub ok: bool,
    /// Names of headers, in lower case.
    pub headers: &'a [String],
    /// Whether the body's digest is kept.
    pub hash: bool,
    /// Where the body is.
    pub body: Option<Body>,
    /// The values that were taken from it.
    pub taken: Map<String, Value>,
}

impl RecordWriter {
    /// A response.
    pub fn response(
        &mut self,
        out: &mut Vec<u8>,
        (planned, rendered): (&Planned, &Rendered<'_>),
        tried: &Tried,
        response: &Response,
        kept: KeptResponse<'_>,
    ) {
        begin(out, planned, Some(rendered), Outcome::Response, kept.ok);
        number(out, "status", response.status().into());
        location(out, tried);
        headers(out, kept.headers, response);
        number(out, "attempts", tried.attempts.into());
        self.clock.write(out, tried.begun);
        elapsed(out, response.elapsed(), response.attempts().last());
        number(out, "bytes", response.body().len() as u64);
        if kept.hash {
            out.extend_from_slice(b",\"hash\":\"blake3:");
            out.extend_from_slice(blake3::hash(response.body()).to_hex().as_bytes());
            out.push(b'"');
        }
        if let Some(body) = &kept.body {
            field(out, "body");
            json(out, body);
        }
        if !kept.taken.is_empty() {
            field(out, "taken");
            json(out, &kept.taken);
        }
        out.extend_from_slice(b"}\n");
    }

    /// A failure.
    pub fn error(
        &mut self,
        out: &mut Vec<u8>,
        about: (&Planned, &Rendered<'_>),
        tried: &Tried,
        error: &Error,
    ) {
        let what = (
            kind_name(error.kind()),
            error.phase().name(),
            error.detail(),
        );
        let way = (error.sent(), error.elapsed(), error.attempts().last());
        self.failed(out, about, tried, what, way);
    }

    /// A request of a method that must not be repeated, which failed after it was sent.
    pub fn unknown(
        &mut self,
        out: &mut Vec<u8>,
        (planned, rendered): (&Planned, &Rendered<'_>),
        tried: &Tried,
        error: &Error,
    ) {
        begin(out, planned, Some(rendered), Outcome::Unknown, false);
        location(out, tried);
        field(out, "why");
        text(
            out,
            &format!("{}: {}", kind_name(error.kind()), error.detail()),
        );
        field(out, "sent");
        json(out, &error.sent());
        number(out, "attempts", tried.attempts.into());
        self.clock.write(out, tried.begun);
        elapsed(out, error.elapsed(), error.attempts().last());
        out.extend_from_slice(b"}\n");
    }

    /// A redirect that is not followed, and why.
    pub fn refused(
        &mut self,
        out: &mut Vec<u8>,
        about: (&Planned, &Rendered<'_>),
        tried: &Tried,
        response: &Response,
        why: &str,
    ) {
        let way = (true, response.elapsed(), response.attempts().last());
        self.failed(out, about, tried, ("redirect", "read", why), way);
    }

    fn failed(
        &mut self,
        out: &mut Vec<u8>,
        (planned, rendered): (&Planned, &Rendered<'_>),
        tried: &Tried,
        (kind, phase, message): (&str, &str, &str),
        (sent, total, attempt): (bool, Duration, Option<&Attempt>),
    ) {
        begin(out, planned, Some(rendered), Outcome::Error, false);
        location(out, tried);
        failure(out, kind, phase, message);
        field(out, "sent");
        json(out, &sent);
        number(out, "attempts", tried.attempts.into());
        self.clock.write(out, tried.begun);
        elapsed(out, total, attempt);
        out.extend_from_slice(b"}\n");
    }

    /// An input of which nothing is sent, and why.
    pub fn unsent(
        &mut self,
        out: &mut Vec<u8>,
        (planned, rendered): (&Planned, Option<&Rendered<'_>>),
        outcome: Outcome,
        why: &str,
    ) {
        unsent(out, (planned, rendered), (outcome, why), 0);
    }

    /// An input whose host was given up, after so many tries of its own.
    pub fn unreached(
        &mut self,
        out: &mut Vec<u8>,
        about: (&Planned, Option<&Rendered<'_>>),
        attempts: u32,
    ) {
        let why = (Outcome::Unreached, "its host was down");
        unsent(out, about, why, attempts);
    }
}

fn unsent(
    out: &mut Vec<u8>,
    (planned, rendered): (&Planned, Option<&Rendered<'_>>),
    (outcome, why): (Outcome, &str),
    attempts: u32,
) {
    begin(out, planned, rendered, outcome, false);
    field(out, "why");
    text(out, why);
    number(out, "attempts", attempts.into());
    out.extend_from_slice(b"}\n");
}

/// The name of what went wrong, as the engine's documentation has it.
pub fn kind_name(kind: hecaton::Kind) -> &'static str {
    use hecaton::Kind as K;
    match kind {
        K::Timeout => "timeout",
        K::Resolve => "resolve",
        K::Connect => "connect",
        K::Tls => "tls",
        K::Protocol => "protocol",
        K::Body => "body",
        K::Redirect => "redirect",
        K::Cancelled => "cancelled",
    }
}

fn begin(
    out: &mut Vec<u8>,
    planned: &Planned,
    rendered: Option<&Rendered<'_>>,
    outcome: Outcome,
    ok: bool,
) {
    out.extend_from_slice(b"{\"n\":");
    digits(out, planned.number);
    // These three first: they are read without reading the rest.
    field(out, "outcome");
    text(out, outcome.name());
    field(out, "ok");
    json(out, &ok);
    number(out, "line", planned.line);
    if let Content::Columns(columns) = &planned.held {
        field(out, "columns");
        json(out, columns);
    }
    if let Some(rendered) = rendered {
        field(out, "method");
        text(out, &rendered.method);
        field(out, "url");
        text(out, &rendered.url);
    } else if let Content::Invalid(what) = &planned.held {
        field(out, "url");
        text(out, &what.0);
    } else if let Content::Url(url) = &planned.held {
        field(out, "url");
        text(out, url);
    }
}

fn location(out: &mut Vec<u8>, tried: &Tried) {
    if let Some(location) = &tried.location {
        field(out, "location");
        text(out, location);
    }
}

fn failure(out: &mut Vec<u8>, kind: &str, phase: &str, message: &str) {
    out.extend_from_slice(b",\"error\":{\"kind\":");
    text(out, kind);
    out.extend_from_slice(b",\"phase\":");
    text(out, phase);
    out.extend_from_slice(b",\"message\":");
    text(out, message);
    out.push(b'}');
}

/// All values of a header in one text: a list with commas (RFC 9110 §5.2), but each cookie on a line of its own.
pub fn header<'a>(response: &'a Response, name: &str) -> Option<Cow<'a, str>> {
    let values = response.headers();
    let mut values = values
        .filter(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| String::from_utf8_lossy(value));
    let mut all = values.next()?;
    let separator = match name.eq_ignore_ascii_case("set-cookie") {
        true => "\n",
        false => ", ",
    };
    for value in values {
        let all = all.to_mut();
        all.push_str(separator);
        all.push_str(&value);
    }
    Some(all)
}

fn headers(out: &mut Vec<u8>, names: &[String], response: &Response) {
    let mut found = names
        .iter()
        .filter_map(|name| Some((name, header(response, name)?)))
        .peekable();
    if found.peek().is_none() {
        return;
    }
    field(out, "headers");
    let mut before = b'{';
    for (name, value) in found {
        out.push(before);
        text(out, name);
        out.push(b':');
        text(out, &value);
        before = b',';
    }
    out.push(b'}');
}

fn elapsed(out: &mut Vec<u8>, total: Duration, attempt: Option<&Attempt>) {
    out.extend_from_slice(b",\"ms\":{\"total\":");
    milliseconds(out, total);
    if let Some(attempt) = attempt {
        for (name, time) in [
            ("resolve", attempt.resolve),
            ("connect", attempt.connect),
            ("tls", attempt.tls),
            ("wait", attempt.first_byte),
            ("read", attempt.read),
        ] {
            if let Some(time) = time.filter(|time| !time.is_zero()) {
                field(out, name);
                milliseconds(out, time);
            }
        }
    }
    out.push(b'}');
}

/// With three decimals.
fn milliseconds(out: &mut Vec<u8>, time: Duration) {
    let micros = time.as_micros() as u64;
    digits(out, micros / 1000);
    let rest = (micros % 1000) as u16;
    let decimals = [rest / 100, rest / 10 % 10, rest % 10].map(|digit| b'0' + digit as u8);
    out.push(b'.');
    out.extend_from_slice(&decimals);
}

fn field(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn number(out: &mut Vec<u8>, name: &str, value: u64) {
    field(out, name);
    digits(out, value);
}

fn digits(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A text, of which most need no escapes.
fn text(out: &mut Vec<u8>, value: &str) {
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    if value.as_bytes().iter().all(is_plain) {
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    } else {
        json(out, value);
    }
}

fn json(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    // Text, numbers and maps of them become JSON, and a vector takes it.
    let _ = serde_json::to_writer(out, value);
}

/// Writes instants as RFC 3339 has them; a second's text is made once.
#[derive(Default)]
struct Clock {
    second: u64,
    text: String,
}

impl Clock {
    fn write(&mut self, out: &mut Vec<u8>, at: SystemTime) {
        let since = at
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        if self.second != since.as_secs() || self.text.is_empty() {
            self.second = since.as_secs();
            let whole = SystemTime::UNIX_EPOCH + Duration::from_secs(self.second);
            self.text = humantime::format_rfc3339_seconds(whole).to_string();
            self.text.pop();
        }
        // Into a vector nothing fails.
        let _ = write!(
            out,
            ",\"at\":\"{}.{:03}Z\"",
            self.text,
            since.subsec_millis()
        );
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::record::{Columns, Record};

    #[test]
    fn what_is_written_by_hand_is_a_record() {
        let mut columns = Columns::new();
        columns.insert("a \"b\"".into(), "line\nbreak \u{1} ü".into());
        let planned = Planned {
            number: 7,
            line: 9,
            held: Content::Columns(Box::new(columns.clone())),
        };
        let rendered = Rendered {
            method: Cow::Borrowed("GET"),
            url: Cow::Borrowed("http://h/?q=\"\\"),
            headers: Vec::new(),
            body: None,
        };
        let mut out = Vec::new();
        RecordWriter::default().unsent(
            &mut out,
            (&planned, Some(&rendered)),
            Outcome::Skipped,
            "duplicate",
        );
        let record: Record = serde_json::from_slice(&out).unwrap();
        assert_eq!((record.n, record.line, &record.columns), (7, 9, &columns));
        assert_eq!((&*record.url, &*record.method), ("http://h/?q=\"\\", "GET"));
        assert_eq!(
            (record.outcome, record.why.as_deref()),
            (Outcome::Skipped, Some("duplicate"))
        );
    }

    #[test]
    fn times_are_written_as_they_are() {
        let mut out = Vec::new();
        milliseconds(&mut out, Duration::from_micros(1_002_003));
        assert_eq!(out, b"1002.003");
        let mut clock = Clock::default();
        for millis in [1_700_000_000_004, 1_700_000_000_999, 1_700_000_001_000u64] {
            let mut out = Vec::new();
            let at = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
            clock.write(&mut out, at);
            let expected = format!(",\"at\":\"{}\"", humantime::format_rfc3339_millis(at));
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
