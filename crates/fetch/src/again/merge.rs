//! Merges the records of a round into a part's results: each replaces the older record of its input.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use roaring::RoaringTreemap;
use serde_json::{Map, Value};

use crate::error::{Error, Result, at, sentence};
use crate::finalize::ResultsWriter;
use crate::plan::{Folder, sync_folder_of, write_whole};
use crate::record::Outcome;
use crate::segment::{Commit, Piece, Tally, head_of, is_followed, load, scan};

/// Writes a part's results anew, with the new records in this file. To do so twice changes nothing.
pub fn merge(folder: &Folder, (new, id): (&Path, Option<&str>), part: u32) -> Result<()> {
    let old = folder.result(part);
    let mut newer = RoaringTreemap::new();
    let mut unchanged: HashMap<u64, Vec<u8>> = HashMap::new();
    each(new, &mut |line, number| {
        newer.insert(number);
        if matches!(head_of(line), Some((_, Outcome::Unchanged, _))) {
            unchanged.insert(number, line.to_vec());
        }
        Ok(())
    })?;
    let draft = folder.part(part).join("merged.jsonl.zst");
    let refused = |error: io::Error| Error::Failed(sentence("write", &draft, &error));
    let mut results = ResultsWriter::create(&draft).map_err(refused)?;
    let mut tally = Tally::default();
    let mut add = |line: &[u8]| {
        match head_of(line) {
            _ if is_followed(line) => tally.pages += 1,
            Some((_, outcome, ok)) => tally.count(outcome, ok),
            None => {}
        }
        results.add_lines(line)
    };
    each(&old, &mut |line, number| match unchanged.remove(&number) {
        Some(new) => add(&confirmed(line, &new)?),
        None if newer.contains(number) => Ok(()),
        None => add(line),
    })?;
    // Those that are unchanged are written, unless nothing older is there.
    each(new, &mut |line, number| match head_of(line) {
        Some((_, Outcome::Unchanged, _)) if !unchanged.contains_key(&number) => Ok(()),
        _ => add(line),
    })?;
    results.finish().map_err(refused)?;
    let commit =
        load(folder, part)?.ok_or_else(|| Error::failed(format!("part {part} is not done")))?;
    fs::rename(&draft, &old)
        .and_then(|()| sync_folder_of(&old))
        .map_err(at("write", &old))?;
    let commit = Commit {
        tally,
        round: id.map(str::to_owned),
        ..commit
    };
    let text = serde_json::to_vec_pretty(&commit).expect("numbers become JSON");
    write_whole(&folder.commit(part), &text)
}

/// The older record of an input whose response has not changed, with the request that found that out. To do so twice
/// changes nothing.
fn confirmed(old: &[u8], new: &[u8]) -> io::Result<Vec<u8>> {
    let mut record: Map<String, Value> = serde_json::from_slice(old)?;
    let new: Map<String, Value> = serde_json::from_slice(new)?;
    for name in ["outcome", "attempts", "at", "ms"] {
        if let Some(value) = new.get(name) {
            record.insert(name.to_owned(), value.clone());
        }
    }
    let mut line = serde_json::to_vec(&record)?;
    line.push(b'\n');
    Ok(line)
}

/// Visits each line with the number of its input.
pub(super) fn each(path: &Path, visit: &mut dyn FnMut(&[u8], u64) -> io::Result<()>) -> Result<()> {
    let scanned = scan(path, u64::MAX, &mut |piece, _| {
        let Piece::Lines(lines) = piece else {
            return Ok(());
        };
        for line in crate::frame::lines(lines) {
            let (number, _, _) = head_of(line).ok_or(io::ErrorKind::InvalidData)?;
            visit(line, number)?;
        }
        Ok(())
    });
    scanned.map(drop).map_err(at("merge", path))
}
