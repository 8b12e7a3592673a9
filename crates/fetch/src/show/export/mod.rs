//! Records → one table, as CSV or Parquet.
//!
//! Two passes over the records: a [`Layout`] learns which columns there are and of what kind, then a [`Table`] is written row by row.

use std::io;

use crate::record::Record;

mod cell;
mod csv;
mod layout;
#[cfg(feature = "parquet")]
mod parquet;

pub use self::csv::Csv;
pub use layout::Layout;
#[cfg(feature = "parquet")]
pub use parquet::Parquet;

/// A table that is being written.
pub trait Table {
    /// Adds a row.
    fn add(&mut self, record: &Record) -> io::Result<()>;

    /// Writes the end. Without it, the table is not whole.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// What a build without Parquet says of it.
pub const WITHOUT_PARQUET: &str =
    "this build cannot write Parquet: run `bin/setup fetch`, or build with `--features parquet`";

#[cfg(test)]
mod tests;
