//! Merges the records of a round into a part's results: each replaces the older record of its input.

use std::fs;
use std::io;
use std::path::Path;

use roaring::RoaringTreemap;

use crate::error::{Error, Result, at, sentence};
use crate::finalize::ResultsWriter;
use crate::plan::{Folder, sync_folder_of, write_whole};
use crate::segment::{Commit, Piece, Tally, head_of, load, scan};

/// Writes a part's results anew. To do so twice changes nothing.
pub fn merge(folder: &Folder, (round, id): (&Folder, Option<&str>), part: u32) -> Result<()> {
    let (old, new) = (folder.result(part), round.result(part));
    let mut newer = RoaringTreemap::new();
    each(&new, &mut |line, number| {
        newer.insert(number);
        let _ = line;
        Ok(())
    })?;
    let draft = folder.part(part).join("merged.jsonl.zst");
    let refused = |error: io::Error| Error::Failed(sentence("write", &draft, &error));
    let mut results = ResultsWriter::create(&draft).map_err(refused)?;
    let mut tally = Tally::default();
    let mut add = |line: &[u8]| {
        if let Some((_, outcome, ok)) = head_of(line) {
            tally.count(outcome, ok);
        }
        results.add_lines(line)
    };
    each(&old, &mut |line, number| match newer.contains(number) {
        true => Ok(()),
        false => add(line),
    })?;
    each(&new, &mut |line, _| add(line))?;
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

/// Visits each line with the number of its input.
fn each(path: &Path, visit: &mut dyn FnMut(&[u8], u64) -> io::Result<()>) -> Result<()> {
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
