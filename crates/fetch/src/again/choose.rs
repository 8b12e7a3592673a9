//! Records that match → a plan of their inputs, part by part. An input that is `unknown` is chosen only by a condition
//! that names this outcome, because a server may act on it twice.

use std::collections::HashMap;

use roaring::RoaringTreemap;

use super::merge::{Round, has_good, merge};
use super::spared::Spared;
use crate::error::{Error, Result, at};
use crate::expression::Expression;
use crate::job::Job;
use crate::plan::{
    Content, Earlier, Folder, Index, InputFile, Part, Plan, Planned, Repeats, Spool, Version,
    read_entry, write_planned, write_repeats,
};
use crate::record::{Outcome, Record};
use crate::request::Maker;
use crate::segment::{each_result, record_of};

/// How inputs are picked.
pub enum Pick {
    /// Those whose records match.
    Matching(Expression),
    /// Those whose records match, each with the version that the job has.
    Changed(Expression),
    /// Those whose record or body is lost.
    Lost,
}

impl Pick {
    fn selected(&self, folder: &Folder, part: &Part) -> Result<Selected> {
        match self {
            Pick::Matching(expression) => matching(folder, part.number, expression, false),
            Pick::Changed(expression) => matching(folder, part.number, expression, true),
            Pick::Lost => {
                let found = crate::verify::part(folder, part)?;
                if found.lost.is_empty() && !found.damage.is_empty() {
                    // All records are there, beside lines that are none.
                    merge(folder, &Round::REWRITES, part.number)?;
                }
                Ok(Selected {
                    numbers: found.lost,
                    ..Selected::default()
                })
            }
        }
    }
}

/// The inputs of a part that are picked.
#[derive(Default)]
struct Selected {
    numbers: RoaringTreemap,
    /// The versions of their responses, if these are sent.
    versions: Versions,
    /// How many others match and are `unknown`.
    left: u64,
}

/// Writes the inputs of a round and their index. Returns the plan, which the caller names and writes, and how many
/// inputs are left because they are `unknown`.
pub fn choose(
    folder: &Folder,
    base: &Plan,
    round: &Folder,
    job: &Job,
    pick: &Pick,
) -> Result<(Plan, u64)> {
    let mut copying = Copying::new(folder, base, round, job)?;
    let (mut parts, mut left) = (Vec::new(), 0);
    let spared = Spared::of(pick, job)?;
    for part in &base.parts {
        let mut selected = match spared.has(folder, part)? {
            true => Selected::default(),
            false => pick.selected(folder, part)?,
        };
        left += selected.left;
        let inputs = selected.numbers.len();
        // Nobody opens the other parts in this round.
        if inputs > 0 {
            copy(&mut copying, folder, round, part.number, &mut selected)?;
        }
        parts.push(Part {
            inputs,
            ..part.clone()
        });
    }
    let path = round.inputs();
    copying.spool.finish().map_err(at("write", &path))?;
    let noted = copying.repeats;
    let repeats = noted.map(|noted| noted.finish(&mut |_| Ok(false)));
    let plan = Plan {
        inputs: parts.iter().map(|part| part.inputs).sum(),
        sources: Vec::new(),
        repeats: write_repeats(round, &repeats.transpose()?.unwrap_or_default())?,
        requests: Vec::new(),
        parts,
        ..base.clone()
    };
    Ok((plan, left))
}

/// Writes the inputs of a part that are picked, and their index.
fn copy(
    copying: &mut Copying,
    folder: &Folder,
    round: &Folder,
    part: u32,
    selected: &mut Selected,
) -> Result<()> {
    let index = copying.part(&Plan::index(folder, part)?, selected)?;
    if let Some(number) = selected.numbers.min() {
        let what = format!("a record of input {number}, which the part has not");
        return Err(damaged_results(folder, part, &what));
    }
    index.write(round, part)
}

/// The versions of responses that a part has, by the numbers of their inputs.
type Versions = HashMap<u64, Version>;

