//! Some of a job's inputs sent again: those whose records match a condition. Their new records replace the old ones.
//!
//! A round is a small job in a folder of its own, `again/<id>`. It has the parts of the job, each with only the
//! selected inputs. When the round is done, each part's results are written anew, and the round is removed. A crash at
//! any moment leaves a round that resumes, or results that are merged once more with the same outcome. `onward` makes a
//! round of redirects to hosts of other parts.

mod aside;
mod choose;
mod merge;
mod onward;
mod spared;

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use uuid::Uuid;

use self::choose::{Pick, choose};
pub use self::merge::Kept;
use self::merge::merge;
pub use self::onward::follow_up;
use crate::error::{Error, Result, at};
use crate::job::Job;
use crate::plan::{Folder, Plan, sync_folder_of, write_whole};
use crate::record::count;
use crate::run::{Running, Summary};
use crate::segment::{Commit, load};
use crate::start::{self, Lock, Started};

/// The default condition of `again`: outcomes that may be different next time.
pub const USUAL: &str = "error or status >= 500 or status == 429 or outcome == 'unreached'";

/// The default condition of `again --if-changed`: everything that was sent.
pub const ALL_SENT: &str = "outcome != 'skipped' and outcome != 'invalid'";

/// What stands for the condition in a round for what is lost. It is no condition that anyone can write: there is no
/// such field.
const DAMAGED: &str = "damaged";

/// Which inputs a round is for.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// Those whose records match this, or [`USUAL`].
    Matching(Option<&'a str>),
    /// Those whose records match this, or [`ALL_SENT`]. Each request says which version of the response the job has.
    Changed(Option<&'a str>),
    /// Those whose record or body is lost.
    Damaged,
}

impl<'a> Choice<'a> {
    /// The condition that someone gave.
    pub fn given(self) -> Option<&'a str> {
        match self {
            Choice::Matching(given) | Choice::Changed(given) => given,
            Choice::Damaged => Some(DAMAGED),
        }
    }

    /// The condition.
    fn condition(self) -> &'a str {
        self.given().unwrap_or(match self {
            Choice::Changed(_) => ALL_SENT,
            _ => USUAL,
        })
    }

    fn pick(self, folder: &Folder) -> Result<Pick> {
        Ok(match self {
            Choice::Damaged => Pick::Lost,
            Choice::Matching(_) => Pick::Matching(crate::show::matching(folder, self.condition())?),
            Choice::Changed(_) => Pick::Changed(crate::show::matching(folder, self.condition())?),
        })
    }
}

/// The round of a folder that is not done yet, if there is one.
///
/// # Errors
/// When it cannot be read.
pub fn current(folder: &Folder) -> Result<Option<Started>> {
    let Some(round) = folder.current_round()? else {
        return Ok(None);
    };
    // Another process may merge it between any two steps.
    let Some(plan) = Plan::load(&round)? else {
        return Ok(None);
    };
    let job = match Job::read(&round.job()) {
        Err(_) if round.is_merged() => return Ok(None),
        job => job?,
    };
    Ok(Some(Started::found(round, job, plan)))
}

/// The file that says which records a round is for.
fn condition_of(round: &Folder) -> PathBuf {
    round.path().join("where")
}

/// Which records a round is for.
///
/// # Errors
/// When it cannot be read.
pub fn condition(round: &Folder) -> Result<String> {
    let path = condition_of(round);
    fs::read_to_string(&path).map_err(at("read", &path))
}

/// Makes a new round, with its id and in its folder. If that fails, nothing of it is left.
fn begin<T>(
    folder: &Folder,
    lock: &Lock,
    make: impl FnOnce(String, &Folder) -> Result<T>,
) -> Result<(Folder, T)> {
    // Nothing was sent by an earlier try that has no `plan.json`.
    clean_up(folder, lock)?;
    let id = Uuid::new_v4().simple().to_string()[..8].to_owned();
    let round = folder.round(&id);
    for made in [round.planned(), round.results(), round.parts()] {
        fs::create_dir_all(&made).map_err(at("create", &made))?;
    }
    let made = make(id, &round);
    if !round.plan().exists() {
        clean_up(folder, lock)?;
    }
    Ok((round, made?))
}

