//! Makes a plan: inputs → groups → parts, and `plan.json` at the end.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use uuid::Uuid;

use super::entry::{Planned, write_planned};
use super::folder::Folder;
use super::groups::{HostCounts, Routed, WITHOUT_RATE};
use super::parts::{Frames, Part, assign};
use super::plan_file::{Index, Plan, VERSION, write_repeats};
use super::repeats::Repeats;
use super::requests::search;
use super::sources::{Identity, Listed};
use super::spool::{GROUPS, Spool, Spooled};
use crate::error::{Error, Result, at};
use crate::input::{Bad, Entry};
use crate::record::Columns;

/// The limits of a plan.
pub struct PlanLimits {
    /// Most parts that the inputs of one host are split into: as many as requests may be in flight to the host.
    pub max_shards: usize,
    /// About how many inputs a part has.
    pub part_size: u64,
    /// Whether a request is sent for every input, also for duplicates.
    pub keep_duplicates: bool,
    /// Whether the job may send more than 10 requests a second to hosts of others.
    pub any_rate: bool,
}

/// Says where an input goes, or why it cannot be sent.
pub type Routing<'a> =
    &'a mut dyn FnMut(&Columns, &mut dyn FnMut(Routed<'_>)) -> std::result::Result<(), String>;

/// The columns and the lists of an input that was read.
pub struct Fed {
    /// The columns of the input.
    pub columns: Vec<String>,
    /// The contents of each list, in their order.
    pub lists: Vec<Listed>,
}

/// Passes every entry of the input to the given function.
pub type Feed<'a> = &'a mut dyn FnMut(&mut dyn FnMut(Entry) -> Result<()>) -> Result<Fed>;

/// The totals of the parts that were planned before these.
#[derive(Default)]
pub struct Before {
    /// How many parts.
    pub parts: u32,
    /// Which addition this is.
    pub addition: u32,
}

/// Makes the plan of a folder, and writes `plan.json` last. `route` says where an input goes, or why it cannot be
/// sent.
///
/// # Errors
/// When the input cannot be read, the folder cannot be written, or the rules forbid it.
pub fn make(
    folder: &Folder,
    files: &[PathBuf],
    feed: Feed<'_>,
    rules: &PlanLimits,
    route: Routing<'_>,
) -> Result<Plan> {
    let planned = folder.planned();
    // Removes the leftovers of an earlier try. Nothing was sent before `plan.json` existed.
    let _ = fs::remove_dir_all(&planned);
    fs::create_dir_all(&planned).map_err(at("create", &planned))?;
    let named = files.to_vec();
    let found = thread::spawn(move || identities_before(&named));
    let path = folder.inputs();
    let spool = Spool::create(&path, rules.part_size)?;
    let mut sorter = Sorter::new(spool, folder, &path, rules);
    let fed = feed(&mut |entry| sorter.take(entry, route))?;
    sorter.refuse_busy(rules).inspect_err(|_| {
        let _ = fs::remove_dir_all(&planned);
    })?;
    let found = found.join();
    let found = found.map_err(|_| Error::failed("reading the input failed"))??;
    let sources = identities(files, found, &fed.lists);
    divide(folder, sorter, fed.columns, sources, rules)
}

/// Divides the inputs that were sorted into parts, and writes the plan.
fn divide(
    folder: &Folder,
    sorter: Sorter,
    columns: Vec<String>,
    sources: Vec<Identity>,
    rules: &PlanLimits,
) -> Result<Plan> {
    let (found, requests) = match sorter.repeats {
        Some(noted) => search(folder, Vec::new(), noted)?,
        None => Default::default(),
    };
    let repeats = write_repeats(folder, &found)?;
    let spooled = sorter
        .spool
        .finish()
        .map_err(at("write", &folder.inputs()))?;
    let heaviest = &sorter.hosts.heaviest;
    let parts = write_indexes(folder, &spooled, heaviest, rules, Before::default())?;
    let plan = Plan {
        version: VERSION,
        job: Uuid::new_v4(),
        round: None,
        follows_redirects: false,
        inputs: sorter.inputs,
        columns,
        sources,
        own_hosts: sorter.hosts.any_own,
        repeats,
        requests,
        parts,
    };
    write_plan(folder, &plan).map(|()| plan)
}

/// The identity of each list, before the list is read.
fn identities_before(files: &[PathBuf]) -> Result<Vec<Option<Identity>>> {
    files.iter().map(|path| Identity::of(path)).collect()
}

