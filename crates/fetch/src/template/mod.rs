//! `https://x/{sku}` and a row of columns → a URL, a header or a body.
//!
//! A name in braces is a column; an unknown name is refused when the template is read, before anything is sent.
//! Values are escaped for their context, so that no value can become more than a value: `escape` does that, and `place`
//! refuses values that mean something else where they stand. `{{sku}}` is the text `{sku}`; any other brace is itself.

mod escape;
mod parse;
mod place;

pub use self::escape::Escaping;
use self::parse::{Fragment, Manner};
use crate::record::{Columns, listed};

/// A text with columns in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    escaping: Escaping,
    parts: Vec<Fragment>,
}

/// A template that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(String);

/// Why a row does not fill a template; the row is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfilled(String);

impl Template {
    /// Reads a template whose columns must be among these.
    pub fn parse<S: AsRef<str>>(
        text: &str,
        escaping: Escaping,
        columns: &[S],
    ) -> Result<Template, TemplateError> {
        let parts = parse::parts(text);
        for part in &parts {
            if let Fragment::Column(name, _) = part
                && !columns.iter().any(|column| column.as_ref() == name)
            {
                return Err(unknown(text, name, columns));
            }
        }
        Ok(Template { escaping, parts })
    }

    /// The columns that a text names, in order, whether an input has them or not.
    pub fn columns_in(text: &str) -> Vec<String> {
        let parts = parse::parts(text).into_iter();
        let names = parts.filter_map(|part| match part {
            Fragment::Column(name, _) => Some(name),
            Fragment::Text(_) => None,
        });
        names.collect()
    }

    /// The columns that it names, in order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Fragment::Column(name, _) => Some(name.as_str()),
            Fragment::Text(_) => None,
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
        let begin = text.len();
        let (mut in_quotes, mut filled) = (false, Vec::new());
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Fragment::Text(part) => {
                    text.push_str(part);
                    in_quotes = place::is_in_quotes(in_quotes, part);
                }
                Fragment::Column(name, manner) => {
                    let value = columns
                        .get(name)
                        .ok_or_else(|| Unfilled(format!("has no column {name:?}")))?;
                    let refused = |why| Unfilled(format!("column {name:?} {why}"));
                    let is_first = index == 0 && self.escaping == Escaping::Url;
                    // A text that begins with a column only looks like JSON.
                    let is_json = self.escaping == Escaping::Json && !in_quotes && index > 0;
                    let raw = *manner == Manner::Raw || is_first || is_json;
                    if is_json && *manner != Manner::Raw {
                        place::check_json(value).map_err(refused)?;
                    }
                    let from = text.len() - begin;
                    escape::value(value, self.escaping, raw, text).map_err(refused)?;
                    filled.push((name, *manner, from..text.len() - begin));
                }
            }
        }
        if self.escaping == Escaping::Url {
            for (name, manner, range) in filled {
                place::check_url(&text[begin..], manner, range)
                    .map_err(|why| Unfilled(format!("column {name:?} {why}")))?;
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
