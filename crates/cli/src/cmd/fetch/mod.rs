//! `hecaton fetch`: a list of URLs, each fetched and recorded exactly once, whatever happens on the way.

mod add;
mod again;
mod arguments;
mod elsewhere;
mod enqueue;
mod export;
mod live;
mod metrics;
mod open;
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

use std::path::PathBuf;

use anyhow::{Error, Result};
use clap::{Args, Subcommand};
use hecaton_fetch::error::Error as FetchError;

use crate::ending;

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

/// The folder of a job.
#[derive(Args)]
struct Home {
    /// The job's folder, or s3://bucket/prefix, gs:// or az://.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// How many threads send requests.
#[derive(Args)]
struct Threads {
    /// How many threads send requests. Each thread has its own parts, so a list of one part uses one thread [default:
    /// the cores that this process may use, at most 8]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
}

/// The most threads that a job may have.
const MOST_THREADS: usize = 64;

fn threads(text: &str) -> Result<usize, String> {
    let count = text
        .parse()
        .ok()
        .filter(|count| (1..=MOST_THREADS).contains(count));
    count.ok_or_else(|| format!("use a number from 1 to {MOST_THREADS}"))
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

/// The NATS server that hands out parts.
#[derive(Args)]
struct Server {
    /// The NATS server that hands out parts, as nats://host:4222.
    #[arg(long = "nats", value_name = "URL", env = "NATS_URL", num_args = 0..=1, default_value = "", default_missing_value = "", hide_default_value = true, hide_env_values = true)]
    url: String,
}

/// The error of a build without NATS.
#[cfg(not(feature = "nats"))]
fn without_nats(verb: &str) -> Result<()> {
    let what = format!(
        "this command was built without NATS, which `fetch {verb}` needs: `bin/setup fetch` builds it in (cargo's feature `nats`)"
    );
    Err(hecaton_fetch::error::Error::failed(what).into())
}

/// The exit status for an error of `fetch`; none for other errors.
pub fn status(error: &Error) -> Option<u8> {
    if error.is::<verdict::TooFewGood>() {
        return Some(ending::TOO_LITTLE);
    }
    if error.is::<verdict::Incomplete>() {
        return Some(ending::INCOMPLETE);
    }
    Some(match error.downcast_ref()? {
        FetchError::Usage(_) => ending::USAGE,
        FetchError::Failed(_) => ending::FAILURE,
        FetchError::Interrupted(_) => ending::INTERRUPTED,
        FetchError::Paused(_) => ending::PAUSED,
    })
}
