//! The products of a finished job: `report.html` and the requested tables.

use std::path::PathBuf;

use anyhow::Result;
use hecaton_fetch::again;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::show::{export, report};
use hecaton_fetch::start::{Started, load, lock_if_free};

/// The most inputs of a job whose report is made without a request: the report reads every record.
const MOST_REPORTED: u64 = 1_000_000;

/// The job of a folder, or its round that is not done. Its parts are the ones to enqueue and to run.
///
/// # Errors
/// When there is none.
pub fn open(folder: &Folder) -> Result<Started> {
    let base = load(folder.clone())?;
    Ok(again::current(folder)?.unwrap_or(base))
}

/// Finishes a job once all of its parts are done, whoever ran them. The records of a round replace the old ones, and
/// then the products are made. If several processes call this at once, one of them does the work.
///
/// # Errors
/// When something cannot be written.
pub fn end(folder: &Folder, done: &Started) -> Result<()> {
    let is_round = done.plan.round.is_some();
    if done.plan.undone(&done.folder).next().is_some() {
        return Ok(());
    }
    if is_round && !again::finish(folder, done)? {
        return Ok(());
    }
    let base = load(folder.clone())?;
    match lock_if_free(folder)? {
        Some(_lock) => make(&base, is_round).map(drop),
        None => Ok(()),
    }
}

/// Where the report of a job is, once it is made.
pub fn page(folder: &Folder) -> PathBuf {
    folder.path().join("report.html")
}

/// Makes the products of a job that is done: those that are not there, or all anew. The tables.
///
/// # Errors
/// When one cannot be written.
pub fn make(done: &Started, anew: bool) -> Result<Vec<PathBuf>> {
    let folder = &done.folder;
    let is_needed = |path: &PathBuf| anew || !path.exists();
    let page = page(folder);
    if done.plan.inputs <= MOST_REPORTED && is_needed(&page) {
        report(folder)?;
    }
    let mut tables = Vec::new();
    for form in &done.job.final_tables {
        let path = folder.path().join(format!("table.{}", form.name()));
        if is_needed(&path) {
            export::export(folder, *form, &path)?;
        }
        tables.push(path);
    }
    Ok(tables)
}
