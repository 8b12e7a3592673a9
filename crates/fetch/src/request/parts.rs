//! A text of a request: the same for all inputs, or made of their columns.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::record::Columns;
use crate::template::{Escaping, Template};

/// A text of a request.
pub enum Text {
    /// One text for all inputs.
    Constant(String),
    /// Made of the columns of each input.
    Made(Template),
}

impl Text {
    /// Reads a text that may name these columns.
    ///
    /// # Errors
    /// When the text names another column.
    pub fn parse(text: &str, escaping: Escaping, columns: &[String]) -> Result<Text> {
        let template = Template::parse(text, escaping, columns);
        let template = template.map_err(Error::usage)?;
        if template.columns().next().is_some() {
            return Ok(Text::Made(template));
        }
        let constant = template.fill(&Columns::new());
        constant.map(Text::Constant).map_err(Error::usage)
    }

    /// The text if it is the same for all inputs, else an empty string.
    pub fn constant(&self) -> Cow<'_, str> {
        match self {
            Text::Constant(text) => Cow::Borrowed(text),
            Text::Made(_) => Cow::Borrowed(""),
        }
    }

    /// The text for these columns.
    ///
    /// # Errors
    /// When the columns cannot be filled in; the text says why.
    pub fn fill<'a>(&'a self, columns: &Columns) -> std::result::Result<Cow<'a, str>, String> {
        match self {
            Text::Constant(text) => Ok(Cow::Borrowed(text)),
            Text::Made(template) => {
                let filled = template.fill(columns).map_err(|error| error.to_string())?;
                Ok(Cow::Owned(filled))
            }
        }
    }
}
