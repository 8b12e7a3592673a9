//! Adds inputs to a plan: new parts behind the others, in the same files.
//!
//! The new frames go behind the old ones in `inputs.zst`, and `plan.json` is replaced last: after a crash before that,
//! nothing was added. The parts of an addition begin only when all earlier parts are done, because their hosts are the
//! same. Duplicates are found among all inputs, old and new.

use std::fs::File;
use std::path::Path;

use super::draft::write_whole;
use super::entry::read_entry;
use super::folder::Folder;
use super::inputs::InputFile;
use super::make::{Before, PlanLimits, Routing, Sorter, write_indexes};
use super::repeats::Repeats;
use super::sources::Identity;
use super::spool::Spool;
use super::{Content, Plan, write_repeats};
use crate::error::{Error, Result, at};
use crate::input::Entry;
use crate::record::{Columns, URL};

/// Hands over every new entry; the identities of their lists.
pub type MoreFeed<'a> =
    &'a mut dyn FnMut(&mut dyn FnMut(Entry) -> Result<()>) -> Result<Vec<Identity>>;

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
    if let Some(repeats) = &mut sorter.repeats {
        note_known(folder, base, repeats, route)?;
    }
    let mut number = base.inputs;
    let sources = feed(&mut |entry| {
        let entry = numbered(entry, number);
        number += 1;
        sorter.take(entry, route)
    })?;
    sorter.refuse_busy(rules)?;
    let (own_hosts, heaviest) = (sorter.hosts.any_own, sorter.hosts.heaviest);
    let spooled = sorter.spool.finish().map_err(at("write", &path))?;
    let mut plan = base.clone();
    for source in sources {
        plan.sources.retain(|known| known.path != source.path);
        plan.sources.push(source);
    }
    let repeats = sorter.repeats.map(Repeats::finish).transpose();
    let repeats = repeats.map_err(at("read", &folder.digests()))?;
    if number > base.inputs {
        // A plan that is not replaced reads those of its own inputs, which are the same.
        let found = repeats.unwrap_or_default() | base.repeated(folder)?;
        plan.repeats = write_repeats(folder, &found)?;
        let before = Before {
            parts: base.parts.len() as u32,
            addition: base.parts.iter().map(|part| part.added).max().unwrap_or(0) + 1,
        };
        let more = write_indexes(folder, &spooled, &heaviest, rules, before)?;
        plan.inputs = number;
        plan.own_hosts |= own_hosts;
        plan.parts.extend(more);
    }
    let text = serde_json::to_vec_pretty(&plan).expect("a plan becomes JSON");
    write_whole(&folder.plan(), &text)?;
    Ok(plan)
}

fn numbered(entry: Entry, number: u64) -> Entry {
    match entry {
        Entry::Input(mut input) => {
            input.number = number;
            Entry::Input(input)
        }
        Entry::Invalid(mut invalid) => {
            invalid.number = number;
            Entry::Invalid(invalid)
        }
    }
}

/// Notes the requests of the inputs that are planned already, each once.
fn note_known(
    folder: &Folder,
    base: &Plan,
    repeats: &mut Repeats,
    route: Routing<'_>,
) -> Result<()> {
    let known = base.repeated(folder)?;
    let mut file = InputFile::open(folder)?;
    let mut frame = Vec::new();
    for part in &base.parts {
        let index = Plan::index(folder, part.number)?;
        for extent in index.groups.into_iter().flatten().flatten() {
            file.read(extent, &mut frame)?;
            let mut rest = &frame[..];
            while !rest.is_empty() {
                let entry = read_entry(&mut rest).ok_or_else(|| file.damaged())?;
                let digest = match known.contains(entry.number) {
                    true => None,
                    false => digest(entry.held, route),
                };
                let noted = digest.map(|digest| repeats.note(digest, entry.number));
                noted.transpose().map_err(at("write", &folder.digests()))?;
            }
        }
    }
    Ok(())
}

/// The digest of an input's request; none if it is no request.
fn digest(held: Content, route: Routing<'_>) -> Option<u128> {
    let columns = match held {
        Content::Url(url) => Columns::from([(URL.to_owned(), url.into())]),
        Content::Columns(columns) => *columns,
        Content::Invalid(_) => return None,
    };
    let mut digest = None;
    let routed = route(&columns, &mut |routed| digest = Some(routed.request));
    routed.ok().and(digest)
}

/// The length of a file of inputs; what a crash left behind the last frame of the plan stays there unused.
pub(super) fn length(path: &Path) -> Result<u64> {
    let about = File::open(path).and_then(|file| file.metadata());
    Ok(about.map_err(at("read", path))?.len())
}

/// The error for a list that has changed otherwise than by growing.
pub fn has_changed(path: &Path, why: &str) -> Error {
    Error::usage(format!(
        "the input has changed: {} {why}; a list may only grow, so make a new job of this one, with another folder behind -o",
        path.display()
    ))
}
