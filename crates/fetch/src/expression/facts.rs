//! The fields of a written record, for expressions.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::field::Timed;
use super::{Facts, Field, Value, pointer};
use crate::host::Host;
use crate::record::{Body, Elapsed, Record, URL};

impl Facts for Record {
    fn field(&self, field: &Field) -> Option<Value<'_>> {
        let error = self.error.as_ref();
        match field {
            Field::Status => self.status.map(|status| Value::Number(status.into())),
            Field::Error => error.map(|error| text(&error.kind)),
            Field::Phase => error.and_then(|error| error.phase.as_deref()).map(text),
            Field::Message => error.map(|error| text(&error.message)),
            Field::Outcome => Some(text(self.outcome.name())),
            Field::Ok => Some(Value::Bool(self.ok)),
            Field::Sent => self.sent.map(Value::Bool),
            Field::Why => self.why.as_deref().map(text),
            Field::Attempts => Some(Value::Number(self.attempts.into())),
            Field::Number => Some(number(self.n)),
            Field::Line => Some(number(self.line)),
            Field::Ms(timed) => milliseconds(&self.ms, *timed).map(Value::Number),
            Field::Bytes => self.bytes.map(number),
            Field::Method => some_text(&self.method),
            Field::Url => some_text(&self.url),
            Field::Location => self.location.as_deref().map(text),
            Field::Host => {
                let host = Host::of(&self.url).ok()?;
                Some(Value::Text(host.into_owned().into()))
            }
            Field::Header(name) => self.headers.get(name).map(|value| text(value)),
            Field::Column(name) => match self.columns.get(name) {
                Some(value) => Some(text(value)),
                None if self.columns.is_empty() && name == URL => some_text(&self.url),
                None => None,
            },
            Field::Taken(name) => self.taken.get(name).and_then(Value::of_json),
            Field::Body => body(self.body.as_ref()?),
            Field::Json(path) => {
                let Value::Text(body) = body(self.body.as_ref()?)? else {
                    return None;
                };
                Value::of_json(&pointer::at(body.as_bytes(), path)?).map(Value::into_owned)
            }
        }
    }
}

fn text(text: &str) -> Value<'_> {
    Value::Text(text.into())
}

fn some_text(it: &str) -> Option<Value<'_>> {
    (!it.is_empty()).then(|| text(it))
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn number(count: u64) -> Value<'static> {
    Value::Number(count as f64)
}

fn milliseconds(ms: &Elapsed, timed: Timed) -> Option<f64> {
    let value = match timed {
        Timed::Total => ms.total,
        Timed::Resolve => ms.resolve,
        Timed::Connect => ms.connect,
        Timed::Tls => ms.tls,
        Timed::Wait => ms.wait,
        Timed::Read => ms.read,
    };
    (*ms != Elapsed::default()).then_some(value)
}

/// A body that is in the record itself.
fn body(body: &Body) -> Option<Value<'_>> {
    match body {
        Body::Text { text } => Some(Value::Text(text.into())),
        Body::Base64 { base64 } => {
            let bytes = BASE64_STANDARD.decode(base64).ok()?;
            Some(Value::Text(
                String::from_utf8_lossy(&bytes).into_owned().into(),
            ))
        }
        _ => None,
    }
}
