//! `hecaton fetch export`: the records of a job as one table.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

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
    #[arg(long, value_name = "FILE", required = true)]
    csv: PathBuf,
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
    let out: Box<dyn Write> = match arguments.csv.as_os_str() == "-" {
        true => Box::new(stdout().lock()),
        false => Box::new(
            File::create(&arguments.csv)
                .with_context(|| format!("cannot create {}", arguments.csv.display()))?,
        ),
    };
    let mut table: Box<dyn Table> = Box::new(Csv::new(&layout, BufWriter::new(out))?);
    each_record(&folder, &mut |record: Record| {
        table.add(&record)?;
        Ok(true)
    })?;
    table.finish()?;
    Ok(())
}
