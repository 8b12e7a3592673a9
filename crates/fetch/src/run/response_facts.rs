//! The fields of a response that has just come, for `--check`.

use std::borrow::Cow;

use hecaton::{Attempt, Response};

use super::line::{Tried, header};
use crate::expression::{Facts, Field, Timed, Value, pointer};
use crate::host::Host;
use crate::plan::{Content, Planned};
use crate::record::URL;
use crate::request::Rendered;

/// A response that has just come.
pub struct ResponseFacts<'a> {
    pub planned: &'a Planned,
    pub rendered: &'a Rendered<'a>,
    pub tried: &'a Tried,
    pub response: &'a Response,
    pub taken: &'a serde_json::Map<String, serde_json::Value>,
}

impl Facts for ResponseFacts<'_> {
    fn field(&self, field: &Field) -> Option<Value<'_>> {
        let number = |number: u64| Some(Value::Number(number as f64));
        match field {
            Field::Status => number(self.response.status().into()),
            Field::Outcome => text("response"),
            Field::Sent => Some(Value::Bool(true)),
            Field::Attempts => number(self.tried.attempts.into()),
            Field::Number => number(self.planned.number),
            Field::Line => number(self.planned.line),
            Field::Bytes => number(self.response.body().len() as u64),
            Field::Method => text(&self.rendered.method),
            Field::Url => text(&self.rendered.url),
            Field::Location => text(self.tried.location.as_deref()?),
            Field::Host => {
                let host = Host::of(&self.rendered.url).ok()?;
                Some(Value::Text(host.into_owned().into()))
            }
            Field::Header(name) => Some(Value::Text(header(self.response, name)?)),
            Field::Column(name) => match &self.planned.held {
                Content::Url(url) if name == URL => text(url),
                Content::Columns(columns) => text(columns.get(name)?),
                _ => None,
            },
            Field::Body => Some(Value::Text(String::from_utf8_lossy(self.response.body()))),
            Field::Json(path) => {
                let part = pointer::at(self.response.body(), path)?;
                Value::of_json(&part).map(Value::into_owned)
            }
            Field::Ms(timed) => self.milliseconds(*timed),
            Field::Taken(name) => self.taken.get(name).and_then(Value::of_json),
            Field::Error | Field::Phase | Field::Message | Field::Ok | Field::Why => None,
        }
    }
}

impl ResponseFacts<'_> {
    fn milliseconds(&self, timed: Timed) -> Option<Value<'static>> {
        let of = |phase: fn(&Attempt) -> Option<std::time::Duration>| {
            self.response
                .attempts()
                .last()
                .and_then(phase)
                .unwrap_or_default()
        };
        let time = match timed {
            Timed::Total => self.response.elapsed(),
            Timed::Resolve => of(|attempt| attempt.resolve),
            Timed::Connect => of(|attempt| attempt.connect),
            Timed::Tls => of(|attempt| attempt.tls),
            Timed::Wait => of(|attempt| attempt.first_byte),
            Timed::Read => of(|attempt| attempt.read),
        };
        Some(Value::Number(time.as_secs_f64() * 1e3))
    }
}

fn text(text: &str) -> Option<Value<'_>> {
    Some(Value::Text(Cow::Borrowed(text)))
}
