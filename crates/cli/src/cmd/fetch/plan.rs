//! `hecaton fetch plan`: plans a job and sends nothing, for workers that do its parts.

use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::place;
use hecaton_fetch::record::plural;

use super::arguments::JobArguments;
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
    let place = place::at(&arguments.into, " plan")?;
    let job = arguments.job.job()?;
    let started = until_stopped(&stop, || place.plan_job(job))?;
    writeln!(stdout(), "{}", started.plan.parts.len())?;
    crate::say!(
        "{} in {}, numbered 0 to {}: `hecaton fetch run-part {} N` does one of them",
        plural(started.plan.inputs, "input"),
        plural(started.plan.parts.len() as u64, "part"),
        started.plan.parts.len().saturating_sub(1),
        arguments.into.display()
    );
    if let Some(sentence) = nothing_listed(&started) {
        crate::say!("{sentence}");
    }
    Ok(())
}
