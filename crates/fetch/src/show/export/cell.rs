//! One value of a table, and where in a record it is.

use std::borrow::Cow;

use serde_json::Value;

use crate::record::{Body, Elapsed, Record};

/// One value of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Nothing,
    Bool(bool),
    Integer(i64),
    Number(f64),
    Text(Cow<'a, str>),
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Integer,
    Number,
    /// RFC 3339.
    Time,
    Text,
}

/// Where in a record a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CellSource {
    Fixed(usize),
    Column(String),
    Header(String),
    Taken(String),
    Body(usize),
}

pub(super) type ReadCell = fn(&Record) -> Cell<'_>;

/// The fields that every record has, or may have.
pub(super) const FIXED: [(&str, Kind, ReadCell); 22] = [
    ("n", Kind::Integer, |it| integer(it.n)),
    ("line", Kind::Integer, |it| integer(it.line)),
    ("method", Kind::Text, |it| text(&it.method)),
    ("url", Kind::Text, |it| text(&it.url)),
    ("location", Kind::Text, |it| optional(it.location.as_ref())),
    ("outcome", Kind::Text, |it| text(it.outcome.name())),
    ("ok", Kind::Bool, |it| Cell::Bool(it.ok)),
    ("status", Kind::Integer, |it| {
        it.status
            .map_or(Cell::Nothing, |status| Cell::Integer(status.into()))
    }),
    ("error", Kind::Text, |it| {
        it.error
            .as_ref()
            .map_or(Cell::Nothing, |error| text(&error.kind))
    }),
    ("phase", Kind::Text, |it| {
        it.error
            .as_ref()
            .map_or(Cell::Nothing, |error| optional(error.phase.as_ref()))
    }),
    ("message", Kind::Text, |it| {
        it.error
            .as_ref()
            .map_or(Cell::Nothing, |error| text(&error.message))
    }),
    ("why", Kind::Text, |it| optional(it.why.as_ref())),
    ("sent", Kind::Bool, |it| {
        it.sent.map_or(Cell::Nothing, Cell::Bool)
    }),
    ("attempts", Kind::Integer, |it| {
        Cell::Integer(it.attempts.into())
    }),
    ("at", Kind::Time, |it| text(&it.at)),
    ("ms", Kind::Number, |it| time(it, |ms| ms.total)),
    ("ms_resolve", Kind::Number, |it| time(it, |ms| ms.resolve)),
    ("ms_connect", Kind::Number, |it| time(it, |ms| ms.connect)),
    ("ms_tls", Kind::Number, |it| time(it, |ms| ms.tls)),
    ("ms_wait", Kind::Number, |it| time(it, |ms| ms.wait)),
    ("ms_read", Kind::Number, |it| time(it, |ms| ms.read)),
    ("bytes", Kind::Integer, |it| {
        it.bytes.map_or(Cell::Nothing, integer)
    }),
];

/// Behind the others: the digest, and the body or where it is.
pub(super) const BODY: [(&str, Kind, ReadCell); 5] = [
    ("hash", Kind::Text, |it| optional(it.hash.as_ref())),
    ("body", Kind::Text, |it| match &it.body {
        Some(Body::Text { text }) => Cell::Text(text.into()),
        _ => Cell::Nothing,
    }),
    ("body_base64", Kind::Text, |it| match &it.body {
        Some(Body::Base64 { base64 }) => Cell::Text(base64.into()),
        _ => Cell::Nothing,
    }),
    ("body_file", Kind::Text, |it| match &it.body {
        Some(Body::File { file } | Body::Warc { warc: file, .. } | Body::Tar { tar: file, .. }) => {
            Cell::Text(file.into())
        }
        _ => Cell::Nothing,
    }),
    ("body_at", Kind::Text, |it| match &it.body {
        Some(Body::Warc { offset, .. }) => Cell::Text(offset.to_string().into()),
        Some(Body::Tar { name, .. }) => Cell::Text(name.into()),
        _ => Cell::Nothing,
    }),
];

impl CellSource {
    pub(super) fn of<'a>(&self, record: &'a Record) -> Cell<'a> {
        match self {
            CellSource::Fixed(index) => FIXED[*index].2(record),
            CellSource::Body(index) => BODY[*index].2(record),
            CellSource::Column(name) => record
                .columns
                .get(name)
                .map_or(Cell::Nothing, |value| Cell::Text(value.into())),
            CellSource::Header(name) => record
                .headers
                .get(name)
                .map_or(Cell::Nothing, |value| Cell::Text(value.into())),
            CellSource::Taken(name) => record.taken.get(name).map_or(Cell::Nothing, of_json),
        }
    }
}

/// A value that was taken: texts as they are, lists and objects as JSON.
pub(super) fn of_json(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Nothing,
        Value::Bool(truth) => Cell::Bool(*truth),
        Value::String(text) => Cell::Text(text.into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Cell::Integer(integer),
            (None, Some(float)) if number.is_f64() => Cell::Number(float),
            _ => Cell::Text(number.to_string().into()),
        },
        other => Cell::Text(other.to_string().into()),
    }
}

impl Cell<'_> {
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Cell::Nothing => None,
            Cell::Bool(_) => Some(Kind::Bool),
            Cell::Integer(_) => Some(Kind::Integer),
            Cell::Number(_) => Some(Kind::Number),
            Cell::Text(_) => Some(Kind::Text),
        }
    }

    /// Empty for nothing.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Nothing => "".into(),
            Cell::Bool(truth) => truth.to_string().into(),
            Cell::Integer(integer) => integer.to_string().into(),
            Cell::Number(number) => number.to_string().into(),
            Cell::Text(text) => text.as_ref().into(),
        }
    }
}

impl Kind {
    /// The kind of a column that holds both.
    pub(super) fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (one, other) if one == other => one,
            (Kind::Integer, Kind::Number) | (Kind::Number, Kind::Integer) => Kind::Number,
            _ => Kind::Text,
        }
    }
}

fn integer(count: u64) -> Cell<'static> {
    Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn text(text: &str) -> Cell<'_> {
    match text {
        "" => Cell::Nothing,
        text => Cell::Text(text.into()),
    }
}

fn optional(it: Option<&String>) -> Cell<'_> {
    it.map_or(Cell::Nothing, |it| text(it))
}

/// A phase that took no time was not gone through.
fn time(record: &Record, of: fn(&Elapsed) -> f64) -> Cell<'_> {
    match of(&record.ms) {
        0.0 => Cell::Nothing,
        ms => Cell::Number(ms),
    }
}
