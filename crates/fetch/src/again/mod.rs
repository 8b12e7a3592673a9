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
use crate::job::Job;
use crate::plan::{Folder, Plan, write_whole};
use crate::run::{Observer, Options, Summary};
use crate::start::{self, Started};

/// What is asked for again unless it is said: what may end in another way by itself.
pub const USUAL: &str = "error or status >= 500 or status == 429 or why == 'breaker'";

/// The round of a folder that is not done yet, if there is one.
///
/// # Errors
/// When it cannot be read.
pub fn current(folder: &Folder) -> Result<Option<Started>> {
    let round = folder.again();
    let Some(plan) = Plan::load(&round)? else {
        return Ok(None);
    };
    let job = Job::read(&round.job())?;
    Ok(Some(Started {
        folder: round,
        job,
        plan,
        is_resumed: true,
    }))
}

/// Which records the round of a folder is for.
///
/// # Errors
/// When it cannot be read.
pub fn asked(folder: &Folder) -> Result<String> {
    let path = folder.again().path().join("where");
    fs::read_to_string(&path).map_err(at("read", &path))
}

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
    let left = base.plan.undone(folder).count();
    if left > 0 {
        return Err(Error::usage(format!(
            "{} is not done yet, {left} of its {} parts are left: `hecaton fetch -o {}` goes on with it, and again comes after it",
            folder.path().display(),
            base.plan.parts.len(),
            folder.path().display()
        )));
    }
    if let Some(round) = current(folder)? {
        return go_on(folder, round, matching, change).map(Some);
    }
    let _lock = start::lock(folder)?;
    let round = folder.again();
    let asked = matching.unwrap_or(USUAL);
    let expression = crate::show::matching(folder, asked)?;
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
    folder: &Folder,
    mut round: Started,
    matching: Option<&str>,
    change: &dyn Fn(&mut Job),
) -> Result<Started> {
    let began = asked(folder)?;
    if matching.is_some_and(|matching| matching != began) {
        let path = folder.path().display();
        return Err(Error::usage(format!(
            "a round for '{began}' is not done yet: `hecaton fetch again {path}` without --where goes on with it"
        )));
    }
    change(&mut round.job);
    round.job.check()?;
    Ok(round)
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
    put_in_place(folder, round)?;
    Ok(summary)
}

/// Puts the records of a round in their place once all of its parts are done, whoever did them; false if they are not, or
/// another process does so.
///
/// # Errors
/// When the results cannot be written.
pub fn finish(folder: &Folder, round: &Started) -> Result<bool> {
    let Some(_lock) = start::lock_if_free(folder)? else {
        return Ok(false);
    };
    let is_there = round.folder.plan().exists();
    let is_done = is_there && round.plan.undone(&round.folder).next().is_none();
    if is_done {
        put_in_place(folder, round)?;
    }
    Ok(is_done)
}

fn put_in_place(folder: &Folder, round: &Started) -> Result<()> {
    for part in round.plan.parts.iter().filter(|part| part.inputs > 0) {
        merge(folder, &round.folder, part.number)?;
    }
    // First of all the plan: without it there is no round, also if the rest stays after a crash.
    fs::remove_file(round.folder.plan()).map_err(at("remove", &round.folder.plan()))?;
    fs::remove_dir_all(round.folder.path()).map_err(at("remove", round.folder.path()))
}
