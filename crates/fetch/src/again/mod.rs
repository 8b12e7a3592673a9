//! Some of a job's inputs asked for again: those whose records match. Their new records take the place of the old ones.
//!
//! A round is a small job in the folder `again`, with the same parts, of which each has only what is asked for again. When it is done,
//! each part's results are written anew, and the round is removed. A crash at any moment leaves a round that goes on, or results
//! that are merged once more with the same outcome.

mod choose;
mod merge;

use std::fs;
use std::sync::atomic::AtomicBool;

use self::choose::choose;
use self::merge::merge;
use crate::error::{Error, Result, at};
use crate::expression::Expression;
use crate::job::Job;
use crate::plan::{Folder, Plan, write_whole};
use crate::run::{Observer, Options, Summary};
use crate::segment::load;
use crate::start::{self, Started};

/// What is asked for again unless it is said: what may end in another way by itself.
pub const USUAL: &str = "error or status >= 500 or status == 429 or why == 'breaker'";

/// Prepares a round, or finds one that goes on. None when no record matches.
///
/// # Errors
/// When the job is not done, another round is not, or the expression cannot be read.
pub fn prepare(
    folder: &Folder,
    matching: Option<&str>,
    change: &dyn Fn(&mut Job),
) -> Result<Option<Started>> {
    let base = start::load(folder.clone())?;
    for part in &base.plan.parts {
        if load(folder, part.number)?.is_none() {
            return Err(Error::usage(format!(
                "{} is not done yet: the command that began it goes on, and again comes after it",
                folder.path().display()
            )));
        }
    }
    let round = folder.again();
    if let Some(plan) = Plan::load(&round)? {
        return go_on(&round, plan, matching, change).map(Some);
    }
    let asked = matching.unwrap_or(USUAL);
    let expression = Expression::parse(asked).map_err(|error| Error::usage(error.to_string()))?;
    let mut job = base.job;
    change(&mut job);
    job.check()?;
    // What an earlier try left behind; nothing was sent before its seal.
    let _ = fs::remove_dir_all(round.path());
    for made in [round.planned(), round.results(), round.path().join("parts")] {
        fs::create_dir_all(&made).map_err(at("create", &made))?;
    }
    let plan = choose(folder, &base.plan, &round, &expression)?;
    if plan.inputs == 0 {
        let _ = fs::remove_dir_all(round.path());
        return Ok(None);
    }
    write_whole(&round.path().join("where"), asked.as_bytes())?;
    write_whole(&round.job(), job.to_toml()?.as_bytes())?;
    let text = serde_json::to_vec_pretty(&plan).expect("a plan becomes JSON");
    write_whole(&round.plan(), &text)?;
    Ok(Some(Started {
        folder: round,
        job,
        plan,
        is_resumed: false,
    }))
}

fn go_on(
    round: &Folder,
    plan: Plan,
    matching: Option<&str>,
    change: &dyn Fn(&mut Job),
) -> Result<Started> {
    let path = round.path().join("where");
    let began = fs::read_to_string(&path).map_err(at("read", &path))?;
    if matching.is_some_and(|matching| matching != began) {
        return Err(Error::usage(format!(
            "a round for {began:?} is not done yet: `hecaton fetch again` without --where goes on with it"
        )));
    }
    let mut job = Job::read(&round.job())?;
    change(&mut job);
    job.check()?;
    Ok(Started {
        folder: round.clone(),
        job,
        plan,
        is_resumed: true,
    })
}

/// Does a round and merges what it came to.
///
/// # Errors
/// When it cannot be done, or someone ended it.
pub fn run(
    folder: &Folder,
    round: &Started,
    options: &Options,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let _lock = start::lock(folder)?;
    let summary = round.run(options, stop, observer)?;
    for part in round.plan.parts.iter().filter(|part| part.inputs > 0) {
        merge(folder, &round.folder, part.number)?;
    }
    fs::remove_dir_all(round.folder.path()).map_err(at("remove", round.folder.path()))?;
    Ok(summary)
}
