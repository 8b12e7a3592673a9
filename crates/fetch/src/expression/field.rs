//! The fields that expressions can name.

use crate::record::Outcome;

use super::value::Literal;

/// A field of a response or a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// `status`
    Status,
    /// `error`: the kind of error; bare, whether there is one.
    Error,
    /// `phase`: the phase in which it happened.
    Phase,
    /// `message`: the error in a sentence.
    Message,
    /// `outcome`
    Outcome,
    /// `ok`
    Ok,
    /// `sent`
    Sent,
    /// `why`: why it was skipped.
    Why,
    /// `attempts`
    Attempts,
    /// `n`: the number of the input.
    Number,
    /// `line`: the line of the input.
    Line,
    /// `ms`, `ms.resolve`, `ms.connect`, `ms.tls`, `ms.wait`, `ms.read`: milliseconds.
    Ms(Timed),
    /// `bytes`: the length of the body.
    Bytes,
    /// `method`
    Method,
    /// `url`
    Url,
    /// `location`: where a redirect led.
    Location,
    /// `host`: the canonical host, with its port unless that is the usual one.
    Host,
    /// `header.NAME`, in lower case.
    Header(String),
    /// `column.NAME`: a column of the input.
    Column(String),
    /// `taken.NAME`: what `--take` took.
    Taken(String),
    /// `body`
    Body,
    /// `json:/pointer`: a part of a body of JSON.
    Json(String),
}

/// What took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timed {
    /// All of it.
    Total,
    /// Turning the name into addresses.
    Resolve,
    /// Opening the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Waiting for the response.
    Wait,
    /// Reading the body.
    Read,
}

pub(super) const TIMED: [(&str, Timed); 5] = [
    ("resolve", Timed::Resolve),
    ("connect", Timed::Connect),
    ("tls", Timed::Tls),
    ("wait", Timed::Wait),
    ("read", Timed::Read),
];

/// Fields that are a word alone.
pub(super) const WORDS: [(&str, Field); 18] = [
    ("status", Field::Status),
    ("error", Field::Error),
    ("phase", Field::Phase),
    ("message", Field::Message),
    ("outcome", Field::Outcome),
    ("ok", Field::Ok),
    ("sent", Field::Sent),
    ("why", Field::Why),
    ("attempts", Field::Attempts),
    ("n", Field::Number),
    ("line", Field::Line),
    ("ms", Field::Ms(Timed::Total)),
    ("bytes", Field::Bytes),
    ("method", Field::Method),
    ("url", Field::Url),
    ("location", Field::Location),
    ("host", Field::Host),
    ("body", Field::Body),
];

impl Field {
    /// Names whose letters' case says nothing.
    pub(super) fn ignores_case(&self) -> bool {
        matches!(self, Field::Method | Field::Host)
    }

    /// Why this field cannot be compared with this value.
    pub(super) fn objection(&self, literal: &Literal) -> Option<String> {
        match (self, literal) {
            (Field::Ok | Field::Sent, Literal::Bool(_)) => None,
            (Field::Ok | Field::Sent, _) => Some("true or false".to_owned()),
            (field, Literal::Number(_)) if field.is_number() => None,
            (field, _) if field.is_number() => Some("a number".to_owned()),
            (Field::Outcome, literal) => {
                let known = Outcome::ALL.map(|outcome| format!("'{}'", outcome.name()));
                let is_one = matches!(literal, Literal::Text(text) if Outcome::ALL.iter().any(|it| it.name() == text));
                (!is_one).then(|| format!("one of {}", known.join(", ")))
            }
            _ => None,
        }
    }

    /// Whether `contains` and `matches` make sense.
    pub(super) fn is_text(&self) -> bool {
        !matches!(self, Field::Ok | Field::Sent)
    }

    fn is_number(&self) -> bool {
        matches!(
            self,
            Field::Status
                | Field::Attempts
                | Field::Number
                | Field::Line
                | Field::Ms(_)
                | Field::Bytes
        )
    }
}
