//! Decides whether a finished job has enough good responses: exit status 3 or 4 if it has not.

use anyhow::Result;
use hecaton_fetch::job::Job;
use hecaton_fetch::run::{Shortfall, shortfall, tally};
use hecaton_fetch::segment::Tally;
use hecaton_fetch::start::Started;

/// The job is done, and too few of its inputs have a good response; ends with status 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TooFewGood(String);

/// The job is done, and some of its inputs have no good response; ends with status 4.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Incomplete(String);

/// Checks a job against its `fail_if`, once all of the job is done. Its user knows it by `home`.
///
/// # Errors
/// When too few inputs have a good response, or a `COMMIT` cannot be read.
pub fn judge(base: &Started, job: &Job, home: &str) -> Result<()> {
    if !base.plan.is_done(&base.folder) {
        return Ok(());
    }
    let tally = tally(&base.folder, &base.plan)?;
    if tally.onward > 0 {
        // Redirects are still to be followed.
        return Ok(());
    }
    judge_by(job.fail_if.as_deref(), &tally, home)
}

/// Ends with the status of a job whose inputs are not all good, unless the job's `fail_if` says how many may be so. Then
/// the reason is only said.
///
/// # Errors
/// The reason.
pub fn unless_allowed(job: &Job, why: String) -> Result<()> {
    match job.fail_if {
        Some(_) => crate::say!("{why}"),
        None => return Err(Incomplete(why).into()),
    }
    Ok(())
}

/// Checks the counts of the job of a folder against a limit.
///
/// # Errors
/// When they are not good enough, or the limit cannot be read.
pub fn judge_by(fail_if: Option<&str>, tally: &Tally, home: &str) -> Result<()> {
    match shortfall(fail_if, tally, home)? {
        Some(Shortfall::Failed(why)) => Err(TooFewGood(why).into()),
        Some(Shortfall::Incomplete(why)) => Err(Incomplete(why).into()),
        None => Ok(()),
    }
}
