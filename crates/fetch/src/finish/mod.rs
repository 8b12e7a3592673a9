//! The end of a job: every part's results in `results/`, a finished round merged, and products made of these very
//! records.
//!
//! Every step may be repeated, and a crash may come between any two. Each verb begins with [`parts`], which completes
//! the parts that have a `COMMIT`. Once all parts are done, [`job`] does the rest, in any process. `stamp` notes which
//! records each product was made from, so that a stale product is made again.

mod own;
mod stamp;

use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use self::own::refuse_own;
use self::stamp::Stamps;
pub use self::stamp::digest as stamp;
use crate::again;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{Folder, Plan};
use crate::record::count;
use crate::run::Running;
use crate::segment::{self, load, publish};
use crate::show;
use crate::start::{self, Lock, Started, lock_if_free};

/// The most inputs of a job whose report is made without a request: the report reads every record.
pub const MOST_REPORTED: u64 = 1_000_000;

/// The longest that the end of a job waits for another process.
const A_MOMENT: Duration = Duration::from_secs(5);

/// How often it looks meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The page that every job of a usual size gets.
const PAGE: &str = "report.html";

/// The products of a finished job, up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Products {
    /// The tables that the job names.
    pub tables: Vec<PathBuf>,
    /// The report, if there is one.
    pub page: Option<PathBuf>,
}

/// Completes the parts that have a `COMMIT`, in a folder and in its round: their results are in `results/` afterwards.
///
/// # Errors
/// When the folder holds no job, or a file cannot be renamed.
pub fn parts(folder: &Folder) -> Result<()> {
    settle_all(folder, &Plan::planned(folder)?)?;
    match again::current(folder)? {
        // A round may be merged and removed by another process at any moment.
        Some(round) => match settle_all(&round.folder, &round.plan) {
            Err(_) if round.folder.is_merged() => Ok(()),
            settled => settled,
        },
        None => Ok(()),
    }
}

fn settle_all(folder: &Folder, plan: &Plan) -> Result<()> {
    for part in &plan.parts {
        if let Some(commit) = load(folder, part.number)? {
            publish(folder, &commit)?;
        }
    }
    Ok(())
}

/// How far a look at the end of a job came.
enum Reached {
    /// Parts are left, of the job or of a round.
    Parts,
    /// Another process holds the folder.
    Lock,
    Products(Products),
}

/// Finishes a job whose parts are done: completes them, merges a finished round, and makes the products that are
/// missing or stale. None if parts are left, or if another process holds the folder.
///
/// # Errors
/// When the folder holds no job, or something cannot be written.
pub fn job(folder: &Folder) -> Result<Option<Products>> {
    match look(folder)? {
        Reached::Products(products) => Ok(Some(products)),
        Reached::Parts | Reached::Lock => Ok(None),
    }
}

/// Finishes a job as [`job`] does, for a process that may have done the last of its parts. If another process holds the
/// folder for a moment, such as `report`, nobody else finishes the job, so this one waits. A process that holds it for
/// longer does parts, and finishes the job itself.
///
/// # Errors
/// As [`job`].
pub fn last(folder: &Folder) -> Result<Option<Products>> {
    let begun = Instant::now();
    loop {
        match look(folder)? {
            Reached::Lock if begun.elapsed() < A_MOMENT && !start::is_stopped(folder) => {
                sleep(LOOK_EVERY);
            }
            Reached::Products(products) => return Ok(Some(products)),
            Reached::Parts | Reached::Lock => return Ok(None),
        }
    }
}

/// The job of a folder with its parts completed; none if parts are left.
fn done(folder: &Folder) -> Result<Option<Started>> {
    let job = start::load(folder.clone())?;
    settle_all(folder, &job.plan)?;
    let is_done = job.plan.is_done(folder);
    Ok(is_done.then_some(job))
}

