//! A plan for inputs whose next request goes to another host than their first: parts by the host where a redirect
//! leads.

use super::entry::{Planned, write_planned};
use super::folder::Folder;
use super::groups::{HostCounts, Routed};
use super::make::{Before, PlanLimits, write_indexes};
use super::plan_file::{Plan, VERSION};
use super::spool::Spool;
use crate::error::{Result, at};

/// Takes an input and where it goes now.
pub type Take<'a> = &'a mut dyn FnMut(&Planned, Routed<'_>) -> Result<()>;

/// Writes the inputs that a feed hands over, and their index. Returns the plan, which the caller names and writes.
///
/// # Errors
/// When the folder cannot be written.
pub fn regroup(
    folder: &Folder,
    base: &Plan,
    rules: &PlanLimits,
    feed: &mut dyn FnMut(Take<'_>) -> Result<()>,
) -> Result<Plan> {
    let path = folder.inputs();
    let mut spool = Spool::create(&path, rules.part_size)?;
    let mut hosts = HostCounts::default();
    let mut inputs = 0;
    feed(&mut |planned, routed| {
        inputs += 1;
        let added = spool.add(hosts.note(&routed), |out| write_planned(planned, out));
        added.map_err(at("write", &path))
    })?;
    let spooled = spool.finish().map_err(at("write", &path))?;
    let parts = write_indexes(folder, &spooled, &hosts.heaviest, rules, Before::default())?;
    Ok(Plan {
        version: VERSION,
        follows_redirects: true,
        // Each of them was the first of its request.
        repeats: 0,
        requests: Vec::new(),
        inputs,
        sources: Vec::new(),
        parts,
        ..base.clone()
    })
}
