//! Adds inputs to a plan: new parts behind the others, in the same files.
//!
//! The new frames go behind the old ones in `inputs.zst`, and `plan.json` is replaced last: after a crash before that,
//! nothing was added. The parts of an addition begin only when all earlier parts are done, because their hosts are the
//! same. Duplicates are found among all inputs, old and new: `requests` has the old ones, so these are not read.

use std::path::Path;

use roaring::RoaringTreemap;

use super::entry::Content;
use super::folder::Folder;
use super::inputs::InputFile;
use super::make::{Before, PlanLimits, Routing, Sorter, write_indexes};
use super::only_new::OnlyNew;
use super::plan_file::{Plan, write_repeats};
use super::repeats::Repeats;
use super::requests::{Run, are_there, search};
use super::sources::Identity;
use super::spool::Spool;
use crate::error::{Error, Result, at};
use crate::input::Entry;

/// Takes an entry.
type Taker<'a> = &'a mut dyn FnMut(Entry) -> Result<()>;

/// Hands over every page.
type Pages<'a> = &'a mut dyn FnMut(Taker<'_>) -> Result<()>;

/// Hands over entries.
pub struct MoreFeed<'a> {
    /// Every new entry of lists; the identities of the lists.
    pub lists: &'a mut dyn FnMut(Taker<'_>) -> Result<Vec<Identity>>,
    /// Every page, if there are any. Those that the plan has are left out, unless the job sends duplicates.
    pub pages: Option<Pages<'a>>,
}

/// Adds the entries of a feed, and the identities of their lists. The plan as it was, if there is none.
///
/// # Errors
/// When the lists cannot be read, the folder cannot be written, or the rules forbid it.
pub fn extend(
    folder: &Folder,
    base: &Plan,
    feed: MoreFeed<'_>,
    rules: &PlanLimits,
    route: Routing<'_>,
) -> Result<Plan> {
    let path = folder.inputs();
    let spool = Spool::append(&path, rules.part_size)?;
    let mut sorter = Sorter::new(spool, folder, &path, rules);
    let mut plan = base.clone();
    plan.requests = match rules.keep_duplicates {
        true => Vec::new(),
        false => runs_of(folder, base, route)?,
    };
    let inputs = &mut plan.inputs;
    let mut take = |entry: Entry, route: Routing<'_>| {
        *inputs += 1;
        sorter.take(entry.numbered(*inputs - 1), route)
    };
    let sources = (feed.lists)(&mut |entry| take(entry, route))?;
    match feed.pages {
        Some(pages) if rules.keep_duplicates => pages(&mut |entry| take(entry, route))?,
        Some(pages) => {
            let mut new = OnlyNew::new(folder, base, rules.part_size)?;
            pages(&mut |entry| new.take(entry, route))?;
            new.each(&plan.requests, route, &mut take)?;
        }
        None => {}
    }
    sorter.refuse_busy(rules)?;
    sources
        .into_iter()
        .for_each(|source| note(&mut plan, source));
    if plan.inputs > base.inputs {
        append(folder, base, sorter, rules, &mut plan)?;
    }
    plan.write(folder)?;
    Ok(plan)
}

/// Notes a list as it is now.
fn note(plan: &mut Plan, source: Identity) {
    plan.sources.retain(|known| known.path != source.path);
    plan.sources.push(source);
}

/// Writes the new inputs, their duplicates and their parts.
fn append(
    folder: &Folder,
    base: &Plan,
    sorter: Sorter,
    rules: &PlanLimits,
    plan: &mut Plan,
) -> Result<()> {
    let path = folder.inputs();
    let spooled = sorter.spool.finish().map_err(at("write", &path))?;
    let mut found = earlier_repeats(folder, base)?;
    if let Some(noted) = sorter.repeats {
        let runs = std::mem::take(&mut plan.requests);
        let more;
        (more, plan.requests) = search(folder, runs, noted)?;
        found |= more;
    }
    // A plan that is not replaced reads those of its own inputs, which are the same.
    plan.repeats = write_repeats(folder, &found)?;
    let before = Before {
        parts: base.parts.len() as u32,
        addition: last_addition(base).saturating_add(1),
    };
    let heaviest = &sorter.hosts.heaviest;
    let more = write_indexes(folder, &spooled, heaviest, rules, before)?;
    plan.own_hosts |= sorter.hosts.any_own;
    plan.parts.extend(more);
    Ok(())
}

fn last_addition(plan: &Plan) -> u32 {
    let additions = plan.parts.iter().map(|part| part.added);
    additions.max().unwrap_or(0)
}

/// The repeats among the inputs of a plan. An addition that a crash ended may have left others behind them.
fn earlier_repeats(folder: &Folder, base: &Plan) -> Result<RoaringTreemap> {
    let mut found = base.repeated(folder)?;
    found.remove_range(base.inputs..);
    Ok(found)
}

/// Where the requests of a plan are. They are found anew, which reads all inputs, if an older program made the plan or
/// the file is gone.
fn runs_of(folder: &Folder, base: &Plan, route: Routing<'_>) -> Result<Vec<Run>> {
    if !base.requests.is_empty() && are_there(folder, &base.requests)? {
        return Ok(base.requests.clone());
    }
    let mut noted = Repeats::new(folder.digests());
    note_known(folder, base, &mut noted, route)?;
    let (_, runs) = search(folder, Vec::new(), noted)?;
    Ok(runs)
}

/// Notes the requests of the inputs that are planned already, each once.
fn note_known(
    folder: &Folder,
    base: &Plan,
    repeats: &mut Repeats,
    route: Routing<'_>,
) -> Result<()> {
    let known = earlier_repeats(folder, base)?;
    let mut file = InputFile::open(folder)?;
    for part in &base.parts {
        let groups = Plan::index(folder, part.number)?.groups;
        file.each(groups.into_iter().flatten().flatten(), &mut |entry| {
            let digest = match known.contains(entry.number) {
                true => None,
                false => digest(entry.held, route),
            };
            if let Some(digest) = digest {
                repeats.note(digest, entry.number)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The digest of an input's request; none if it is no request.
fn digest(held: Content, route: Routing<'_>) -> Option<u128> {
    let columns = held.held().ok()?;
    let mut digest = None;
    let routed = route(&columns, &mut |routed| digest = Some(routed.request));
    routed.ok().and(digest)
}

/// The error for a list that has changed otherwise than by growing.
pub fn has_changed(path: &Path, why: &str) -> Error {
    Error::usage(format!(
        "the input has changed: {} {why}; a list may only grow, so make a new job of this one, with another folder behind -o",
        path.display()
    ))
}
