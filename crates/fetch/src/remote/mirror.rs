//! The copy of a job in object storage: a worker downloads from it and uploads to it while it works on a part.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::Deserialize;
use uuid::Uuid;

use super::{Remote, attempt_of, commit_of, draft_of, home_of, result_of};
use crate::error::{Error, Result, at};
use crate::objects::PIECE;
use crate::plan::{Folder, Mirror, Plan};
use crate::record::Body;
use crate::run::worker_name;

impl Mirror for Remote {
    fn shown(&self) -> &str {
        self.job().url()
    }

    fn inputs(&self, folder: &Folder, part: u32) -> Result<()> {
        if self.state().inputs.contains(&part) {
            return Ok(());
        }
        let home = self.state().plan.clone();
        let index = folder.index(part);
        // A download must not append to the rest of one that failed.
        let _ = fs::remove_file(&index);
        self.store
            .download(&format!("{home}/{part:06}.json"), &index)?;
        let extents = Plan::index(folder, part)?.groups.into_iter();
        let extents = extents
            .flatten()
            .flatten()
            .map(|extent| (extent.0, u64::from(extent.1)));
        let ranges = joined(extents.collect());
        let path = folder.inputs();
        let file = File::options().write(true).open(&path);
        let file = file.map_err(at("write", &path))?;
        let name = format!("{home}/inputs.zst");
        let pieces: Vec<_> = ranges
            .iter()
            .map(|(from, until)| (name.clone(), Some(*from..*until)))
            .collect();
        self.store.read_each(&pieces, &mut |number, bytes| {
            let written = file.write_all_at(&bytes, ranges[number].0);
            written.map_err(at("write", &path))
        })?;
        self.state().inputs.insert(part);
        Ok(())
    }

    fn pull(&self, folder: &Folder, part: u32, attempt: u32) -> Result<()> {
        for (number, mut pieces) in self.attempts(part)? {
            let path = folder.attempt(part, number);
            let file = File::options().create(true).append(true).open(&path);
            let mut file = file.map_err(at("write", &path))?;
            if number >= attempt {
                continue;
            }
            let mut length = file.metadata().map_err(at("read", &path))?.len();
            pieces.sort_unstable();
            let mut missing = Vec::new();
            for (from, bytes) in pieces {
                if from == length && bytes > 0 {
                    missing.push((piece_of(part, number, from), None));
                    length += bytes;
                }
            }
            self.store.read_each(&missing, &mut |_, bytes| {
                file.write_all(&bytes).map_err(at("write", &path))
            })?;
        }
        self.bring(folder, part)
    }

    fn look(&self, folder: &Folder, part: u32, attempt: u32) -> Result<()> {
        // Attempts have no gaps: each is claimed by who saw the one before it.
        let next = claim_of(part, attempt + 1);
        let [is_done, is_begun] = self.store.are_there([&commit_of(part), &next])?;
        if is_begun {
            let path = folder.attempt(part, attempt + 1);
            let file = File::options().create(true).append(true).open(&path);
            file.map_err(at("write", &path))?;
        }
        match is_done {
            true => self.bring_done(folder, &[part]),
            false => Ok(()),
        }
    }

    fn claim(&self, part: u32, attempt: u32) -> Result<bool> {
        // The number makes it ours, also when the response of the put is lost.
        let text = format!("{} {}\n", worker_name(), Uuid::new_v4());
        self.store.create(&claim_of(part, attempt), text)
    }

    fn bodies(&self, folder: &Folder, lines: &[u8]) -> Result<()> {
        if !self.state().has_files {
            return Ok(());
        }
        let mut files = Vec::new();
        for line in crate::frame::lines(lines) {
            let stored: Stored = serde_json::from_slice(line)
                .map_err(|error| Error::failed(format!("a record is damaged: {error}")))?;
            if let Some(Body::File { file }) = stored.body {
                files.push((folder.path().join(&file), file));
            }
        }
        // Those of a round are beside those of the job.
        self.job().upload_all(&files)?;
        for (path, _) in files {
            // It would take space until the job is done.
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    fn keep(&self, folder: &Folder, part: u32, attempt: u32, bytes: u64) -> Result<()> {
        let known = self.state().kept.get(&(part, attempt)).copied();
        let mut from = known.unwrap_or(0);
        let path = folder.attempt(part, attempt);
        let file = File::open(&path).map_err(at("read", &path))?;
        while from < bytes {
            let mut piece = vec![0; PIECE.min(bytes - from) as usize];
            file.read_exact_at(&mut piece, from)
                .map_err(at("read", &path))?;
            let length = piece.len() as u64;
            self.store.write(&piece_of(part, attempt, from), piece)?;
            from += length;
            self.state().kept.insert((part, attempt), from);
        }
        Ok(())
    }

    fn commit(
        &self,
        folder: &Folder,
        part: u32,
        attempt: u32,
        commit: &[u8],
        results: &Path,
    ) -> Result<bool> {
        // The results come first: a commit without them would be of no use.
        self.store.upload(results, &draft_of(part, attempt))?;
        let is_ours = self.store.create(&commit_of(part), commit.to_vec())?;
        if is_ours {
            self.store.upload(results, &result_of(part))?;
        }
        self.bring_done(folder, &[part])?;
        Ok(is_ours)
    }
}

/// The piece of a record that names its body.
#[derive(Deserialize)]
struct Stored {
    body: Option<Body>,
}

impl Remote {
    /// The pieces of each attempt at a part: where each begins, and its length.
    pub(super) fn attempts(&self, part: u32) -> Result<HashMap<u32, Vec<(u64, u64)>>> {
        let mut attempts: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        for found in self.store.list(&home_of(part))? {
            let name = found.name.strip_prefix("attempt-");
            let Some((number, piece)) = name.and_then(|name| name.split_once('/')) else {
                continue;
            };
            if let Ok(number) = number.parse() {
                let pieces = attempts.entry(number).or_default();
                pieces.extend(piece.parse().map(|from: u64| (from, found.bytes)));
            }
        }
        Ok(attempts)
    }
}

pub(super) fn claim_of(part: u32, attempt: u32) -> String {
    format!("{}/claim", attempt_of(part, attempt))
}

fn piece_of(part: u32, attempt: u32, from: u64) -> String {
    format!("{}/{from:012}", attempt_of(part, attempt))
}

/// Neighbouring inputs are read together, up to so many bytes.
const TOGETHER: u64 = 1 << 20;

/// Ranges from offsets and lengths, where neighbours are one range.
fn joined(mut extents: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    extents.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (from, length) in extents {
        match ranges.last_mut() {
            Some((begin, end)) if *end == from && from + length - *begin <= TOGETHER => {
                *end = from + length;
            }
            _ => ranges.push((from, from + length)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_read_together() {
        let ranges = joined(vec![(30, 5), (0, 10), (10, 10), (35, TOGETHER)]);
        assert_eq!(ranges, [(0, 20), (30, 35), (35, 35 + TOGETHER)]);
    }
}
