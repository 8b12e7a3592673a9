//! Turns outcomes into lines of the results: collects the facts of each outcome for `record::write`.

use std::borrow::Cow;
use std::time::SystemTime;

use hecaton::{Error, Response};

use super::instants::Clock;
use crate::plan::{Content, Planned, Way};
use crate::record::{Ending, Failed, Outcome, write};
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
    /// Where redirects or pages led, refused ones included.
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
    /// Where redirects or pages led.
    pub location: Option<&'a str>,
    /// The status of that redirect.
    pub redirect: Option<u16>,
    /// The number of the page, behind the first.
    pub page: Option<u32>,
    /// Whether a server acted on it, so that it must not be sent again.
    pub has_acted: bool,
}

impl RecordWriter {
    /// Writes the line of a request with the time of its last try.
    pub fn tried(&mut self, out: &mut Vec<u8>, request: &TriedRequest<'_>, ending: Ending<'_>) {
        let at = self.clock.text(request.tried.begun);
        write(out, &Ending { at, ..ending });
    }

    /// Writes the line of an input for which no request is sent, or no further one, and what was sent of it.
    pub fn unsent(
        &mut self,
        out: &mut Vec<u8>,
        planned: &Planned,
        rendered: Option<&Rendered<'_>>,
        unsent: Unsent<'_>,
        sent: &Sent<'_>,
    ) {
        let ending = Ending {
            why: Some(unsent.why.into()),
            attempts: sent.attempts,
            location: sent.location,
            redirect: sent.redirect,
            page: sent.page,
            ..of(planned, rendered, unsent.outcome)
        };
        write(out, &ending);
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

/// A response whose body is not recorded.
pub fn without_body<'a>(
    request: &TriedRequest<'a>,
    response: &'a Response,
    outcome: Outcome,
    ok: bool,
) -> Ending<'a> {
    Ending {
        outcome,
        ok: Some(ok),
        bytes: None,
        ..of_response(request, response)
    }
}

/// A redirect or a page to a host of another part. It waits for the round that follows all parts (`again::onward`).
pub fn onward<'a>(request: &TriedRequest<'a>, response: &'a Response, way: &'a Way) -> Ending<'a> {
    Ending {
        onward: Some(way),
        ..without_body(request, response, Outcome::Onward, false)
    }
}

/// A response that is of no use, with the kind of error and why. Where a server may have acted on its request, that is
/// no error, because `again` sends errors by default.
pub fn of_no_use<'a>(
    request: &TriedRequest<'a>,
    response: &'a Response,
    outcome: Outcome,
    kind: &'a str,
    why: Cow<'a, str>,
) -> Ending<'a> {
    Ending {
        sent: Some(true),
        ..failed(
            without_body(request, response, outcome, false),
            Failed {
                kind,
                phase: "read",
                message: why,
            },
        )
    }
}

/// A request without a response.
pub fn of_error<'a>(request: &TriedRequest<'a>, error: &'a Error, outcome: Outcome) -> Ending<'a> {
    let ending = Ending {
        sent: Some(error.sent()),
        took: Some(error.elapsed()),
        attempt: error.attempts().last(),
        ..of_try(request, outcome)
    };
    let failure = Failed {
        kind: kind_name(error.kind()),
        phase: error.phase().name(),
        message: error.detail().into(),
    };
    failed(ending, failure)
}

/// Says what failed: as an error, or as why nobody knows whether the request was acted on.
fn failed<'a>(ending: Ending<'a>, failure: Failed<'a>) -> Ending<'a> {
    match ending.outcome {
        Outcome::Error => Ending {
            failure: Some(failure),
            ..ending
        },
        _ => Ending {
            why: Some(format!("{}: {}", failure.kind, failure.message).into()),
            ..ending
        },
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
