//! Redirects to hosts of other parts: followed in a round whose parts are made by the host where each leads.
//!
//! A part keeps the limits of its own hosts alone, so that a redirect to a host of another part waits, with the outcome
//! `onward`. When all parts are done, these inputs become a round. Their records may be of any part of the job, so that
//! they are sorted by part before they are merged. A redirect of the round may lead on, and then another round follows.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use roaring::RoaringTreemap;
use serde::Deserialize;

use super::merge::{Round, each, merge};
use super::{begin, write};
use crate::error::{Error, Result, at, sentence};
use crate::finalize::ResultsWriter;
use crate::host::LastHost;
use crate::plan::{Earlier, Folder, InputFile, Plan, Routed, Take, Way, regroup};
use crate::record::Outcome;
use crate::request::Maker;
use crate::segment::{Unfinished, head_of, is_followed, load, note};
use crate::start::{Lock, Started, limits};

/// Parts whose records are sorted at once, each into a file.
const AT_ONCE: usize = 64;

/// Which records such a round is for.
const CONDITION: &str = "outcome == 'onward'";

/// The piece of a record that such a round needs.
#[derive(Deserialize)]
struct Line {
    onward: Way,
}

/// The parts with redirects that wait.
fn waiting(folder: &Folder, plan: &Plan) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for part in &plan.parts {
        if load(folder, part.number)?.is_some_and(|commit| commit.tally.onward > 0) {
            found.push(part.number);
        }
    }
    Ok(found)
}

/// Plans the round of the redirects that wait; false if none does. The caller holds the lock, and there is no other
/// round.
///
/// # Errors
/// When a file cannot be read or written.
pub fn follow_up(folder: &Folder, done: &Started, lock: &Lock) -> Result<bool> {
    let parts = waiting(folder, &done.plan)?;
    if parts.is_empty() {
        return Ok(false);
    }
    let maker = Maker::new(&done.job.request, &done.plan.columns, done.plan.job)?;
    let mut file = InputFile::open(folder)?;
    begin(folder, lock, |id, round| {
        let mut feed = |take: Take<'_>| {
            let mut parts = parts.iter();
            parts.try_for_each(|part| hand_over(folder, *part, &maker, &mut file, take))
        };
        let mut plan = regroup(round, &done.plan, &limits(&done.job), &mut feed)?;
        plan.round = Some(id);
        write(round, CONDITION, &done.job, &plan)
    })?;
    Ok(true)
}

/// The redirects of a part that wait.
#[derive(Default)]
struct Waiting {
    /// Where they lead, by the numbers of their inputs.
    ways: HashMap<u64, Way>,
    /// The pages that inputs have had.
    pages: Unfinished,
}

impl Waiting {
    /// Those of these results.
    fn read(results: &Path) -> Result<Waiting> {
        let mut waiting = Waiting::default();
        each(results, &mut |line, number| {
            if is_followed(line) {
                note(&mut waiting.pages, line)?;
            } else if matches!(head_of(line), Some((_, Outcome::Onward, _))) {
                let line = serde_json::from_slice::<Line>(line)?;
                waiting.ways.insert(number, line.onward);
            } else {
                waiting.pages.remove(&number);
            }
            Ok(())
        })?;
        Ok(waiting)
    }

    /// The redirects and pages of an input until now, if its redirect waits.
    fn take(&mut self, number: u64) -> Option<Earlier> {
        let way = self.ways.remove(&number)?;
        let had = self.pages.remove(&number);
        Some(Earlier {
            way: Some(way),
            pages: had.map(|(pages, _)| pages.had()),
            ..Earlier::default()
        })
    }
}

/// Hands over the inputs of a part whose redirects wait.
fn hand_over(
    folder: &Folder,
    part: u32,
    maker: &Maker,
    file: &mut InputFile,
    take: Take<'_>,
) -> Result<()> {
    let mut waiting = Waiting::read(&folder.result(part))?;
    let mut last = LastHost::default();
    let groups = Plan::index(folder, part)?.groups;
    file.each(
        groups.into_iter().flatten().flatten(),
        &mut |mut planned| {
            let Some(earlier) = waiting.take(planned.number) else {
                return Ok(());
            };
            let rendered = maker.render(&planned.held);
            let damaged =
                |_| Error::failed(format!("the record of input {} is damaged", planned.number));
            let request = maker.digest(&rendered.map_err(damaged)?, None);
            let way = earlier.way.as_ref();
            let url = way.map_or(String::new(), |way| way.url.clone());
            planned.earlier = Some(Box::new(earlier));
            let found = last.of(&url);
            let (host, foreign) = found.map_err(Error::failed)?;
            let routed = Routed {
                host,
                foreign,
                has_rate: false,
                request,
            };
            take(&planned, routed)
        },
    )
}

/// Merges the records of such a round into the parts of the job. To do so twice changes nothing.
pub(super) fn merge_all(folder: &Folder, round: &Started) -> Result<()> {
    let base = Plan::planned(folder)?;
    let sorted = round.folder.path().join("sorted");
    fs::create_dir_all(&sorted).map_err(at("create", &sorted))?;
    for parts in waiting(folder, &base)?.chunks(AT_ONCE) {
        let mut shelves = Vec::new();
        for part in parts {
            shelves.push(Shelf::new(folder, *part, &sorted)?);
        }
        for part in round.plan.parts.iter().filter(|part| part.inputs > 0) {
            each(&round.folder.result(part.number), &mut |line, number| {
                let shelf = shelves
                    .iter_mut()
                    .find(|shelf| shelf.numbers.contains(number));
                shelf.map_or(Ok(()), |shelf| shelf.results.add_lines(line))
            })?;
        }
        for shelf in shelves {
            let refused = |error| Error::Failed(sentence("write", &shelf.path, &error));
            shelf.results.finish().map_err(refused)?;
            let new = Round {
                new: Some(&shelf.path),
                id: round.plan.round.as_deref(),
                repairs: false,
            };
            merge(folder, &new, shelf.part)?;
        }
    }
    Ok(())
}

/// The new records of one part.
struct Shelf {
    part: u32,
    numbers: RoaringTreemap,
    path: PathBuf,
    results: ResultsWriter,
}

impl Shelf {
    fn new(folder: &Folder, part: u32, sorted: &std::path::Path) -> Result<Shelf> {
        let mut numbers = RoaringTreemap::new();
        each(&folder.result(part), &mut |line, number| {
            if matches!(head_of(line), Some((_, Outcome::Onward, _))) {
                numbers.insert(number);
            }
            Ok(())
        })?;
        let path = sorted.join(format!("part-{part:06}.jsonl.zst"));
        let results = ResultsWriter::create(&path);
        Ok(Shelf {
            part,
            numbers,
            results: results.map_err(at("create", &path))?,
            path,
        })
    }
}
