//! Turns outcomes into lines of the results: collects the facts of each outcome for `record::write`.

use std::time::SystemTime;

use hecaton::{Error, Response};
use serde_json::{Map, Value};

use super::instants::Clock;
use super::validators::validators;
use crate::plan::{Content, Planned, Way};
use crate::record::{Body, Ending, Failed, Outcome, write};
use crate::request::Rendered;

/// Writes lines into a buffer.
#[derive(Default)]
pub struct RecordWriter {
    clock: Clock,
}

/// The facts of a request besides its response.
pub struct Tried {
    /// How often it was tried.
    pub attempts: u32,
    /// When the last try began.
    pub begun: SystemTime,
    /// Where a redirect led.
    pub location: Option<String>,
    /// The number of the page, if the job follows pages.
    pub page: Option<u32>,
    /// Why the redirect that came is not followed, unless no redirect is.
    pub unfollowed: Option<String>,
}

/// An input whose request was tried.
#[derive(Clone, Copy)]
pub struct TriedRequest<'a> {
    /// The input.
    pub planned: &'a Planned,
    /// Its request.
    pub rendered: &'a Rendered<'a>,
    /// The facts of the request besides its response.
    pub tried: &'a Tried,
}

/// The outcome of an input for which no request is sent, or no further one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsent<'a> {
    /// The outcome.
    pub outcome: Outcome,
    /// Why it is not sent.
    pub why: &'a str,
}

/// What was sent for an input that gets no further request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent<'a> {
    /// How often it was tried.
    pub attempts: u32,
    /// Where a redirect or a page led, which was not fetched.
    pub location: Option<&'a str>,
    /// The status of that redirect.
    pub redirect: Option<u16>,
    /// The number of the page, behind the first.
    pub page: Option<u32>,
    /// Whether a server acted on it, so that it must not be sent again.
    pub has_acted: bool,
}

/// The parts of a response that are recorded.
#[derive(Default)]
pub struct KeptResponse<'a> {
    /// How the input is recorded.
    pub outcome: Outcome,
    /// Whether the response is good.
    pub ok: bool,
    /// Names of headers, in lower case.
    pub headers: &'a [String],
    /// The length of the body.
    pub bytes: u64,
    /// Its digest, if that is recorded.
    pub digest: Option<blake3::Hash>,
    /// Its SHA-256, if that is recorded.
    pub sha256: Option<String>,
    /// Its MD5, if that is recorded.
    pub md5: Option<String>,
    /// Where the body is.
    pub body: Option<Body>,
    /// The values that were taken from it.
    pub taken: Map<String, Value>,
    /// The next page, if that is fetched.
    pub next: Option<Way>,
    /// Why it is not.
    pub why: Option<String>,
}

impl RecordWriter {
    /// A response.
    pub fn response(
        &mut self,
        out: &mut Vec<u8>,
        request: &TriedRequest<'_>,
        response: &Response,
        kept: KeptResponse<'_>,
    ) {
        let ending = Ending {
            outcome: kept.outcome,
            ok: Some(kept.ok),
            headers: kept.headers,
            bytes: Some(kept.bytes),
            digest: kept.digest,
            sha256: kept.sha256.as_deref(),
            md5: kept.md5.as_deref(),
            body: kept.body.as_ref(),
            taken: Some(&kept.taken),
            more: kept.next.is_some(),
            onward: kept.next.as_ref(),
            why: kept.why.as_deref(),
            validators: validators(request.rendered, response),
            ..of_response(request, response)
        };
        self.write(out, request, ending);
    }

    /// A response that has not changed since an earlier round, and whether it was good.
    pub fn unchanged(
        &mut self,
        out: &mut Vec<u8>,
        request: &TriedRequest<'_>,
        response: &Response,
        ok: bool,
    ) {
        let ending = Ending {
            outcome: Outcome::Unchanged,
            ok: Some(ok),
            bytes: None,
            ..of_response(request, response)
        };
        self.write(out, request, ending);
    }

    /// A redirect to a host of another part, which a later round follows.
    pub fn onward(
        &mut self,
        out: &mut Vec<u8>,
        request: &TriedRequest<'_>,
        response: &Response,
        way: &Way,
    ) {
        let ending = Ending {
            outcome: Outcome::Onward,
            ok: Some(false),
            onward: Some(way),
            bytes: None,
            ..of_response(request, response)
        };
        self.write(out, request, ending);
    }

    /// A failure.
    pub fn error(&mut self, out: &mut Vec<u8>, request: &TriedRequest<'_>, error: &Error) {
        let ending = Ending {
            failure: Some(Failed {
                kind: kind_name(error.kind()),
                phase: error.phase().name(),
                message: error.detail(),
            }),
            ..of_error(request, error, Outcome::Error)
        };
        self.write(out, request, ending);
    }

