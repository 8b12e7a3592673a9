//! A list with one URL a line, and comments.

use std::io::{self, Read};

use super::lines::{Line, LineReader};
use super::{Bad, Row, Rows};
use crate::record::{Columns, URL};

/// One URL a line; empty lines, and comments behind a `#`, are passed over.
pub(super) struct Plain<R> {
    lines: LineReader<R>,
    columns: [String; 1],
}

impl<R: Read> Plain<R> {
    pub(super) fn new(reader: R) -> Plain<R> {
        Plain {
            lines: LineReader::new(reader),
            columns: [URL.to_owned()],
        }
    }
}

impl<R: Read + Send> Rows for Plain<R> {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self) -> io::Result<Option<Row>> {
        while let Some((line, found)) = self.lines.next()? {
            let held = match found {
                Line::Whole(text) => match text.trim_ascii() {
                    [] | [b'#', ..] => continue,
                    text => self::text(text).map(only_url),
                },
                Line::TooLong(beginning) => Err(too_long(&beginning)),
            };
            return Ok(Some(Row { line, held }));
        }
        Ok(None)
    }
}

/// The column of a plain list.
pub(super) fn only_url(url: &str) -> Columns {
    let mut columns = Columns::with_capacity(1);
    columns.insert(URL.to_owned(), url.to_owned());
    columns
}

pub(super) fn too_long(beginning: &[u8]) -> Bad {
    Bad::new(beginning, "is longer than 1 MiB")
}

/// Bytes as text, or what is wrong with them.
pub(super) fn text(bytes: &[u8]) -> Result<&str, Bad> {
    if memchr::memchr(0, bytes).is_some() {
        return Err(Bad::new(bytes, "contains a NUL byte"));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let byte = error.valid_up_to() + 1;
        Bad::new(bytes, format!("is not UTF-8 from its byte {byte} on"))
    })
}