/// Writes what makes the round: its plan last.
fn write(round: &Folder, condition: &str, job: &Job, plan: &Plan) -> Result<()> {
    write_whole(&condition_of(round), condition.as_bytes())?;
    write_whole(&round.job(), job.to_toml()?.as_bytes())?;
    plan.write(round)
}

/// The inputs that were chosen.
#[derive(Debug)]
pub struct Chosen<R> {
    /// Their round; none if no record matches.
    pub round: Option<R>,
    /// How many inputs match and are left, because they are `unknown` and the condition does not name this outcome.
    pub left: u64,
}

/// Prepares a round, or finds one to resume. A new round holds the lock of the folder.
///
/// # Errors
/// When the job is not done, another round is not, or the expression cannot be read.
pub fn prepare(
    folder: &Folder,
    choice: Choice<'_>,
    change: &dyn Fn(&mut Job),
) -> Result<Chosen<Started>> {
    if let Err(left) = done(folder) {
        // If another process works on these parts, the message names it.
        start::refuse_held(folder)?;
        return Err(left);
    }
    if let Some(round) = current(folder)? {
        return resume(folder, round, choice.given(), change);
    }
    let held = start::lock(folder)?;
    // Another process may have added inputs or begun a round before the lock was free.
    let base = done(folder)?;
    if let Some(round) = current(folder)? {
        return resume(folder, round, choice.given(), change);
    }
    let pick = choice.pick(folder)?;
    let job = changed(base.job, &base.plan, change)?;
    let (round, (plan, left)) = begin(folder, &held, |id, round| {
        let (mut plan, left) = choose(folder, &base.plan, round, &job, &pick)?;
        plan.round = Some(id);
        if plan.inputs > 0 {
            write(round, choice.condition(), &job, &plan)?;
        }
        Ok((plan, left))
    })?;
    if plan.inputs == 0 {
        return Ok(Chosen { round: None, left });
    }
    let round = Some(Started {
        is_resumed: false,
        lock: Some(held),
        ..Started::found(round, job, plan)
    });
    Ok(Chosen { round, left })
}

/// The job of a round.
fn changed(mut job: Job, plan: &Plan, change: &dyn Fn(&mut Job)) -> Result<Job> {
    change(&mut job);
    job.check()?;
    crate::run::check(&job)?;
    crate::run::check_plan(&job, plan)?;
    Ok(job)
}

/// Puts an empty file where the results of a part that is done are nowhere, so that a round can fill it.
///
/// # Errors
/// When the folder holds no job, or the system refuses.
pub fn stand_in_for_lost_results(folder: &Folder) -> Result<()> {
    let plan = Plan::planned(folder)?;
    let results = folder.results();
    fs::create_dir_all(&results).map_err(at("create", &results))?;
    for part in &plan.parts {
        let Some(commit) = load(folder, part.number)? else {
            continue;
        };
        let path = folder.result(part.number);
        let draft = Commit::final_draft(folder, part.number, commit.attempt);
        if !path.exists() && !draft.exists() {
            write_whole(&path, b"")?;
        }
    }
    Ok(())
}

/// The job of a folder, which must be done.
fn done(folder: &Folder) -> Result<Started> {
    let base = start::load(folder.clone())?;
    let left = base.plan.undone(folder).count();
    if left == 0 {
        return Ok(base);
    }
    let path = folder.path().display();
    Err(Error::usage(format!(
        "{path} is not done yet, {left} of its {} parts are left: `hecaton fetch -o {path}` resumes it, and `again` comes after that",
        base.plan.parts.len(),
    )))
}

