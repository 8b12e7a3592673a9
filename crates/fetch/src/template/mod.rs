//! `https://x/{sku}` and a row of columns → a URL, a header or a body.
//!
//! A name in braces is a column; a name that is none is refused when the template is read, before anything is sent. Values
//! are written as the place needs it, so that no value can become more than a value. `{{sku}}` is the text `{sku}`; any other
//! brace is itself.

use std::fmt;

use crate::record::{Columns, listed};

mod parse;
mod write;

/// What a template is for, which decides how values are written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A URL: percent-encoded, but a column that the template begins with is a URL itself.
    Url,
    /// A method or a header: as they are; one with a line end or another control character is refused.
    Header,
    /// A body: as they are.
    Text,
    /// A body of JSON: escaped as inside of a JSON string.
    Json,
    /// A body as forms send it: percent-encoded.
    Form,
}

impl Place {
    /// The place for a body of this type, or, without a type, that looks like this.
    pub fn of_body(content_type: Option<&str>, template: &str) -> Place {
        let essence = content_type.map(|it| it.split(';').next().unwrap_or_default().trim());
        match essence.map(str::to_ascii_lowercase).as_deref() {
            Some(it) if it.ends_with("/json") || it.ends_with("+json") => Place::Json,
            Some("application/x-www-form-urlencoded") => Place::Form,
            Some(_) => Place::Text,
            None if template.trim_start().starts_with(['{', '[']) => Place::Json,
            None => Place::Text,
        }
    }
}

/// A text with columns in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    place: Place,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// A column, and whether it goes in as it is.
    Column(String, bool),
}

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError(String);

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TemplateError {}

/// Why a row does not fill a template; the row is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfilled(String);

impl fmt::Display for Unfilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unfilled {}

impl Template {
    /// Reads a template whose columns must be among these.
    pub fn parse<S: AsRef<str>>(
        text: &str,
        place: Place,
        columns: &[S],
    ) -> Result<Template, TemplateError> {
        let parts = parse::parts(text);
        for part in &parts {
            if let Part::Column(name, _) = part
                && !columns.iter().any(|column| column.as_ref() == name)
            {
                return Err(unknown(text, name, columns));
            }
        }
        Ok(Template { place, parts })
    }

    /// The columns that it names, in order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(name, _) => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The text for this row.
    pub fn fill(&self, columns: &Columns) -> Result<String, Unfilled> {
        let mut text = String::new();
        self.fill_into(columns, &mut text)?;
        Ok(text)
    }

    /// Appends the text for this row.
    pub fn fill_into(&self, columns: &Columns, text: &mut String) -> Result<(), Unfilled> {
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Column(name, raw) => {
                    let value = columns
                        .get(name)
                        .ok_or_else(|| Unfilled(format!("has no column {name:?}")))?;
                    let raw = *raw || (index == 0 && self.place == Place::Url);
                    write::value(value, self.place, raw, text)
                        .map_err(|why| Unfilled(format!("column {name:?} {why}")))?;
                }
            }
        }
        Ok(())
    }
}

fn unknown<S: AsRef<str>>(text: &str, name: &str, columns: &[S]) -> TemplateError {
    let known = listed(columns);
    TemplateError(format!(
        "the template {text:?} names the column {name:?}, which the input does not have: it has {known}; for the text itself write {{{{{name}}}}}"
    ))
}

#[cfg(test)]
mod tests;
