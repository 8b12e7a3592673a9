//! `hecaton fetch`: a list of URLs, each fetched and recorded exactly once, whatever happens on the way.

mod add;
mod again;
mod arguments;
mod enqueue;
mod export;
mod given;
mod live;
mod metrics;
mod options;
mod out;
mod plan;
mod planning;
mod report;
mod run;
mod run_part;
mod show;
mod status;
mod tuning;
mod verdict;
mod verify;
mod watching;
mod worker;
mod worker_lines;

use anyhow::{Error, Result};
use clap::{Args, Subcommand};
use hecaton_fetch::error::Error as FetchError;

use crate::exit;

/// Fetches every URL in a list and records each exactly once.
///
/// The same command resumes where the job stopped: after Ctrl-C, a crash, a power cut or a full disk.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: run::Run,
}

const EXAMPLES: &str = "\
Examples:
  hecaton fetch urls.txt -o out/
      every URL in a list; the same command again resumes
  zcat urls.gz | hecaton fetch - -o out/
      from standard input
  hecaton fetch urls.txt -o out/ --rate 20
      at most 20 requests a second to each host
  hecaton fetch skus.csv -o out/ --rate 20 \\
    --template 'https://api.example.com/p/{sku}' \\
    --check 'status == 200' --take price=/data/price
      a table with a column sku; a value of each response
  hecaton fetch job.toml -o out/
      what a job file says; --print-job writes one
  hecaton fetch status out/
      how far it is, from another terminal
  hecaton fetch -o out/
      resumes the job of the folder
  hecaton fetch again out/
      only what failed
  hecaton fetch add out/ more.txt
      more inputs for the job of the folder
  hecaton fetch show out/ --where 'status == 404' --limit 20
  hecaton fetch export out/ --csv prices.csv
      one table of all records
  zstdcat out/results/*.zst | jq .status
      the same with other tools";

#[derive(Subcommand)]
enum Verb {
    Add(Box<add::Arguments>),
    Again(Box<again::Arguments>),
    Status(status::Arguments),
    Show(show::Arguments),
    Plan(Box<plan::Arguments>),
    RunPart(run_part::Arguments),
    Enqueue(enqueue::Arguments),
    Worker(worker::Arguments),
    Export(export::Arguments),
    Report(report::Arguments),
    Verify(verify::Arguments),
}

/// Runs the verb.
///
/// # Errors
/// When it cannot be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.verb {
        Some(Verb::Add(arguments)) => add::run(arguments),
        Some(Verb::Again(arguments)) => again::run(arguments),
        Some(Verb::Export(arguments)) => export::run(arguments),
        Some(Verb::Report(arguments)) => report::run(arguments),
        Some(Verb::Verify(arguments)) => verify::run(arguments),
        Some(Verb::Status(arguments)) => status::run(arguments),
        Some(Verb::Show(arguments)) => show::run(arguments),
        Some(Verb::Plan(arguments)) => plan::run(arguments),
        Some(Verb::RunPart(arguments)) => run_part::run(arguments),
        Some(Verb::Enqueue(arguments)) => enqueue::run(arguments),
        Some(Verb::Worker(arguments)) => worker::run(arguments),
        None => run::run(&arguments.run),
    }
}

/// The exit status for an error of `fetch`; none for other errors.
pub fn status(error: &Error) -> Option<u8> {
    if error.is::<verdict::TooFewGood>() {
        return Some(exit::TOO_LITTLE);
    }
    if error.is::<verdict::Incomplete>() {
        return Some(exit::INCOMPLETE);
    }
    Some(match error.downcast_ref()? {
        FetchError::Usage(_) => exit::USAGE,
        FetchError::Failed(_) => exit::FAILURE,
        FetchError::Interrupted(_) => exit::INTERRUPTED,
        FetchError::Paused(_) => exit::PAUSED,
    })
}
