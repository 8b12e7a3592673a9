//! Whether all of a job is there: the results of each part, and the bodies that they name. Nothing is changed.

mod bodies;

use std::fs;
use std::path::Path;

use roaring::RoaringTreemap;

use self::bodies::Bodies;
use crate::error::Result;
use crate::plan::{Folder, InputFile, Part, Plan};
use crate::record::{Record, count};
use crate::run::BODIES;
use crate::segment::{each_readable, is_followed, load};

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
    let mut missing = inputs(folder, part.number)?;
    let mut bodies = Bodies::new(folder.base());
    let mut damage = Vec::new();
    let read = each_readable(&path, &mut |line| {
        if let Ok(record) = serde_json::from_slice::<Record>(line) {
            if !is_followed(line) {
                missing.remove(record.n);
            }
            bodies.note(record);
        }
        Ok(())
    });
    let records = match read {
        Ok((records, is_whole)) => {
            if !is_whole || !missing.is_empty() {
                damage.push(lacking(&path, missing.len(), part.inputs));
            }
            records
        }
        Err(error) => {
            damage.push(error.to_string());
            0
        }
    };
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

fn lacking(path: &Path, lost: u64, all: u64) -> String {
    let (path, lost, all) = (path.display(), count(lost), count(all));
    format!("{path} lacks {lost} of its {all} records")
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
fn inputs(folder: &Folder, part: u32) -> Result<RoaringTreemap> {
    let mut numbers = RoaringTreemap::new();
    let groups = Plan::index(folder, part)?.groups;
    let extents = groups.into_iter().flatten().flatten();
    InputFile::open(folder)?.each(extents, &mut |entry| {
        numbers.insert(entry.number);
        Ok(())
    })?;
    Ok(numbers)
}
