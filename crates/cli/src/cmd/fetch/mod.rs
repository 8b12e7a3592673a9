//! `hecaton fetch`: a list of URLs, each fetched and recorded exactly once, whatever happens on the way.

mod arguments;
mod live;
mod part;
mod plan;
mod run;
mod show;
mod status;
mod tuning;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Fetches every URL of a list, and records each exactly once.
///
/// The same command again goes on where it was: after Ctrl-C, a crash, a power cut or a full disk.
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
  hecaton fetch urls.txt -o out/                 every URL of a list; the same command again goes on
  zcat urls.gz | hecaton fetch - -o out/         from standard input
  hecaton fetch urls.txt -o out/ --rate 20       at most 20 requests a second to each host
  hecaton fetch job.toml -o out/                 what a job file says; --print-job writes one
  hecaton fetch status out/                      how far it is, from another terminal
  hecaton fetch show out/ --limit 20             records, a line each
  zstdcat out/results/*.zst | jq .status         the same with other tools";

#[derive(Subcommand)]
enum Verb {
    Status(status::Arguments),
    Show(show::Arguments),
    Plan(plan::Arguments),
    Part(part::Arguments),
}

/// The folder of a job.
#[derive(Args)]
struct Home {
    /// The job's folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Does what was asked.
///
/// # Errors
/// When it cannot be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.verb {
        Some(Verb::Status(arguments)) => status::run(arguments),
        Some(Verb::Show(arguments)) => show::run(arguments),
        Some(Verb::Plan(arguments)) => plan::run(arguments),
        Some(Verb::Part(arguments)) => part::run(arguments),
        None => run::run(&arguments.run),
    }
}
