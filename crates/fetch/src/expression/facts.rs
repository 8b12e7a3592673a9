//! The fields of a written record, for expressions.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::{Facts, Field, Value, pointer};
use crate::host::Host;
use crate::record::{Body, Cell, Record, URL};

impl Facts for Record {
    fn field(&self, field: &Field) -> Option<Value<'_>> {
        match field {
            Field::Named(name) => Value::of_cell((name.read)(self)),
            Field::Host => {
                let host = Host::of(&self.url).ok()?;
                Some(Value::Text(host.into_owned().into()))
            }
            Field::Header(name) => self.headers.get(name).map(|value| text(value)),
            Field::Column(name) => match self.columns.get(name) {
                Some(value) => Some(text(value)),
                None if self.columns.is_empty() && name == URL => {
                    Value::of_cell(Cell::from(&*self.url))
                }
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

/// A body that is in the record itself.
fn body(body: &Body) -> Option<Value<'_>> {
    match body {
        Body::Text { text, .. } => Some(Value::Text(text.into())),
        Body::Base64 { base64, .. } => {
            let bytes = BASE64_STANDARD.decode(base64).ok()?;
            Some(Value::Text(
                String::from_utf8_lossy(&bytes).into_owned().into(),
            ))
        }
        _ => None,
    }
}
