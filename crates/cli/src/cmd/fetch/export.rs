//! `hecaton fetch export`: the records of a job as one table.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::record::Record;
use hecaton_fetch::show::each_record;
use hecaton_fetch::show::export::{Csv, Layout, Table};

use super::Home;

/// Writes the records of a job as one table.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    /// A CSV file to write, or - for standard output.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "parquet",
        conflicts_with = "parquet"
    )]
    csv: Option<PathBuf>,
    /// A Parquet file to write.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
}

/// Writes them.
///
/// # Errors
/// When the folder holds no job, or the file cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::at(&arguments.home.folder);
    let mut layout = Layout::default();
    each_record(&folder, &mut |record| {
        layout.add(&record);
        Ok(true)
    })?;
    let mut table = match (&arguments.csv, &arguments.parquet) {
        (Some(path), _) => {
            Box::new(Csv::new(&layout, BufWriter::new(csv(path)?))?) as Box<dyn Table>
        }
        (None, path) => parquet(&layout, path.as_deref().unwrap_or(Path::new("out.parquet")))?,
    };
    each_record(&folder, &mut |record: Record| {
        table.add(&record)?;
        Ok(true)
    })?;
    table.finish()?;
    Ok(())
}

fn csv(path: &Path) -> Result<Box<dyn Write>> {
    Ok(match path.as_os_str() == "-" {
        true => Box::new(stdout().lock()),
        false => Box::new(create(path)?),
    })
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot create {}", path.display()))
}

#[cfg(feature = "parquet")]
fn parquet(layout: &Layout, path: &Path) -> Result<Box<dyn Table>> {
    let table = hecaton_fetch::show::export::Parquet::new(layout, create(path)?)?;
    Ok(Box::new(table))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Layout, _: &Path) -> Result<Box<dyn Table>> {
    let what = "this build cannot write Parquet: run `bin/setup fetch`, or build with `--features parquet`";
    Err(hecaton_fetch::error::Error::usage(what).into())
}
