//! `hecaton drivers`: lists clients, checks their drivers, installs them.

mod check;
mod each;
mod install;
mod list;
mod promise;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use hecaton_lab::spec::parse_duration;

use each::How;

/// Lists every client with its version, or why it cannot run.
///
/// `--drivers FOLDER` adds the manifests in your own folder to the project's, for every command that measures. It may
/// be repeated; HECATON_DRIVERS names one folder. It is an error if two manifests share a name.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Checks that a driver follows the protocol and does what it claims.
    Check {
        /// The client's name, `baseline-loader`, a language, or `all`.
        name: String,
        /// How long the driver may be late.
        #[arg(long, hide = true, value_parser = parse_duration, default_value = "10s")]
        patience: Duration,
        /// Drivers to check at once [default: the number of cores].
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Run this client's driver as your own user; may be repeated. Only for drivers that you trust.
        #[arg(long, value_name = "CLIENT")]
        trust: Vec<String>,
    },
    /// Installs a client: Debian packages, and the builds of its manifest.
    Install {
        /// Names of clients, languages, or `all`, separated by spaces or commas.
        #[arg(required = true, value_delimiter = ',')]
        names: Vec<String>,
    },
}

const EXAMPLES: &str = "\
Examples:
  hecaton drivers
  hecaton drivers check net-http
  hecaton drivers check all
  hecaton drivers install python curb excon
  hecaton drivers install all
  hecaton drivers check mine --drivers FOLDER
  hecaton compare mine hecaton-ruby --drivers FOLDER
      a driver of your own beside a known client";

/// Lists, checks, or installs.
pub fn run(arguments: &Arguments, folders: &[PathBuf]) -> Result<()> {
    let catalogue = super::catalogue(folders)?;
    match &arguments.verb {
        None => list::list(&catalogue),
        Some(Verb::Check {
            name,
            patience,
            jobs,
            trust,
        }) => {
            let jobs = jobs.map_or_else(available_parallelism, Ok);
            let how = How {
                folders,
                patience: *patience,
                trusted: trust,
                jobs: jobs.map_or(1, NonZeroUsize::get),
            };
            check::check(&catalogue, name, &how)
        }
        Some(Verb::Install { names }) => install::install(&catalogue, names),
    }
}
