//! The table as CSV (RFC 4180), with a line of names. What is not there is empty.

use std::io::{self, Write};

use super::Table;
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
        writer.write_record(columns.iter().map(|column| &column.name))?;
        Ok(Csv { writer, columns })
    }
}

impl<W: Write> Table for Csv<W> {
    fn add(&mut self, record: &Record) -> io::Result<()> {
        for column in &self.columns {
            self.writer
                .write_field(column.place.of(record).text().as_bytes())?;
        }
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.flush()
    }
}
