//! `hecaton fetch add`: more inputs for a job, whether it is done or not.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::place;
use hecaton_fetch::record::{count, plural};
use hecaton_fetch::run::Options;
use hecaton_fetch::start::{Added, More};

use super::live::Live;
use super::options::Home;
use super::planning::until_stopped;
use super::run::finish;
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
    let place = place::at(&arguments.home.folder, " add")?;
    let stop = stop::on_request()?;
    let change = |job: &mut _| arguments.tuning.change(job);
    let watching = &arguments.watching;
    let live = (!arguments.plan).then(|| Live::new(watching)).transpose()?;
    let (started, added) = until_stopped(&stop, || place.add(arguments.more(), &change))?;
    if !watching.quiet {
        say(added, &started.plan.columns);
    }
    match live {
        None => Ok(()),
        Some(live) => finish(&*place, started, Options::default(), &stop, live, watching),
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