    /// A request of a method that must not be repeated, which failed after it was sent.
    pub fn unknown(&mut self, out: &mut Vec<u8>, request: &TriedRequest<'_>, error: &Error) {
        let why = format!("{}: {}", kind_name(error.kind()), error.detail());
        let ending = Ending {
            why: Some(&why),
            ..of_error(request, error, Outcome::Unknown)
        };
        self.write(out, request, ending);
    }

    /// A response that is of no use to a request of such a method, and why.
    pub fn acted(
        &mut self,
        out: &mut Vec<u8>,
        request: &TriedRequest<'_>,
        response: &Response,
        why: &str,
    ) {
        let ending = Ending {
            outcome: Outcome::Unknown,
            ok: Some(false),
            why: Some(why),
            sent: Some(true),
            bytes: None,
            ..of_response(request, response)
        };
        self.write(out, request, ending);
    }

    /// A response that is of no use, with the kind of error and why.
    pub fn refused(
        &mut self,
        out: &mut Vec<u8>,
        request: &TriedRequest<'_>,
        response: &Response,
        kind: &str,
        why: &str,
    ) {
        let ending = Ending {
            outcome: Outcome::Error,
            ok: Some(false),
            failure: Some(Failed {
                kind,
                phase: "read",
                message: why,
            }),
            sent: Some(true),
            bytes: None,
            ..of_response(request, response)
        };
        self.write(out, request, ending);
    }

    /// An input for which no request is sent, or no further one, and what was sent of it.
    pub fn unsent(
        &mut self,
        out: &mut Vec<u8>,
        planned: &Planned,
        rendered: Option<&Rendered<'_>>,
        unsent: Unsent<'_>,
        sent: &Sent<'_>,
    ) {
        let ending = Ending {
            why: Some(unsent.why),
            attempts: sent.attempts,
            location: sent.location,
            redirect: sent.redirect,
            page: sent.page,
            ..of(planned, rendered, unsent.outcome)
        };
        write(out, &ending);
    }

    /// Writes the line of a request with the time of its last try.
    fn write(&mut self, out: &mut Vec<u8>, request: &TriedRequest<'_>, ending: Ending<'_>) {
        let at = self.clock.text(request.tried.begun);
        write(out, &Ending { at, ..ending });
    }
}

/// The facts about a response before anything is decided about it.
pub fn of_response<'a>(request: &TriedRequest<'a>, response: &'a Response) -> Ending<'a> {
    Ending {
        ok: None,
        response: Some(response),
        bytes: Some(response.body().len() as u64),
        took: Some(response.elapsed()),
        attempt: response.attempts().last(),
        ..of_try(request, Outcome::Response)
    }
}

fn of_error<'a>(request: &TriedRequest<'a>, error: &'a Error, outcome: Outcome) -> Ending<'a> {
    Ending {
        sent: Some(error.sent()),
        took: Some(error.elapsed()),
        attempt: error.attempts().last(),
        ..of_try(request, outcome)
    }
}

fn of_try<'a>(request: &TriedRequest<'a>, outcome: Outcome) -> Ending<'a> {
    Ending {
        location: request.tried.location.as_deref(),
        page: request.tried.page,
        attempts: request.tried.attempts,
        ..of(request.planned, Some(request.rendered), outcome)
    }
}

/// The facts about every input.
fn of<'a>(
    planned: &'a Planned,
    rendered: Option<&'a Rendered<'_>>,
    outcome: Outcome,
) -> Ending<'a> {
    let columns = match &planned.held {
        Content::Columns(columns) => Some(&**columns),
        _ => None,
    };
    let url: &str = match (rendered, &planned.held) {
        (Some(rendered), _) => &rendered.url,
        (None, Content::Invalid(what)) => &what.0,
        (None, Content::Url(url)) => url,
        (None, Content::Columns(_)) => "",
    };
    Ending {
        number: planned.number,
        line: planned.line,
        columns,
        method: rendered.map_or("", |rendered| &rendered.method),
        url,
        outcome,
        ok: Some(false),
        ..Ending::default()
    }
}

/// The name of a kind of failure, as in the engine's documentation.
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::record::{Columns, Record};

    #[test]
    fn lines_written_by_hand_are_valid_records() {
        let mut columns = Columns::new();
        columns.insert("a \"b\"".into(), "line\nbreak \u{1} ü".into());
        let planned = Planned {
            number: 7,
            line: 9,
            held: Content::Columns(Box::new(columns.clone())),
            earlier: None,
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
            &planned,
            Some(&rendered),
            Unsent {
                outcome: Outcome::Skipped,
                why: "duplicate",
            },
            &Sent::default(),
        );
        let record: Record = serde_json::from_slice(&out).unwrap();
        assert_eq!((record.n, record.line, &record.columns), (7, 9, &columns));
        assert_eq!((&*record.url, &*record.method), ("http://h/?q=\"\\", "GET"));
        assert_eq!(
            (record.outcome, record.why.as_deref()),
            (Outcome::Skipped, Some("duplicate"))
        );
    }
}