/// Refuses a choice of records that is not that of the round that began. Its user knows the job by `home`.
pub(crate) fn refuse_other(matching: Option<&str>, began: &str, home: &str) -> Result<()> {
    match matching {
        Some(matching) if matching != began => {
            let otherwise = match matching {
                DAMAGED => format!("; if damage keeps it from its end, remove {home}/again"),
                _ => String::new(),
            };
            Err(Error::usage(format!(
                "a round for '{began}' is not done yet: `hecaton fetch again {home}` without --where resumes it{otherwise}"
            )))
        }
        _ => Ok(()),
    }
}

fn resume(
    folder: &Folder,
    mut round: Started,
    matching: Option<&str>,
    change: &dyn Fn(&mut Job),
) -> Result<Chosen<Started>> {
    let home = folder.path().display().to_string();
    refuse_other(matching, &condition(&round.folder)?, &home)?;
    change(&mut round.job);
    round.job.check()?;
    crate::run::check(&round.job)?;
    Ok(Chosen {
        round: Some(round),
        left: 0,
    })
}

/// Does a round and merges what it came to. Also how many inputs keep a good record.
///
/// # Errors
/// When it cannot be done, or someone ended it.
pub fn run(
    folder: &Folder,
    round: &mut Started,
    with: &mut Running<'_>,
) -> Result<(Summary, Kept)> {
    let lock = match round.lock.take() {
        Some(held) => held,
        None => start::lock(folder)?,
    };
    // Another process may have finished this round before the lock was free, and begun another in its place.
    let now = current(folder)?;
    if now.is_none_or(|now| now.plan.round != round.plan.round) {
        return Err(Error::failed(format!(
            "another process has finished the round in {} meanwhile: run the same command again",
            folder.path().display()
        )));
    }
    let summary = round.run(with)?;
    let kept = merge_if_done(folder, round, &lock)?;
    if kept.stale > 0 {
        with.observer.say(&format!(
            "good no longer: {} with a body that the server has replaced by one with another checksum than the list names; the earlier body stays, and `hecaton fetch add` with the new checksums fetches the new one",
            match kept.stale {
                1 => "1 record".to_owned(),
                many => format!("{} records", count(many)),
            }
        ));
    }
    Ok((summary, kept))
}

/// Merges a round once all of its parts are done, whoever ran them, and removes it. Does nothing while parts are left.
/// The caller holds the lock. Returns how many inputs keep a good record.
///
/// # Errors
/// When the results cannot be written.
pub fn merge_if_done(folder: &Folder, round: &Started, lock: &Lock) -> Result<Kept> {
    let mut kept = Kept::default();
    if !round.plan.is_done(&round.folder) {
        return Ok(kept);
    }
    let repairs = condition(&round.folder).is_ok_and(|condition| condition == DAMAGED);
    match round.plan.follows_redirects {
        true => onward::merge_all(folder, round)?,
        false => {
            for part in round.plan.parts.iter().filter(|part| part.inputs > 0) {
                let new = round.folder.result(part.number);
                let of_round = merge::Round {
                    new: Some(&new),
                    id: round.plan.round.as_deref(),
                    repairs,
                };
                kept.add(merge(folder, &of_round, part.number)?);
            }
        }
    }
    // First of all the plan: without it there is no round, also if the rest stays after a crash.
    let plan = round.folder.plan();
    fs::remove_file(&plan)
        .and_then(|()| sync_folder_of(&plan))
        .map_err(at("remove", &plan))?;
    clean_up(folder, lock)?;
    Ok(kept)
}

/// Removes what a crash left of rounds, and a merged one. The caller holds the lock.
///
/// # Errors
/// When it cannot be removed.
pub fn clean_up(folder: &Folder, _: &Lock) -> Result<()> {
    if folder.current_round()?.is_some() {
        return Ok(());
    }
    let rounds = folder.rounds();
    match fs::remove_dir_all(&rounds) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // A late worker wrote into it meanwhile. The next process that cleans up removes that.
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => removed.map_err(at("remove", &rounds)),
    }
}
