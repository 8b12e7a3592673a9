//! JSON lines: each is an object whose members are the columns, or a string that is the URL.

use std::io::{self, Read};

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::column_names::ColumnNames;
use super::lines::{Line, LineReader};
use super::plain::{only_url, text, too_long};
use super::{Bad, Row, Rows};
use crate::record::Columns;

/// Reads one input from each line, and skips empty lines.
pub(super) struct Objects<R> {
    lines: LineReader<R>,
    /// The columns of the rows so far.
    columns: ColumnNames,
    /// Rows that were read ahead to learn the columns.
    read: std::collections::VecDeque<Row>,
}

/// Most lines that are read ahead to find the first good one.
const AHEAD: usize = 100;

impl<R: Read> Objects<R> {
    pub(super) fn new(reader: R) -> io::Result<Objects<R>> {
        let mut objects = Objects {
            lines: LineReader::new(reader),
            columns: ColumnNames::default(),
            read: Default::default(),
        };
        while objects.read.len() < AHEAD {
            let Some(row) = objects.row()? else {
                break;
            };
            let good = row.held.is_ok();
            objects.read.push_back(row);
            if good {
                break;
            }
        }
        Ok(objects)
    }

    fn row(&mut self) -> io::Result<Option<Row>> {
        while let Some((line, found)) = self.lines.next()? {
            let held = match found {
                Line::Whole(text) => match text.trim_ascii() {
                    b"" => continue,
                    text => columns(text),
                },
                Line::TooLong(beginning) => Err(too_long(&beginning)),
            };
            if let Ok(columns) = &held {
                self.columns.note(columns.keys());
            }
            return Ok(Some(Row { line, held }));
        }
        Ok(None)
    }
}

impl<R: Read + Send> Rows for Objects<R> {
    fn columns(&self) -> &[String] {
        self.columns.list()
    }

    fn may_have_more(&self) -> bool {
        true
    }

    fn next(&mut self) -> io::Result<Option<Row>> {
        match self.read.pop_front() {
            Some(row) => Ok(Some(row)),
            None => self.row(),
        }
    }
}

/// The members as columns: strings as they are, other values as they are written, null as no column.
fn columns(line: &[u8]) -> Result<Columns, Bad> {
    let json = text(line)?;
    let bad = |error: serde_json::Error| Bad::new(line, format!("is not a JSON object: {error}"));
    let columns = if json.starts_with('"') {
        only_url(&serde_json::from_str::<String>(json).map_err(bad)?)
    } else {
        let members: IndexMap<String, &RawValue> = serde_json::from_str(json).map_err(bad)?;
        let mut columns = Columns::with_capacity(members.len());
        for (name, value) in members {
            match value.get() {
                "null" => continue,
                raw if raw.starts_with('"') => {
                    columns.insert(name, serde_json::from_str(raw).map_err(bad)?)
                }
                raw => columns.insert(name, raw.to_owned()),
            };
        }
        columns
    };
    match columns.values().any(|value| value.contains('\0')) {
        true => Err(Bad::new(line, "contains a NUL character")),
        false => Ok(columns),
    }
}