/// The version of a record's response; none if nothing names it.
fn version(record: Record) -> Option<(u64, Version)> {
    let is_one = matches!(record.outcome, Outcome::Response | Outcome::Unchanged);
    // Pages that come may be others than those that there are.
    let is_safe = matches!(&*record.method, "GET" | "HEAD") && record.page.is_none();
    let ok = has_good(&record);
    let version = Version {
        url: record.location.unwrap_or(record.url),
        validators: record.validators.filter(|_| is_one && is_safe)?,
        ok,
    };
    Some((record.n, version))
}

/// The inputs of a part whose records match.
fn matching(
    folder: &Folder,
    part: u32,
    expression: &Expression,
    if_changed: bool,
) -> Result<Selected> {
    let names_unknown = expression.names(Outcome::Unknown.name());
    let mut selected = Selected::default();
    let mut ended = RoaringTreemap::new();
    let mut damaged = None;
    each_result(folder, part, &mut |line| {
        match record_of(line) {
            Ok(record) if record.more != Some(true) && !ended.insert(record.n) => {
                damaged = Some(format!("two records of input {}", record.n));
            }
            Ok(record) if expression.holds(&record) => match record.outcome {
                Outcome::Unknown if !names_unknown => selected.left += 1,
                _ => {
                    selected.numbers.insert(record.n);
                    if if_changed {
                        selected.versions.extend(version(record));
                    }
                }
            },
            Ok(_) => {}
            Err(error) => damaged = Some(format!("a line that is not a record: {error}")),
        }
        Ok(())
    })?;
    match damaged {
        Some(what) => Err(damaged_results(folder, part, &what)),
        None => Ok(selected),
    }
}

fn damaged_results(folder: &Folder, part: u32, what: &str) -> Error {
    Error::failed(format!(
        "{} holds {what}: `hecaton fetch verify {}` says what is lost",
        folder.result(part).display(),
        folder.shown()
    ))
}

/// Copies inputs into a round.
struct Copying<'a> {
    file: InputFile,
    spool: Spool,
    maker: Maker,
    /// None when duplicates are sent.
    repeats: Option<Repeats>,
    round: &'a Folder,
}

impl Copying<'_> {
    fn new<'a>(folder: &Folder, base: &Plan, round: &'a Folder, job: &Job) -> Result<Copying<'a>> {
        Ok(Copying {
            file: InputFile::open(folder)?,
            spool: Spool::create(&round.inputs(), job.input.part_size)?,
            maker: Maker::new(&job.request, &base.columns, base.job)?.for_results(&job.results),
            repeats: (!job.input.keep_duplicates).then(|| Repeats::new(round.digests())),
            round,
        })
    }

    /// Copies the inputs of a part that are selected, each group by itself.
    fn part(&mut self, index: &Index, selected: &mut Selected) -> Result<Index> {
        let mut frame = Vec::new();
        for (group, shards) in index.groups.iter().enumerate() {
            for extent in shards.iter().flatten() {
                self.file.read(*extent, &mut frame)?;
                let mut rest = &frame[..];
                while !rest.is_empty() {
                    let mut entry = read_entry(&mut rest).ok_or_else(|| self.file.damaged())?;
                    if selected.numbers.remove(entry.number) {
                        let version = selected.versions.remove(&entry.number);
                        entry.earlier = version.map(|version| {
                            Box::new(Earlier {
                                version: Some(version),
                                ..Earlier::default()
                            })
                        });
                        self.input(group, &entry)?;
                    }
                }
            }
        }
        let spooled = self.spool.take();
        let spooled = spooled.map_err(at("write", &self.round.inputs()))?;
        let filled = spooled.into_iter().filter(|frames| !frames.is_empty());
        let extents = filled.map(|frames| frames.into_iter().map(|(extent, _)| extent).collect());
        Ok(Index {
            groups: extents.map(|extents| vec![extents]).collect(),
            numbers: index.numbers.clone(),
        })
    }

    fn input(&mut self, group: usize, entry: &Planned) -> Result<()> {
        if let (Some(repeats), Ok(rendered)) = (&mut self.repeats, self.maker.render(&entry.held)) {
            let columns = match &entry.held {
                Content::Columns(columns) => Some(&**columns),
                _ => None,
            };
            repeats.note(self.maker.digest(&rendered, columns), entry.number)?;
        }
        let add = self.spool.add(group, |out| write_planned(entry, out));
        add.map_err(at("write", &self.round.inputs()))
    }
}
