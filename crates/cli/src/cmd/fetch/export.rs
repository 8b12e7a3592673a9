//! `hecaton fetch export`: the records of a job as one table.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::error::Error;
use hecaton_fetch::finish;
use hecaton_fetch::job::TableFormat;
use hecaton_fetch::plan::Plan;
use hecaton_fetch::show::export;
use hecaton_lab::findings::words::{count, plural};

use super::{Home, elsewhere, out};

/// Writes the records of a job as one table.
///
/// If the job is not done, the table has the records that are there.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    #[command(flatten)]
    target: Target,
    /// Write a row for each item of a list that the job took with --take NAME[]=…, with the number of the input.
    #[arg(long, value_name = "NAME")]
    items: Option<String>,
}

/// One form of the table, and where it goes.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// A CSV file to write, or - for standard output.
    #[arg(long, value_name = "FILE")]
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
    let home = elsewhere::Home::open(&arguments.home.folder)?;
    let folder = home.folder.clone();
    // A folder that may only be read is read as it is.
    let _ = finish::parts(&folder);
    let items = arguments.items.as_deref();
    let target = arguments.target.csv.as_ref();
    if let Some(path) = target.or(arguments.target.parquet.as_ref()) {
        finish::refuse_own(&folder, path)?;
    }
    let rows = match (&arguments.target.csv, &arguments.target.parquet) {
        (Some(path), _) if path.as_os_str() == "-" => {
            export::print::<anyhow::Error>(&folder, items, out::out())?
        }
        (Some(path), _) => export::export(&folder, items, TableFormat::Csv, path)?,
        (_, Some(path)) if path.as_os_str() == "-" => {
            let what = "Parquet cannot be written to standard output: name a file";
            return Err(Error::usage(what).into());
        }
        (_, path) => {
            let path = path.as_deref().unwrap_or(Path::new("table.parquet"));
            export::export(&folder, items, TableFormat::Parquet, path)?
        }
    };
    let inputs = Plan::planned(&folder)?.inputs;
    if rows < inputs {
        crate::say!(
            "the job is not done: the table has all records of {} of {}",
            count(rows),
            plural(inputs, "input")
        );
    }
    Ok(())
}
