//! `hecaton fetch export`: the records of a job as one table.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::error::Error;
use hecaton_fetch::finish;
use hecaton_fetch::job::{Job, TableFormat};
use hecaton_fetch::place;
use hecaton_fetch::plan::{Folder, Plan};
use hecaton_fetch::record::{count, plural};
use hecaton_fetch::show::export::{self, Exported};

use super::options::Home;
use super::{out, verdict};

/// Most inputs that a sentence names.
const MOST_NAMED: usize = 10;

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
    let place = place::at(&arguments.home.folder, "")?;
    let folder = place.gather()?;
    let items = arguments.items.as_deref();
    let target = arguments.target.csv.as_ref();
    if let Some(path) = target.or(arguments.target.parquet.as_ref()) {
        finish::refuse_own(&folder, path)?;
    }
    let exported = match (&arguments.target.csv, &arguments.target.parquet) {
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
    if exported.inputs < inputs {
        crate::say!(
            "the job is not done: the table has all records of {} of {}",
            count(exported.inputs),
            plural(inputs, "input")
        );
    }
    // A table of records shows which of them are not good.
    match items {
        Some(_) => judge(&folder, &exported),
        None => Ok(()),
    }
}

/// Says which inputs lack items, because they or a page of them have no good response.
fn judge(folder: &Folder, exported: &Exported) -> Result<()> {
    if exported.incomplete.is_empty() {
        return Ok(());
    }
    let shown = exported.incomplete.iter().take(MOST_NAMED);
    let mut shown: Vec<_> = shown.map(|number| number.to_string()).collect();
    let count = exported.incomplete.len();
    if count > MOST_NAMED as u64 {
        shown.push("…".to_owned());
    }
    let why = format!(
        "items are missing of {}, which {} no good response or not all pages (n {}): `hecaton fetch show {} --where 'not ok'` says why",
        plural(count, "input"),
        if count == 1 { "has" } else { "have" },
        shown.join(", "),
        folder.shown()
    );
    let job = Job::read(&folder.job())?;
    verdict::unless_allowed(&job, why)
}
