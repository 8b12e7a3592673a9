//! `hecaton fetch add`: more inputs for a job, whether it is done or not.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::finish;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::start::{Added, More, add};
use hecaton_lab::findings::words::{count, plural};

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
    #[arg(value_name = "INPUT", required_unless_present = "sitemap")]
    files: Vec<PathBuf>,
    /// A sitemap whose pages are added. May be repeated.
    #[arg(long, value_name = "URL")]
    sitemap: Vec<String>,
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

impl Arguments {
    fn more(&self) -> More<'_> {
        More {
            files: &self.files,
            format: self.format.as_deref(),
            sitemaps: &self.sitemap,
        }
    }
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
    let (started, added) = until_stopped(&stop, || add(folder, arguments.more(), &change))?;
    if !arguments.quiet {
        say(added, &started.plan.columns);
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

/// Says what was added, and that a request which the job has already is not sent for other columns.
fn say(added: Added, columns: &[String]) {
    let inputs = plural(added.inputs, "input");
    if added.repeats == 0 {
        return crate::say!("added {inputs}");
    }
    let columns = match columns {
        [_] => "",
        _ => "; a new job sends them for other values in other columns",
    };
    crate::say!(
        "added {inputs}, {} of them skipped, because the job has their requests already{columns}",
        count(added.repeats)
    );
}

/// Adds inputs to a job in object storage.
#[cfg(feature = "objects")]
fn elsewhere(arguments: &Arguments, url: &str) -> Result<()> {
    use hecaton_fetch::remote::{Remote, Scratch};

    use super::run::finish_elsewhere;

    let stop = stop::on_request()?;
    let remote = Remote::open(url)?;
    let change = |job: &mut _| arguments.tuning.change(job);
    let added = until_stopped(&stop, || remote.add(arguments.more(), &change))?;
    let scratch = Scratch::new(None)?;
    let mut started = remote.prepare(&scratch)?;
    if !arguments.quiet {
        say(added, &started.plan.columns);
    }
    if arguments.plan {
        return Ok(());
    }
    change(&mut started.job);
    let way = Way::new(arguments.quiet, &arguments.watching);
    finish_elsewhere(&remote, &started, &stop, &way)
}
