//! Whether all of a job is there: the results of each part, and the bodies that they name. Nothing is changed.

mod bodies;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use roaring::RoaringTreemap;

use self::bodies::Bodies;
use crate::error::Result;
use crate::plan::{Folder, InputFile, Part, Plan};
use crate::record::{Record, count, plural};
use crate::run::BODIES;
use crate::segment::{each_readable, load, record_of};

/// The ending of a damaged file whose bodies were fetched again.
pub const DAMAGED: &str = "damaged";

/// How many such files a job has.
#[must_use]
pub fn set_aside(folder: &Folder) -> u64 {
    count_damaged(&folder.base().join(BODIES))
}

fn count_damaged(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let counts = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => count_damaged(&entry.path()),
        _ => entry
            .path()
            .extension()
            .is_some_and(|it| it == DAMAGED)
            .into(),
    });
    counts.sum()
}

/// What was found of a part.
#[derive(Debug, Default)]
pub struct Found {
    /// Inputs that have their record.
    pub records: u64,
    /// Bodies that are as their records say.
    pub bodies: u64,
    /// Inputs whose record or body is lost.
    pub lost: RoaringTreemap,
    /// The damage, a sentence each.
    pub damage: Vec<String>,
}

/// Looks at a part that is done.
///
/// # Errors
/// When the plan is damaged, so that nobody knows which inputs the part has.
pub fn part(folder: &Folder, part: &Part) -> Result<Found> {
    let path = folder.result(part.number);
    let own = inputs(folder, part.number)?;
    let mut seen = Seen::default();
    let mut bodies = Bodies::new(folder.base());
    let mut damage = Vec::new();
    let read = each_readable(&path, &mut |line| {
        match record_of(line).ok().filter(|it| own.contains(it.n)) {
            Some(record) => {
                seen.note(&record);
                bodies.note(record);
            }
            None => seen.strays += 1,
        }
        Ok(())
    });
    let mut missing = (&own - &seen.ended) | &seen.spoilt;
    match read {
        Ok((_, is_whole)) if !is_whole || !missing.is_empty() => {
            damage.push(lacking(&path, missing.len(), part.inputs));
        }
        Ok(_) => {}
        Err(error) => damage.push(error.to_string()),
    }
    damage.extend(seen.beside(&path));
    let records = own.len() - missing.len();
    damage.extend(miscounted(folder, part, records)?.filter(|_| damage.is_empty()));
    let (whole, bad) = bodies.finish();
    for (number, why) in bad {
        missing.insert(number);
        damage.push(format!("the body of input {number}: {why}"));
    }
    Ok(Found {
        records,
        bodies: whole,
        lost: missing,
        damage,
    })
}

/// The records of a part that were read.
#[derive(Default)]
struct Seen {
    /// Inputs that have their last record.
    ended: RoaringTreemap,
    /// Those that have it twice, or lack the record of a page before it.
    spoilt: RoaringTreemap,
    /// How many pages inputs have whose last record is still to come.
    pages: HashMap<u64, u32>,
    /// Lines that are no records of inputs of the part.
    strays: u64,
}

impl Seen {
    fn note(&mut self, record: &Record) {
        let before = match record.more {
            Some(true) => {
                let pages = self.pages.entry(record.n).or_default();
                *pages += 1;
                *pages - 1
            }
            _ => self.pages.remove(&record.n).unwrap_or(0),
        };
        let is_behind = record.page.is_none_or(|page| page == before + 1);
        let is_first = match record.more {
            Some(true) => !self.ended.contains(record.n),
            _ => self.ended.insert(record.n),
        };
        if !is_behind || !is_first {
            self.spoilt.insert(record.n);
        }
    }

    /// The sentence for lines that are no records of the part's inputs.
    fn beside(&self, path: &Path) -> Option<String> {
        let (path, lines) = (path.display(), plural(self.strays, "line"));
        (self.strays > 0).then(|| format!("{path} has {lines} beside the records of its inputs"))
    }
}

fn lacking(path: &Path, lost: u64, all: u64) -> String {
    let (path, all) = (path.display(), count(all));
    match lost {
        0 => format!("{path} is damaged behind all of its {all} records"),
        lost => format!("{path} lacks {} of its {all} records", count(lost)),
    }
}

/// The sentence for a `COMMIT` that counts other records than there are.
fn miscounted(folder: &Folder, part: &Part, records: u64) -> Result<Option<String>> {
    let counted = load(folder, part.number)?.map(|commit| commit.tally.records);
    let path = folder.result(part.number);
    Ok(counted
        .filter(|counted| *counted != records)
        .map(|counted| {
            format!(
                "{} has {} records, and its COMMIT counts {}",
                path.display(),
                count(records),
                count(counted)
            )
        }))
}

/// The numbers of a part's inputs.
pub(crate) fn inputs(folder: &Folder, part: u32) -> Result<RoaringTreemap> {
    let mut numbers = RoaringTreemap::new();
    let groups = Plan::index(folder, part)?.groups;
    let extents = groups.into_iter().flatten().flatten();
    InputFile::open(folder)?.each(extents, &mut |entry| {
        numbers.insert(entry.number);
        Ok(())
    })?;
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_lacks_a_page_or_has_a_record_twice_is_spoilt() {
        for (pages, is_spoilt) in [
            (&[(1, true), (2, true), (3, false)][..], false),
            (&[(1, true), (3, false)], true),
            (&[(2, true), (3, false)], true),
            (&[(1, false), (1, false)], true),
            (&[(1, false), (1, true)], true),
        ] {
            let mut seen = Seen::default();
            for (page, more) in pages {
                seen.note(&Record {
                    page: Some(*page),
                    more: more.then_some(true),
                    ..Record::default()
                });
            }
            assert_eq!(!seen.spoilt.is_empty(), is_spoilt, "{pages:?}");
        }
    }
}
