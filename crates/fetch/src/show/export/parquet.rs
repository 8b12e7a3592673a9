//! The table as Parquet, compressed with zstd.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::TableWriter;
use super::layout::{Column, Layout};
use crate::record::{Cell, Kind, Record};

/// Most rows that are held before they are written.
const MOST_ROWS: usize = 100_000;

/// Most bytes of texts that are held before they are written.
const MOST_BYTES: usize = 16 << 20;

/// A table of Parquet. A group of rows is held in memory until it is written.
pub struct Parquet<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Column>,
    held: Vec<HeldColumn>,
    rows: usize,
    bytes: usize,
}

/// The values of a column, and for each row whether there is one.
struct HeldColumn {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Bool(Vec<bool>),
    Integer(Vec<i64>),
    Number(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl<W: Write + Send> Parquet<W> {
    /// Begins a table with these columns.
    pub fn new(layout: &Layout, out: W) -> io::Result<Parquet<W>> {
        let columns = layout.columns();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(format!("hecaton {}", env!("CARGO_PKG_VERSION")))
            .build();
        let held = columns.iter().map(HeldColumn::of).collect();
        Ok(Parquet {
            writer: SerializedFileWriter::new(
                out,
                Arc::new(schema(&columns)?),
                Arc::new(properties),
            )?,
            columns,
            held,
            rows: 0,
            bytes: 0,
        })
    }

    fn write(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group()?;
        for held in &mut self.held {
            let Some(mut column) = group.next_column()? else {
                break;
            };
            held.write(&mut column)?;
            column.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

impl<W: Write + Send> TableWriter for Parquet<W> {
    fn add(&mut self, record: &Record) -> io::Result<()> {
        for (column, held) in self.columns.iter().zip(&mut self.held) {
            self.bytes += held.add(column.source.of(record), column.kind);
        }
        self.rows += 1;
        match self.rows >= MOST_ROWS || self.bytes >= MOST_BYTES {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if self.rows > 0 {
            self.write()?;
        }
        self.writer.close()?;
        Ok(())
    }
}

fn schema(columns: &[Column]) -> Result<Type> {
    let mut fields = Vec::with_capacity(columns.len());
    for Column { name, kind, .. } in columns {
        let (physical, logical) = match kind {
            Kind::Bool => (Physical::BOOLEAN, None),
            Kind::Integer => (Physical::INT64, None),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Time => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
            ),
            Kind::Text | Kind::Choice => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let builder = Type::primitive_type_builder(name, physical);
        let field = builder
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL)
            .build()?;
        fields.push(Arc::new(field));
    }
    Type::group_type_builder("records")
        .with_fields(fields)
        .build()
}

impl HeldColumn {
    fn of(column: &Column) -> HeldColumn {
        let values = match column.kind {
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Integer | Kind::Time => Values::Integer(Vec::new()),
            Kind::Number => Values::Number(Vec::new()),
            Kind::Text | Kind::Choice => Values::Text(Vec::new()),
        };
        HeldColumn {
            values,
            levels: Vec::new(),
        }
    }

    /// Adds a value, and returns how many bytes it takes in memory. A value of another kind than the column's is left
    /// out.
    fn add(&mut self, cell: Cell<'_>, kind: Kind) -> usize {
        let mut bytes = 8;
        let mut is_there = true;
        match (&mut self.values, &cell) {
            (_, Cell::Nothing) => is_there = false,
            (Values::Bool(values), Cell::Bool(truth)) => values.push(*truth),
            (Values::Integer(values), Cell::Integer(integer)) => values.push(*integer),
            (Values::Integer(values), Cell::Text(text)) if kind == Kind::Time => {
                match microseconds(text) {
                    Some(time) => values.push(time),
                    None => is_there = false,
                }
            }
            (Values::Number(values), Cell::Number(number)) => values.push(*number),
            #[expect(clippy::cast_precision_loss, reason = "the column has fractions")]
            (Values::Number(values), Cell::Integer(integer)) => values.push(*integer as f64),
            (Values::Text(values), cell) => {
                let text = cell.text().into_owned();
                bytes += text.len();
                values.push(text.into_bytes().into());
            }
            _ => is_there = false,
        }
        self.levels.push(is_there.into());
        bytes
    }

    fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = Some(&self.levels[..]);
        match &mut self.values {
            Values::Bool(values) => {
                column
                    .typed::<BoolType>()
                    .write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Integer(values) => {
                column
                    .typed::<Int64Type>()
                    .write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Number(values) => {
                column
                    .typed::<DoubleType>()
                    .write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Text(values) => {
                column
                    .typed::<ByteArrayType>()
                    .write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}

fn microseconds(rfc3339: &str) -> Option<i64> {
    let time = humantime::parse_rfc3339(rfc3339).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_micros()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::tests::{layout, records};
    use super::*;
    use crate::input::{Inputs, Source};
    use crate::python::python;

    #[test]
    fn a_table_is_read_back_as_a_list() {
        let records = records();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        let mut table =
            Box::new(Parquet::new(&layout(&records), File::create(&path).unwrap()).unwrap());
        records.iter().for_each(|record| table.add(record).unwrap());
        table.finish().unwrap();
        let rows: Vec<_> = Inputs::open(vec![Source::Path(path)], None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len(), 3);
        let held = |row: usize| rows[row].held.as_ref().unwrap();
        for (name, value) in [
            ("sku", "a,\"1\"\n"),
            ("input_status", "in"),
            ("status", "200"),
            ("ok", "true"),
            ("price", "9.0"),
            ("tags", "[\"a\"]"),
            ("body", "h\u{e9}"),
        ] {
            assert_eq!(held(0).get(name).map(String::as_str), Some(value), "{name}");
        }
        assert!(
            held(0)["at"].starts_with("2026-11-22 08:00:00"),
            "{}",
            held(0)["at"]
        );
        assert_eq!(held(1).get("status"), None);
        assert_eq!(held(1)["error"], "timeout");
        assert_eq!((rows[2].number, rows[2].line), (2, 3));
    }

    #[test]
    fn pyarrow_reads_it_with_its_types() {
        let records = records();
        let folder = tempfile::tempdir().unwrap();
        let out = File::create(folder.path().join("t.parquet")).unwrap();
        let mut table = Box::new(Parquet::new(&layout(&records), out).unwrap());
        records.iter().for_each(|record| table.add(record).unwrap());
        table.finish().unwrap();
        let program = "import pyarrow.parquet as pq\nt = pq.read_table('t.parquet')\n\
                       for c in ['n', 'ok', 'at', 'ms', 'price', 'tags', 'message']: print(c, t.schema.field(c).type, *t.column(c).to_pylist())";
        let Some(found) = python("pyarrow", program, folder.path()) else {
            return;
        };
        let expected = "n int64 0 1 2\nok bool True False False\nat timestamp[us, tz=UTC] 2026-11-22 08:00:00.500000+00:00 None None\n\
            ms double 1.5 None None\nprice double 9.0 9.5 None\ntags string [\"a\"] None None\nmessage string None late None\n";
        assert_eq!(found, expected);
    }

    #[test]
    fn many_rows_are_written_in_groups() {
        let mut record = records().remove(0);
        let mut table = Box::new(Parquet::new(&layout(&[record.clone()]), Vec::new()).unwrap());
        record.url = "u".repeat(1 << 20);
        let mut most = 0;
        for _ in 0..40 {
            table.add(&record).unwrap();
            most = most.max(table.bytes);
        }
        assert!(most < MOST_BYTES + (2 << 20), "{most}");
        assert_eq!(table.writer.flushed_row_groups().len(), 2);
    }
}