/// The identities of these lists, where this was found of each before it was read.
fn identities(files: &[PathBuf], found: Vec<Option<Identity>>, lists: &[Listed]) -> Vec<Identity> {
    let sources = files.iter().zip(found).zip(lists);
    let sources = sources.map(|((path, found), list)| Identity::complete(found, path, list));
    sources.collect()
}

fn write_plan(folder: &Folder, plan: &Plan) -> Result<()> {
    for made in [folder.results(), folder.parts()] {
        fs::create_dir_all(&made).map_err(at("create", &made))?;
    }
    plan.write(folder)
}

/// Writes where the inputs of new parts are. Returns the parts.
pub(super) fn write_indexes(
    folder: &Folder,
    spooled: &Spooled,
    heaviest: &[u64],
    rules: &PlanLimits,
    before: Before,
) -> Result<Vec<Part>> {
    let inputs = |frames: &Vec<_>| frames.iter().map(|(_, inputs)| *inputs).collect();
    let counts: Vec<Vec<u32>> = spooled.iter().map(inputs).collect();
    let assigned = assign(&counts, heaviest, rules.max_shards, rules.part_size);
    let owned = owned_groups(&assigned);
    let mut parts = Vec::new();
    for ((mut part, frames), numbers) in assigned.into_iter().zip(owned) {
        (part.number, part.added) = (part.number + before.parts, before.addition);
        let extents = |(group, range): (usize, _)| {
            let frames: &[_] = &spooled[group][range];
            vec![frames.iter().map(|(extent, _)| *extent).collect()]
        };
        let groups = frames.into_iter().map(extents).collect();
        Index { groups, numbers }.write(folder, part.number)?;
        parts.push(part);
    }
    Ok(parts)
}

/// The groups of each part. Groups without inputs are spread over all parts.
fn owned_groups(assigned: &[(Part, Frames)]) -> Vec<Vec<u16>> {
    let mut owned: Vec<Vec<u16>> = assigned
        .iter()
        .map(|(_, frames)| frames.iter().map(|(group, _)| *group as u16).collect())
        .collect();
    let filled: HashSet<u16> = owned.iter().flatten().copied().collect();
    let free = (0..GROUPS as u16).filter(|group| !filled.contains(group));
    for (number, group) in free.enumerate() {
        let count = owned.len();
        if let Some(part) = owned.get_mut(number % count.max(1)) {
            part.push(group);
        }
    }
    owned
}

pub(super) struct Sorter {
    pub spool: Spool,
    path: PathBuf,
    pub hosts: HostCounts,
    inputs: u64,
    /// None when duplicates are sent.
    pub repeats: Option<Repeats>,
}

impl Sorter {
    pub fn new(spool: Spool, folder: &Folder, path: &Path, rules: &PlanLimits) -> Sorter {
        Sorter {
            spool,
            repeats: (!rules.keep_duplicates).then(|| Repeats::new(folder.digests())),
            path: path.to_owned(),
            hosts: HostCounts::default(),
            inputs: 0,
        }
    }

    /// Refuses many inputs for a host of others without a rate.
    pub fn refuse_busy(&self, rules: &PlanLimits) -> Result<()> {
        match (&self.hosts.busy, rules.any_rate) {
            (Some(host), false) => Err(Error::usage(format!(
                "more than {WITHOUT_RATE} inputs are for {host}, which is not your own: say with --rate how many requests a second it may get, or with --i-own-these-hosts that it is yours; nothing was sent"
            ))),
            _ => Ok(()),
        }
    }

    pub fn take(&mut self, entry: Entry, route: Routing<'_>) -> Result<()> {
        self.inputs += 1;
        let number = entry.number;
        let mut group = anywhere(number);
        let held = match entry.held {
            Ok(columns) => {
                let (hosts, mut request) = (&mut self.hosts, None);
                let routed = route(&columns, &mut |routed| {
                    group = hosts.note(&routed);
                    request = Some(routed.request);
                });
                if let (Some(repeats), Some(digest)) = (&mut self.repeats, request) {
                    repeats.note(digest, number)?;
                }
                let bad = |reason| {
                    group = anywhere(number);
                    let text = in_words(&columns);
                    Bad { text, reason }
                };
                routed.map_err(bad).map(|()| columns)
            }
            bad => bad,
        };
        let planned = Planned::new(number, entry.line, held);
        let add = self.spool.add(group, |out| write_planned(&planned, out));
        add.map_err(at("write", &self.path))
    }
}

/// An input that is no request, as its record shows it.
pub(super) fn in_words(columns: &Columns) -> String {
    columns.values().cloned().collect::<Vec<_>>().join(", ")
}

/// A group for an entry that is sent to no host.
fn anywhere(number: u64) -> usize {
    (number % GROUPS as u64) as usize
}
