//! Lists of any length → inputs with their numbers and lines, one by one in flat memory.
//!
//! A bad line becomes a [`Bad`] entry and never ends the list. `source` opens and decompresses. `lines`, `plain`,
//! `objects`, `table` and `parquet` read one format each. `column_names` keeps their columns, and `sitemap` reads
//! sitemaps.

use std::io;

use crate::record::Columns;

use column_names::ColumnNames;

mod column_names;
mod lines;
mod objects;
#[cfg(feature = "parquet")]
mod parquet;
mod plain;
pub mod sitemap;
mod source;
mod table;

pub use source::{Format, Source};

/// Longest line or row, in bytes.
pub const LONGEST: usize = 1 << 20;

/// Longest beginning of a bad line that is recorded, in bytes.
const EXCERPT: usize = 200;

/// A line or row of a list, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// From 0 over all lists.
    pub number: u64,
    /// From 1 in its file.
    pub line: u64,
    /// Its columns, or why it is no input. In that case it becomes a record with the outcome `invalid`.
    pub held: Held,
}

/// The columns of a line or row, or why it is no input.
pub type Held = Result<Columns, Bad>;

impl Entry {
    /// The same with another number.
    #[must_use]
    pub fn numbered(self, number: u64) -> Entry {
        Entry { number, ..self }
    }
}

/// Why a list cannot be read: a sentence that names the list.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InputError(pub(crate) String);

/// A line of a list, or a row of a table.
struct Row {
    line: u64,
    held: Held,
}

/// A line or row that is no input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// How it begins.
    pub text: String,
    /// The reason.
    pub reason: String,
}

impl Bad {
    fn new(text: &[u8], reason: impl Into<String>) -> Bad {
        let text = &text[..text.len().min(EXCERPT)];
        Bad {
            text: String::from_utf8_lossy(text).into_owned(),
            reason: reason.into(),
        }
    }
}

/// A list in one of the formats.
trait Rows: Send {
    /// The columns, as far as they are known.
    fn columns(&self) -> &[String];

    /// Whether each row has columns of its own, so that more may come.
    fn may_have_more(&self) -> bool {
        false
    }

    /// Whether no row has this column.
    fn lacks(&self, column: &String) -> bool {
        !self.may_have_more() && !self.columns().contains(column)
    }

    /// The next row.
    fn next(&mut self) -> io::Result<Option<Row>>;
}

/// The inputs of one or more lists, in order.
pub struct Inputs {
    waiting: std::vec::IntoIter<Source>,
    form: Option<Format>,
    name: String,
    rows: Box<dyn Rows>,
    /// The columns at the beginning of the first list.
    columns: Vec<String>,
    /// The columns of all lists that were read to their end.
    seen: ColumnNames,
    number: u64,
    position: usize,
    over: bool,
}

impl Inputs {
    /// Opens lists of this format. Without it, the name and the first bytes of each list say its format.
    pub fn open(sources: Vec<Source>, form: Option<Format>) -> Result<Inputs, InputError> {
        let mut waiting = sources.into_iter();
        let first = waiting.next().ok_or_else(|| {
            InputError("no list of URLs is given: name a file, or - for standard input".to_owned())
        })?;
        let (name, rows) = first.rows(form)?;
        Ok(Inputs {
            waiting,
            form,
            name,
            columns: rows.columns().to_vec(),
            rows,
            seen: ColumnNames::default(),
            number: 0,
            position: 0,
            over: false,
        })
    }

    /// The columns that templates may name.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Whether all columns are known before all rows are read.
    pub fn knows_columns(&self) -> bool {
        self.waiting.as_slice().is_empty() && !self.rows.may_have_more()
    }

    /// The columns of all lists, once they are read.
    pub fn seen_columns(&self) -> &[String] {
        self.seen.list()
    }

    /// The number of the list that the last input came from, from 0.
    pub fn list_number(&self) -> usize {
        self.position
    }

    fn following(&mut self) -> Result<Option<Entry>, InputError> {
        loop {
            let next = self.rows.next();
            let next = next.map_err(|error| InputError(format!("{}: {error}", self.name)))?;
            if let Some(row) = next {
                return Ok(Some(self.numbered(row)));
            }
            self.seen.note(self.rows.columns());
            let Some(source) = self.waiting.next() else {
                return Ok(None);
            };
            self.change_to(source)?;
        }
    }

    fn change_to(&mut self, source: Source) -> Result<(), InputError> {
        let (name, rows) = source.rows(self.form)?;
        let missing = self.columns.iter().find(|column| rows.lacks(column));
        if let Some(missing) = missing {
            let first = &self.name;
            let why = format!(
                "{name}: has no column {missing:?}, which {first} has: give lists of the same columns"
            );
            return Err(InputError(why));
        }
        (self.name, self.rows) = (name, rows);
        self.position += 1;
        Ok(())
    }

    fn numbered(&mut self, row: Row) -> Entry {
        self.number += 1;
        Entry {
            number: self.number - 1,
            line: row.line,
            held: row.held,
        }
    }
}

impl Iterator for Inputs {
    type Item = Result<Entry, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.following();
        self.over = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

#[cfg(test)]
mod tests;
