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

/// A table of Parquet, if this build can write it.
pub fn parquet(
    layout: &Layout,
    out: impl io::Write + Send + 'static,
) -> io::Result<Box<dyn Table>> {
    #[cfg(feature = "parquet")]
    return Ok(Box::new(Parquet::new(layout, out)?));
    #[cfg(not(feature = "parquet"))]
    {
        let _ = (layout, out);
        let why = "this build cannot write Parquet: run `bin/setup fetch`, or build with `--features parquet`";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
}

#[cfg(test)]
mod tests;
