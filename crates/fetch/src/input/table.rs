//! CSV with a line of names: commas, semicolons or tabs between fields, quotes around them where needed.

use std::io::{self, Read};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::{memchr, memchr_iter};

use super::lines::read;
use super::plain::text;
use super::{Bad, LONGEST, Row, Rows};
use crate::record::Columns;

/// Each row is an input; empty lines are skipped.
pub(super) struct Table<R> {
    reader: R,
    parser: Reader,
    columns: Vec<String>,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// The bytes of the row that is being read, for a second reading.
    raw: Vec<u8>,
    separator: u8,
    /// Ends of lines so far.
    passed: u64,
    row: Vec<u8>,
    ends: Vec<usize>,
}

/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;

/// Whether the quotes of a row are closed.
enum Quotes {
    Closed,
    /// The last field has no closing quote.
    Open,
    /// Something else than a separator or the end of a line follows a closing quote.
    Odd,
}

/// Checks the quotes of a row, which comes without its line end, as RFC 4180 says.
fn quotes(row: &[u8], separator: u8) -> Quotes {
    let row = row.strip_suffix(b"\r").unwrap_or(row);
    let (mut at, mut is_odd) = (0, false);
    while at < row.len() {
        if row[at] == b'"' {
            at += 1;
            loop {
                let Some(quote) = memchr(b'"', &row[at..]) else {
                    return Quotes::Open;
                };
                at += quote + 1;
                if row.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
            is_odd |= at < row.len() && row[at] != separator;
        }
        // The next field begins behind a separator; only quoted fields have line ends.
        match memchr(separator, &row[at..]) {
            Some(next) => at += next + 1,
            None => break,
        }
    }
    match is_odd {
        true => Quotes::Odd,
        false => Quotes::Closed,
    }
}

/// The next row, or why there is none.
enum Found {
    /// The number of fields, and of their bytes.
    Fields(usize, usize),
    TooLong,
    /// Too long, and of several lines.
    Misquoted,
    End,
}

impl<R: Read> Table<R> {
    /// Reads the names of the columns. Without a separator, takes the one that occurs most often in the first line.
    pub(super) fn new(reader: R, separator: Option<u8>) -> io::Result<Table<R>> {
        let mut table = Table {
            reader,
            parser: Reader::new(),
            columns: Vec::new(),
            buffer: vec![0; BUFFER],
            begin: 0,
            end: 0,
            raw: Vec::new(),
            separator: b',',
            passed: 0,
            row: vec![0; 4 << 10],
            ends: vec![0; 64],
        };
        while table.end < table.buffer.len() && table.fill()? > 0 {}
        let separator = separator.unwrap_or_else(|| table.guess());
        table.separator = separator;
        table.parser = ReaderBuilder::new().delimiter(separator).build();
        table.columns = table
            .names()
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        Ok(table)
    }

    fn guess(&self) -> u8 {
        let held = &self.buffer[..self.end];
        let first = &held[..memchr(b'\n', held).unwrap_or(held.len())];
        let count = |separator: u8| memchr_iter(separator, first).count();
        // `max_by_key` takes the last of equals: a comma if no separator occurs.
        [b'\t', b';', b',']
            .into_iter()
            .max_by_key(|it| count(*it))
            .unwrap_or(b',')
    }

    fn names(&mut self) -> Result<Vec<String>, String> {
        let wrong = "its first line must name the columns";
        self.skip_empty_lines().map_err(|error| error.to_string())?;
        let found = self.record().map_err(|error| error.to_string())?;
        let Found::Fields(fields, _) = found else {
            return Err(format!("{wrong}, and there is none"));
        };
        if self.is_misquoted(fields, fields) {
            return Err(format!("{wrong}; it has a quote that is not closed"));
        }
        let mut names: Vec<String> = Vec::with_capacity(fields);
        for (index, field) in self.fields(fields).enumerate() {
            let name = text(field).map_err(|bad| {
                format!("{wrong}; the name of column {} {}", index + 1, bad.reason)
            })?;
            let name = match name.trim() {
                "" => format!("column{}", index + 1),
                name => name.to_owned(),
            };
            if name.starts_with("http://") || name.starts_with("https://") {
                return Err(format!(
                    "{wrong}; it holds the URL {name:?}: write a line such as `url` above it"
                ));
            }
            if names.contains(&name) {
                return Err(format!("{wrong}; {name:?} stands there twice"));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn fields(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        (0..count).map(|index| {
            let from = if index == 0 { 0 } else { self.ends[index - 1] };
            &self.row[from..self.ends[index]]
        })
    }

    /// Reads more bytes into the buffer, and returns how many; 0 at the end of the input.
    fn fill(&mut self) -> io::Result<usize> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
        let count = read(&mut self.reader, &mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count)
    }

    fn consume(&mut self, count: usize) {
        let consumed = &self.buffer[self.begin..self.begin + count];
        self.raw.extend_from_slice(consumed);
        self.skip(count);
    }

    /// Passes over bytes that no row needs.
    fn skip(&mut self, count: usize) {
        let skipped = &self.buffer[self.begin..self.begin + count];
        self.passed += memchr_iter(b'\n', skipped).count() as u64;
        self.begin += count;
    }

    /// Whether a quote that is not closed spoils a row. The last field of such a row has no end, or the row took in the
    /// lines up to the next quote in the list.
    fn is_misquoted(&self, fields: usize, known: usize) -> bool {
        let row = self.raw.strip_suffix(b"\n").unwrap_or(&self.raw);
        let is_long = memchr(b'\n', row).is_some();
        match quotes(row, self.separator) {
            Quotes::Open => true,
            Quotes::Odd => is_long,
            Quotes::Closed => is_long && fields != known,
        }
    }

    /// Gives up the first line of this row. The lines after it are read again, as rows of their own.
    fn only_first_line(&mut self) -> Bad {
        let first = memchr(b'\n', &self.raw).map_or(self.raw.len(), |at| at + 1);
        let mut rest = self.raw.split_off(first);
        self.passed -= memchr_iter(b'\n', &rest).count() as u64;
        if rest.len() <= self.begin {
            // The bytes are still in the buffer, in front of those that were not read yet.
            self.begin -= rest.len();
        } else {
            rest.extend_from_slice(&self.buffer[self.begin..self.end]);
            (self.begin, self.end) = (0, rest.len());
            rest.resize(rest.len().max(BUFFER), 0);
            self.buffer = rest;
        }
        self.parser.reset();
        Bad::new(
            self.raw.trim_ascii_end(),
            "has a quote that is not closed".to_owned(),
        )
    }

    /// Skips empty lines, so that the line of a row is the one on which it begins.
    fn skip_empty_lines(&mut self) -> io::Result<()> {
        loop {
            if self.begin == self.end && self.fill()? == 0 {
                return Ok(());
            }
            let held = &self.buffer[self.begin..self.end];
            let empty = held
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'))
                .count();
            self.skip(empty);
            if self.begin < self.end {
                return Ok(());
            }
        }
    }

    fn record(&mut self) -> io::Result<Found> {
        self.raw.clear();
        let (mut written, mut ended) = (0, 0);
        loop {
            if self.begin == self.end {
                self.fill()?;
            }
            let held = &self.buffer[self.begin..self.end];
            let (result, consumed, bytes, ends) =
                self.parser
                    .read_record(held, &mut self.row[written..], &mut self.ends[ended..]);
            self.consume(consumed);
            (written, ended) = (written + bytes, ended + ends);
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.row.len() >= LONGEST => {
                    return self.too_long();
                }
                ReadRecordResult::OutputFull => self.row.resize(self.row.len() * 2, 0),
                ReadRecordResult::OutputEndsFull if self.ends.len() >= LONGEST => {
                    return self.too_long();
                }
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::Record => return Ok(Found::Fields(ended, written)),
                ReadRecordResult::End => return Ok(Found::End),
            }
        }
    }

    /// A row of several lines is read again line by line. A line that is too long is skipped.
    fn too_long(&mut self) -> io::Result<Found> {
        self.parser.reset();
        if memchr(b'\n', &self.raw).is_some() {
            return Ok(Found::Misquoted);
        }
        loop {
            match memchr(b'\n', &self.buffer[self.begin..self.end]) {
                Some(at) => {
                    self.consume(at + 1);
                    return Ok(Found::TooLong);
                }
                None => self.begin = self.end,
            }
            if self.fill()? == 0 {
                return Ok(Found::TooLong);
            }
        }
    }

    fn held(&self, fields: usize, bytes: usize) -> Result<Columns, Bad> {
        let known = self.columns.len();
        if fields != known {
            let reason = format!("has {fields} fields where the first line names {known} columns");
            let fields: Vec<&[u8]> = self.fields(fields).collect();
            return Err(Bad::new(&fields.join(&b", "[..]), reason));
        }
        let mut columns = Columns::with_capacity(known);
        for (name, field) in self.columns.iter().zip(self.fields(fields)) {
            let value = text(field).map_err(|bad| {
                let reason = format!("column {name:?} {}", bad.reason);
                Bad::new(&self.row[..bytes], reason)
            })?;
            columns.insert(name.clone(), value.to_owned());
        }
        Ok(columns)
    }
}

impl<R: Read + Send> Rows for Table<R> {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self) -> io::Result<Option<Row>> {
        self.skip_empty_lines()?;
        let line = self.passed + 1;
        let held = match self.record()? {
            Found::End => return Ok(None),
            Found::Fields(fields, _) if self.is_misquoted(fields, self.columns.len()) => {
                Err(self.only_first_line())
            }
            Found::Fields(fields, bytes) => self.held(fields, bytes),
            Found::Misquoted => Err(self.only_first_line()),
            Found::TooLong => Err(Bad::new(&self.row, "is longer than 1 MiB".to_owned())),
        };
        Ok(Some(Row { line, held }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_take_no_memory() {
        let lines = io::repeat(b'\n').take(8 << 20);
        let mut table = Table::new(b"url\n".chain(lines), None).unwrap();
        assert!(table.next().unwrap().is_none());
        assert_eq!(table.passed, 1 + (8 << 20));
        assert!(table.raw.capacity() < BUFFER, "{}", table.raw.capacity());
    }
}
