//! `hecaton fetch add`: more inputs for a job, whether it is done or not.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::finish;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::start::add;
use hecaton_lab::findings::words::plural;

use super::Home;
use super::planning::until_stopped;
use super::run::{Way, finish_run};
use super::tuning::Tuning;
use super::watching::Watching;
use crate::stop;

/// Adds lists to a job and fetches what is new; a request that the job has already is skipped.
///
/// A list that the job has already may have grown: its new lines are added. The same command resumes where it stopped.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) home: Home,
    /// Lists with the columns of the job, or - for standard input.
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,
    /// The format of the lists: lines, csv, tsv, jsonl or parquet [default: by file name and first bytes].
    #[arg(long, value_name = "FORM")]
    format: Option<String>,
    /// Add the inputs and send nothing; then `enqueue` and `worker`, or `run-part`, send them.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    tuning: Tuning,
    #[command(flatten)]
    watching: Watching,
    /// Print nothing unless something goes wrong.
    #[arg(short, long)]
    quiet: bool,
}

/// Does it.
///
/// # Errors
/// When it cannot be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    #[cfg(feature = "objects")]
    if let Some(url) = hecaton_fetch::remote::url(&arguments.home.folder) {
        return elsewhere(arguments, url);
    }
    super::elsewhere::refuse(&arguments.home.folder, " add")?;
    let folder = Folder::at(&arguments.home.folder);
    let stop = stop::on_request()?;
    // A round that is done and was not merged is merged first.
    finish::job(&folder)?;
    let change = |job: &mut _| arguments.tuning.change(job);
    let format = arguments.format.as_deref();
    let (started, added) = until_stopped(&stop, || add(folder, &arguments.files, format, &change))?;
    if !arguments.quiet {
        crate::say!("added {}", plural(added, "input"));
    }
    match arguments.plan {
        true => Ok(()),
        false => finish_run(
            started,
            &stop,
            &Way::new(arguments.quiet, &arguments.watching),
        ),
    }
}

/// Adds inputs to a job in object storage.
#[cfg(feature = "objects")]
fn elsewhere(arguments: &Arguments, url: &str) -> Result<()> {
    use hecaton_fetch::remote::{Remote, Scratch};

    use super::run::finish_elsewhere;

    let stop = stop::on_request()?;
    let remote = Remote::open(url)?;
    let change = |job: &mut _| arguments.tuning.change(job);
    let format = arguments.format.as_deref();
    let added = until_stopped(&stop, || remote.add(&arguments.files, format, &change))?;
    if !arguments.quiet {
        crate::say!("added {}", plural(added, "input"));
    }
    if arguments.plan {
        return Ok(());
    }
    let scratch = Scratch::new(None)?;
    let mut started = remote.prepare(&scratch)?;
    change(&mut started.job);
    let way = Way::new(arguments.quiet, &arguments.watching);
    finish_elsewhere(&remote, &started, &stop, &way)
}
