//! `report.html`: what a job came to, on one page.

use std::path::PathBuf;

use super::lines::{each_line, fields, record};
use super::page::{ReportData, html};
use crate::error::Result;
use crate::plan::{Folder, Plan, write_whole};

/// Writes the page; its path. With `checks_records`, all fields of each record are read, which takes longer: a job that
/// ends has just written them, and does without.
///
/// # Errors
/// When the folder holds no job, or it cannot be written.
pub fn report(folder: &Folder, checks_records: bool) -> Result<PathBuf> {
    let mut tally = ReportData::default();
    each_line(folder, &mut |line| {
        if checks_records {
            record(line)?;
        }
        tally.add(&fields(line)?);
        Result::Ok(true)
    })?;
    // A round has the plan of its whole job, and requests only some of it again.
    let plan = Plan::load(folder)?.filter(|plan| plan.round.is_none());
    let missing = plan.map_or(0, |plan| plan.inputs.saturating_sub(tally.all()));
    let name = folder
        .path()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let path = folder.path().join("report.html");
    write_whole(
        &path,
        html(&tally, missing, &name.unwrap_or_default()).as_bytes(),
    )?;
    Ok(path)
}
