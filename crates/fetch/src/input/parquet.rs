//! Rows of a Parquet file.

use std::fs::File;
use std::io;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use super::{Bad, Row, Rows};
use crate::record::Columns;

/// Each row is an input, and the number of the row is its line.
pub(super) struct ParquetRows {
    rows: RowIter<'static>,
    columns: Vec<String>,
    line: u64,
}

impl ParquetRows {
    pub(super) fn open(path: &Path) -> io::Result<ParquetRows> {
        let reader = SerializedFileReader::new(File::open(path)?)?;
        let schema = reader.metadata().file_metadata().schema();
        let columns = schema
            .get_fields()
            .iter()
            .map(|field| field.name().to_owned())
            .collect();
        Ok(ParquetRows {
            rows: RowIter::from_file_into(Box::new(reader)),
            columns,
            line: 0,
        })
    }
}

impl Rows for ParquetRows {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn next(&mut self) -> io::Result<Option<Row>> {
        let Some(row) = self.rows.next().transpose()? else {
            return Ok(None);
        };
        self.line += 1;
        let mut columns = Columns::with_capacity(self.columns.len());
        let mut held = Ok(());
        for (name, field) in row.get_column_iter() {
            match text(field) {
                Ok(Some(value)) => {
                    columns.insert(name.clone(), value);
                }
                Ok(None) => {}
                Err(why) => held = Err(Bad::new(b"", format!("column {name:?} {why}"))),
            }
        }
        Ok(Some(Row {
            line: self.line,
            held: held.map(|()| columns),
        }))
    }
}

/// A value as text; none for null.
fn text(field: &Field) -> Result<Option<String>, &'static str> {
    let text = match field {
        Field::Null => return Ok(None),
        Field::Str(text) => text.clone(),
        Field::Bytes(bytes) => {
            String::from_utf8(bytes.data().to_vec()).map_err(|_| "is not UTF-8")?
        }
        other => other.to_string(),
    };
    match text {
        text if text.contains('\0') => Err("contains a NUL character"),
        text if text.len() > super::LONGEST => Err("is longer than 1 MiB"),
        text => Ok(Some(text)),
    }
}
