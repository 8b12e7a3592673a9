//! Records, or the items of lists in them, → one table, as CSV or Parquet.
//!
//! There are two passes over the records. A [`Layout`] learns the columns and their types, then a [`TableWriter`]
//! writes the rows. The second pass skips records that the first did not see, because a running job may have more by
//! then.

mod cell;
mod csv;
mod items;
mod layout;
#[cfg(feature = "parquet")]
mod parquet;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use roaring::RoaringTreemap;
use serde_json::Value;

use self::csv::Csv;
use self::layout::Layout;
use super::lines::each_record;
use crate::error::{Error, Result, at};
use crate::job::TableFormat;
use crate::plan::{Draft, Folder};
use crate::record::{Outcome, Record};

/// A table that is being written.
trait TableWriter {
    /// Adds a row.
    fn add(&mut self, record: &Record) -> io::Result<()>;

    /// Writes the end. Without it, the table is not whole.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The inputs of a table.
#[derive(Clone, Debug, Default)]
pub struct Exported {
    /// How many have all of their records, which are several if they have pages.
    pub inputs: u64,
    /// The numbers of those without a good response, or without a good last page. Those that were skipped do not count.
    pub incomplete: RoaringTreemap,
}

/// Writes all records of a folder into a file, which is there whole or not at all. With the name of a list that was
/// taken, the table has a row for each item of the list.
///
/// # Errors
/// When the folder holds no job, this build cannot write that form, or the file cannot be written.
pub fn export(
    folder: &Folder,
    items: Option<&str>,
    format: TableFormat,
    path: &Path,
) -> Result<Exported> {
    format.check()?;
    let refused = |error: io::Error| at("write", path)(error);
    let draft = Draft::begin(path).map_err(refused)?;
    let learned = learned(folder, items)?;
    let file = draft.file().try_clone().map_err(refused)?;
    let table = table(format, &learned.layout, BufWriter::new(file)).map_err(refused)?;
    fill(folder, &learned.numbers, items, table, &refused)?;
    draft.keep().map_err(refused)?;
    Ok(learned.exported())
}

/// Writes the table as CSV to an output that can only be written once.
///
/// # Errors
/// When the folder holds no job; the error of `out` as it is.
pub fn print<E: From<Error> + From<io::Error>>(
    folder: &Folder,
    items: Option<&str>,
    out: impl Write,
) -> std::result::Result<Exported, E> {
    let learned = learned(folder, items)?;
    let table = Box::new(Csv::new(&learned.layout, out)?);
    fill(folder, &learned.numbers, items, table, &E::from)?;
    Ok(learned.exported())
}

/// The facts that the first pass learns.
struct Learned {
    layout: Layout,
    /// The inputs that have a record.
    numbers: RoaringTreemap,
    /// Those that have their last one.
    ended: RoaringTreemap,
    /// Those of them whose last one is not good.
    incomplete: RoaringTreemap,
}

impl Learned {
    fn exported(self) -> Exported {
        Exported {
            inputs: self.ended.len(),
            incomplete: self.incomplete,
        }
    }
}

fn learned(folder: &Folder, list: Option<&str>) -> Result<Learned> {
    let mut learned = Learned {
        layout: Layout::of_items(list.is_some()),
        numbers: RoaringTreemap::new(),
        ended: RoaringTreemap::new(),
        incomplete: RoaringTreemap::new(),
    };
    let mut has_list = list.is_none();
    each_record(folder, &mut |record| {
        learned.numbers.insert(record.n);
        if record.more != Some(true) {
            learned.ended.insert(record.n);
            if !record.ok && record.outcome != Outcome::Skipped {
                learned.incomplete.insert(record.n);
            }
        }
        has_list |= list.is_some_and(|list| record.taken.get(list).is_some_and(Value::is_array));
        items::each_row(record, list, |row| {
            learned.layout.add(row);
            Result::Ok(())
        })?;
        Ok(true)
    })?;
    match list.filter(|_| !has_list) {
        Some(list) => Err(Error::usage(format!(
            "no record has a list {list:?}: a job takes one with --take '{list}[]=/data'"
        ))),
        None => Ok(learned),
    }
}

fn fill<E: From<Error>>(
    folder: &Folder,
    numbers: &RoaringTreemap,
    list: Option<&str>,
    mut table: Box<dyn TableWriter + '_>,
    refused: &dyn Fn(io::Error) -> E,
) -> std::result::Result<(), E> {
    each_record(folder, &mut |record| {
        if numbers.contains(record.n) {
            items::each_row(record, list, |row| table.add(row).map_err(refused))?;
        }
        Ok::<_, E>(true)
    })?;
    table.finish().map_err(refused)
}

fn table(
    format: TableFormat,
    layout: &Layout,
    out: BufWriter<File>,
) -> io::Result<Box<dyn TableWriter>> {
    Ok(match format {
        TableFormat::Csv => Box::new(Csv::new(layout, out)?),
        #[cfg(feature = "parquet")]
        TableFormat::Parquet => Box::new(parquet::Parquet::new(layout, out)?),
        #[cfg(not(feature = "parquet"))]
        TableFormat::Parquet => return Err(io::ErrorKind::Unsupported.into()),
    })
}

#[cfg(test)]
mod tests;