fn look(folder: &Folder) -> Result<Reached> {
    if done(folder)?.is_none() {
        return Ok(Reached::Parts);
    }
    let Some(lock) = lock_if_free(folder)? else {
        // Redirects are followed at the end of a job, by one process for all.
        let is_short =
            |round: Started| round.plan.follows_redirects || round.plan.is_done(&round.folder);
        return Ok(match again::current(folder)?.is_none_or(is_short) {
            true => Reached::Lock,
            false => Reached::Parts,
        });
    };
    // Another process may have added inputs before the lock was free.
    let Some(done) = done(folder)? else {
        return Ok(Reached::Parts);
    };
    if let Some(round) = again::current(folder)? {
        settle_all(&round.folder, &round.plan)?;
        again::merge_if_done(folder, &round, &lock)?;
    } else {
        again::clean_up(folder, &lock)?;
    }
    let round = again::current(folder)?;
    let follows = round
        .as_ref()
        .is_some_and(|round| round.plan.follows_redirects);
    if follows || round.is_none() && again::follow_up(folder, &done, &lock)? {
        return Ok(Reached::Parts);
    }
    products(&done, &lock).map(Reached::Products)
}

/// Finishes a job as [`last`] does, and follows the redirects that wait for a round of their own: each as the job says
/// now.
///
/// # Errors
/// As [`last`], when a round cannot be done, and when results were damaged after they were written.
pub fn rounds(folder: &Folder, now: &Job, with: &mut Running<'_>) -> Result<Option<Products>> {
    loop {
        let products = last(folder)?;
        let round = again::current(folder)?;
        let Some(round) = round.filter(|round| products.is_none() && round.plan.follows_redirects)
        else {
            refuse_changed(folder)?;
            return Ok(products);
        };
        let inputs = count(round.plan.inputs);
        with.observer.say(&format!(
            "following {inputs} redirects to hosts of other parts"
        ));
        let mut round = Started {
            job: Job {
                pace: now.pace.clone(),
                network: now.network.clone(),
                ..round.job.clone()
            },
            ..round
        };
        match again::run(folder, &mut round, with) {
            // Another process has done the round since it was read.
            Err(Error::Failed(_)) if round.folder.is_merged() => {}
            ran => drop(ran?),
        }
    }
}

/// Refuses results that were damaged after their part was done.
fn refuse_changed(folder: &Folder) -> Result<()> {
    if folder.mirror().is_some() {
        return Ok(());
    }
    let parts = Plan::planned(folder)?.parts;
    let mut parts = parts.iter();
    parts.try_for_each(|part| segment::refuse_changed(folder, part.number))
}

/// Makes the products that are missing or stale.
fn products(done: &Started, lock: &Lock) -> Result<Products> {
    let folder = &done.folder;
    let mut stamps = Stamps::of(folder, &done.plan)?;
    let mut made = Products::default();
    let page = folder.path().join(PAGE);
    let is_needed = done.plan.inputs <= MOST_REPORTED || page.exists();
    if is_needed && stamps.is_stale(PAGE) {
        show::report(folder, false)?;
        stamps.note(PAGE, lock)?;
    }
    made.page = page.exists().then_some(page);
    for format in &done.job.final_tables {
        let name = format!("table.{}", format.name());
        let path = folder.path().join(&name);
        if stamps.is_stale(&name) {
            show::export::export(folder, None, *format, &path)?;
            stamps.note(&name, lock)?;
        }
        made.tables.push(path);
    }
    Ok(made)
}

/// The products of a finished job that are missing, or were made of other records.
///
/// # Errors
/// When a commit cannot be read.
pub fn stale(folder: &Folder, plan: &Plan) -> Result<Vec<String>> {
    let stamps = Stamps::of(folder, plan)?;
    let names = stamps.names();
    Ok(names
        .filter(|name| stamps.is_stale(name))
        .map(str::to_owned)
        .collect())
}

/// Makes the report of a job, done or not; its path.
///
/// # Errors
/// When the folder holds no job, or the report cannot be written.
pub fn report(folder: &Folder) -> Result<PathBuf> {
    let plan = Plan::planned(folder)?;
    // The stamp comes first: records that arrive meanwhile make the report stale.
    let mut stamps = Stamps::of(folder, &plan)?;
    let path = show::report(folder, true)?;
    if let Some(lock) = lock_if_free(folder)? {
        stamps.note(PAGE, &lock)?;
    }
    Ok(path)
}
