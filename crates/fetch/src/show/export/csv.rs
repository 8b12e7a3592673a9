//! The table as CSV (RFC 4180), with a line of names. A missing value is empty.

use std::io::{self, Write};

use super::TableWriter;
use super::layout::{Column, Layout};
use crate::record::Record;

/// A table of CSV.
pub struct Csv<W: Write> {
    writer: csv::Writer<W>,
    columns: Vec<Column>,
}

impl<W: Write> Csv<W> {
    /// Begins a table with these columns.
    pub fn new(layout: &Layout, out: W) -> io::Result<Csv<W>> {
        let columns = layout.columns();
        let mut writer = csv::Writer::from_writer(out);
        let names = columns.iter().map(|column| &column.name);
        writer.write_record(names).map_err(refused)?;
        Ok(Csv { writer, columns })
    }
}

impl<W: Write> TableWriter for Csv<W> {
    fn add(&mut self, record: &Record) -> io::Result<()> {
        for column in &self.columns {
            let cell = column.source.of(record);
            let written = self.writer.write_field(cell.text().as_bytes());
            written.map_err(refused)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(refused)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The system's own error.
fn refused(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
