//! The fields of a response that has just come, for `--check`.

use hecaton::Response;

use crate::expression::{Facts, Field, Value, pointer};
use crate::host::Host;
use crate::plan::{Content, Planned};
use crate::record::{Ending, URL, header};

/// A response that has just come.
pub struct ResponseFacts<'a> {
    pub planned: &'a Planned,
    pub ending: &'a Ending<'a>,
    pub response: &'a Response,
    pub taken: &'a serde_json::Map<String, serde_json::Value>,
}

impl Facts for ResponseFacts<'_> {
    fn field(&self, field: &Field) -> Option<Value<'_>> {
        match field {
            Field::Named(name) => Value::of_cell((name.now)(self.ending)),
            Field::Host => {
                let host = Host::of(self.ending.url).ok()?;
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
            Field::Taken(name) => self.taken.get(name).and_then(Value::of_json),
        }
    }

    fn unknown(&self, field: &Field) -> Option<String> {
        match field {
            Field::Json(path) => pointer::exactly_at(self.response.body(), path).err(),
            _ => None,
        }
    }
}

fn text(text: &str) -> Option<Value<'_>> {
    Some(Value::Text(text.into()))
}
