//! `hecaton fetch plan`: plans a job and sends nothing, for workers that do its parts.

use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::start::{Started, prepare};
use hecaton_lab::findings::words::plural;

use super::arguments::JobArguments;
use super::elsewhere;
use super::planning::{nothing_listed, until_stopped};
use crate::stop;

/// Plans a job and sends nothing; `hecaton fetch run-part DIR N` then runs part N.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    job: JobArguments,
    /// The job's folder, or s3://bucket/prefix, gs:// or az://.
    #[arg(short = 'o', long = "into", visible_alias = "out", value_name = "DIR")]
    into: PathBuf,
}

/// Does it.
///
/// # Errors
/// When it cannot be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop::on_request()?;
    #[cfg(feature = "objects")]
    if let Some(url) = hecaton_fetch::remote::url(&arguments.into) {
        use hecaton_fetch::remote::{Remote, Scratch};
        let scratch = Scratch::new(None)?;
        let (remote, job) = (Remote::open(url)?, arguments.job.job()?);
        let started = until_stopped(&stop, || remote.plan(&scratch, job))?;
        return planned(&started, arguments);
    }
    elsewhere::refuse(&arguments.into, " plan")?;
    let (folder, job) = (Folder::at(&arguments.into), arguments.job.job()?);
    let started = until_stopped(&stop, || prepare(folder, job))?;
    planned(&started, arguments)
}

fn planned(started: &Started, arguments: &Arguments) -> Result<()> {
    writeln!(stdout(), "{}", started.plan.parts.len())?;
    crate::say!(
        "{} in {}, numbered 0 to {}: `hecaton fetch run-part {} N` does one of them",
        plural(started.plan.inputs, "input"),
        plural(started.plan.parts.len() as u64, "part"),
        started.plan.parts.len().saturating_sub(1),
        arguments.into.display()
    );
    if let Some(sentence) = nothing_listed(started) {
        crate::say!("{sentence}");
    }
    Ok(())
}
