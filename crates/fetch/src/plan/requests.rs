//! The digests of a plan's requests, sorted, so that an addition finds its duplicates without reading the plan.
//!
//! The plan and each addition append a run of blocks to one file. `plan.json` says where the runs are, so what a crash
//! leaves behind them does not count. A block has a checksum of its run, its position and its digests: bytes of another
//! run never pass for it.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::folder::Folder;
use super::repeats::{Key, Repeats};
use crate::error::{Error, Result, at};

/// Bytes of a digest: with so many, no two requests have equal ones.
const KEY: usize = 12;

/// Bytes of a block's checksum.
const CHECKSUM: usize = 16;

/// Digests of a block, which has 4 KiB with them.
const KEYS: usize = 340;

/// Bytes of a block; the last one of a run is shorter.
const BLOCK: usize = CHECKSUM + KEYS * KEY;

/// Where the requests of a plan or of an addition are, each once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its first byte in the file.
    from: u64,
    /// How many digests it has.
    keys: u64,
    /// No other run has the same.
    id: Uuid,
}

impl Run {
    fn blocks(&self) -> u64 {
        self.keys.div_ceil(KEYS as u64)
    }

    /// The first byte behind it; none for a run that no file can have.
    fn end(&self) -> Option<u64> {
        let keys = self.keys.checked_mul(KEY as u64)?;
        let checksums = self.blocks().checked_mul(CHECKSUM as u64)?;
        self.from.checked_add(keys)?.checked_add(checksums)
    }

    fn checksum(&self, block: u64, keys: &[u8]) -> [u8; CHECKSUM] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.id.as_bytes());
        hasher.update(&block.to_le_bytes());
        hasher.update(keys);
        let mut checksum = [0; CHECKSUM];
        hasher.finalize_xof().fill(&mut checksum);
        checksum
    }
}

/// Whether the file of a folder is as long as these runs.
///
/// # Errors
/// When the system refuses.
pub fn are_there(folder: &Folder, runs: &[Run]) -> Result<bool> {
    let path = folder.requests();
    let length = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        about => about.map_err(at("read", &path))?.len(),
    };
    let is_there = |run: &Run| run.end().is_some_and(|end| end <= length);
    Ok(runs.iter().all(is_there))
}

/// Finds the duplicates among the noted inputs. An input is one if an earlier input has the same request, in these runs or
/// among the noted. Appends a run of the new requests, and waits until it is on the disk. Returns the duplicates and all
/// runs.
///
/// # Errors
/// When the system refuses, or a block is damaged.
pub fn search(
    folder: &Folder,
    mut runs: Vec<Run>,
    noted: Repeats,
) -> Result<(RoaringTreemap, Vec<Run>)> {
    let path = folder.requests();
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = options.open(&path).map_err(at("write", &path))?;
    let searches = runs.iter().map(|run| Search::of(&file, &path, run));
    let mut searches: Vec<_> = searches.collect();
    let mut writer = RunWriter::behind(&file, &path, runs.last())?;
    let found = noted.finish(&mut |key| {
        let is_known = is_in(&mut searches, key)?;
        if !is_known {
            writer.add(key)?;
        }
        Ok(is_known)
    })?;
    runs.push(writer.finish()?);
    Ok((found, runs))
}

/// The noted inputs whose request is in these runs, or is that of an input that was noted before.
///
/// # Errors
/// When the system refuses, or a block is damaged.
pub fn repeated(folder: &Folder, runs: &[Run], noted: Repeats) -> Result<RoaringTreemap> {
    let path = folder.requests();
    let file = File::open(&path).map_err(at("read", &path))?;
    let searches = runs.iter().map(|run| Search::of(&file, &path, run));
    let mut searches: Vec<_> = searches.collect();
    noted.finish(&mut |key| is_in(&mut searches, key))
}

/// Whether any of the runs has a digest.
fn is_in(searches: &mut [Search<'_>], key: Key) -> Result<bool> {
    for search in searches {
        if search.has(key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes a run, whose digests come in order.
struct RunWriter<'a> {
    file: BufWriter<&'a File>,
    path: &'a Path,
    run: Run,
    held: Vec<u8>,
}

impl<'a> RunWriter<'a> {
    /// Behind the last run. Removes bytes that a crash left there.
    fn behind(mut file: &'a File, path: &'a Path, last: Option<&Run>) -> Result<RunWriter<'a>> {
        let from = last.and_then(Run::end).unwrap_or(0);
        let ready = file.set_len(from);
        let ready = ready.and_then(|()| file.seek(SeekFrom::Start(from)));
        ready.map_err(at("write", path))?;
        Ok(RunWriter {
            file: BufWriter::with_capacity(16 * BLOCK, file),
            path,
            run: Run {
                from,
                keys: 0,
                id: Uuid::new_v4(),
            },
            held: Vec::with_capacity(KEYS * KEY),
        })
    }

    fn add(&mut self, key: Key) -> Result<()> {
        self.held.extend_from_slice(&bytes(key));
        self.run.keys += 1;
        match self.held.len() == KEYS * KEY {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let block = self.run.blocks() - 1;
        let checksum = self.run.checksum(block, &self.held);
        let written = self.file.write_all(&checksum);
        let written = written.and_then(|()| self.file.write_all(&self.held));
        self.held.clear();
        written.map_err(at("write", self.path))
    }

    fn finish(mut self) -> Result<Run> {
        if !self.held.is_empty() {
            self.flush()?;
        }
        let flushed = self.file.flush();
        let synced = flushed.and_then(|()| self.file.get_ref().sync_data());
        synced.map_err(at("write", self.path))?;
        Ok(self.run)
    }
}

/// A search of a run for digests that come in order. From one to the next it reads about 2 log₂(d) blocks, where d is how
/// many blocks lie between them. So one digest takes few reads, however long the run is. As many digests as the run has
/// take about one read for each block.
struct Search<'a> {
    file: &'a File,
    path: &'a Path,
    run: &'a Run,
    /// The block that was read last, and its digests.
    at: u64,
    keys: Vec<[u8; KEY]>,
    /// How many blocks were read.
    #[cfg(test)]
    reads: u64,
}

impl<'a> Search<'a> {
    fn of(file: &'a File, path: &'a Path, run: &'a Run) -> Search<'a> {
        Search {
            file,
            path,
            run,
            at: 0,
            keys: Vec::new(),
            #[cfg(test)]
            reads: 0,
        }
    }

    /// Whether the run has this digest, which is not before the one that was searched for last.
    fn has(&mut self, key: Key) -> Result<bool> {
        let key = bytes(key);
        if self.run.keys == 0 {
            return Ok(false);
        }
        if self.keys.is_empty() {
            self.read(0)?;
        }
        if self.ends_before(&key) {
            self.advance(&key)?;
        }
        Ok(self.keys.binary_search(&key).is_ok())
    }

    fn ends_before(&self, key: &[u8; KEY]) -> bool {
        self.keys.last() < Some(key)
    }

    /// Goes to the first block that does not end before this digest, or to the last one: first in steps that double,
    /// and then by halves.
    fn advance(&mut self, key: &[u8; KEY]) -> Result<()> {
        let last = self.run.blocks() - 1;
        let (mut low, mut high, mut step) = (self.at + 1, None, 1);
        while low <= high.unwrap_or(last) {
            let probe = match high {
                None => last.min(low + step - 1),
                Some(high) => low + (high - low) / 2,
            };
            self.read(probe)?;
            match self.ends_before(key) {
                true => low = probe + 1,
                false if probe == low => return Ok(()),
                false => high = Some(probe),
            }
            step *= 2;
        }
        Ok(())
    }

    fn read(&mut self, block: u64) -> Result<()> {
        let before = block * KEYS as u64;
        let keys = (self.run.keys - before).min(KEYS as u64) as usize;
        let mut read = [0; BLOCK];
        let read = &mut read[..CHECKSUM + keys * KEY];
        let from = self.run.from + block * BLOCK as u64;
        match self.file.read_exact_at(read, from) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(self.damaged()),
            done => done.map_err(at("read", self.path))?,
        }
        let (checksum, keys) = read.split_at(CHECKSUM);
        if checksum != self.run.checksum(block, keys) {
            return Err(self.damaged());
        }
        self.at = block;
        #[cfg(test)]
        {
            self.reads += 1;
        }
        let keys = keys.chunks_exact(KEY);
        self.keys.clear();
        self.keys.extend(keys.filter_map(|key| key.first_chunk()));
        Ok(())
    }

    fn damaged(&self) -> Error {
        Error::failed(format!(
            "{} is damaged: remove it, and run the same command again, which makes it anew from the inputs of the job",
            self.path.display()
        ))
    }
}

fn bytes(key: Key) -> [u8; KEY] {
    let mut bytes = [0; KEY];
    bytes.copy_from_slice(&key.to_be_bytes()[16 - KEY..]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: u64 = 100_000;

    /// A digest as good as random.
    fn digest(of: u64) -> u128 {
        let hash = blake3::hash(&of.to_le_bytes());
        u128::from_le_bytes(hash.as_bytes()[..16].try_into().unwrap())
    }

    fn noted(folder: &Folder, of: impl Iterator<Item = u64>, from: u64) -> Repeats {
        let mut noted = Repeats::new(folder.digests());
        let numbers = of.zip(from..);
        numbers.for_each(|(of, number)| noted.note(digest(of), number).unwrap());
        noted
    }

    fn planned(inputs: u64) -> (tempfile::TempDir, Folder, Vec<Run>) {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(home.path());
        fs::create_dir(folder.planned()).unwrap();
        let (found, runs) = search(&folder, Vec::new(), noted(&folder, 0..inputs, 0)).unwrap();
        assert!(found.is_empty());
        assert_eq!(runs[0].keys, inputs);
        assert_eq!(
            runs[0].end(),
            Some(fs::metadata(folder.requests()).unwrap().len())
        );
        (home, folder, runs)
    }

    #[test]
    fn what_an_earlier_run_has_is_found_and_the_rest_is_a_run() {
        for inputs in [0, 1, 339, 340, 341, 20_000] {
            let (_home, folder, runs) = planned(inputs);
            // All that are there, as many new ones, and one of each twice.
            let new = inputs + 3;
            let of = (0..inputs + new).chain([0, inputs]);
            let (found, runs) = search(&folder, runs, noted(&folder, of, 1000)).unwrap();
            let last = 1000 + inputs + new;
            let expected = (1000..1000 + inputs).chain([last, last + 1]);
            let expected: RoaringTreemap = expected.collect();
            assert_eq!(found, expected, "{inputs} inputs");
            assert_eq!(runs[1].keys, new);
            let of = (0..inputs + new).step_by(7);
            let count = of.clone().count() as u64;
            let (found, runs) = search(&folder, runs, noted(&folder, of, 0)).unwrap();
            assert_eq!((found.len(), runs[2].keys), (count, 0));
        }
    }

    #[test]
    fn a_digest_takes_few_blocks_of_a_long_run_and_all_of_them_take_it_once() {
        let (_home, folder, runs) = planned(HELD);
        let (file, path) = (File::open(folder.requests()).unwrap(), folder.requests());
        let blocks = runs[0].blocks();
        let mut keys: Vec<Key> = (0..HELD).map(|of| digest(of) >> 32).collect();
        keys.sort_unstable();
        for some in [1, 10, 1000, HELD] {
            let mut search = Search::of(&file, &path, &runs[0]);
            let step = (HELD / some) as usize;
            for key in keys.iter().skip(step - 1).step_by(step) {
                assert!(search.has(*key).unwrap());
            }
            let per_key = 2 * (blocks / some + 2).ilog2() + 4;
            let most = (some * u64::from(per_key)).min(blocks * 2);
            assert!(search.reads <= most, "{some}: {} blocks", search.reads);
        }
    }

    #[test]
    fn what_a_crash_left_behind_the_runs_does_not_count() {
        let (_home, folder, runs) = planned(1000);
        let left = search(&folder, runs.clone(), noted(&folder, 5000..6000, 0));
        assert_eq!(left.unwrap().1.len(), 2);
        let (found, runs) = search(&folder, runs, noted(&folder, 5500..5502, 0)).unwrap();
        assert_eq!((found.len(), runs[1].keys), (0, 2));
        let length = fs::metadata(folder.requests()).unwrap().len();
        assert_eq!(runs[1].end(), Some(length));
    }

    #[test]
    fn bytes_of_another_run_are_no_run() {
        let (_home, folder, runs) = planned(1000);
        let other = search(&folder, Vec::new(), noted(&folder, 0..2000, 0));
        assert_eq!(other.unwrap().1.len(), 1);
        assert!(are_there(&folder, &runs).unwrap());
        let refused = search(&folder, runs, noted(&folder, 0..1, 0)).unwrap_err();
        assert!(refused.to_string().contains("is damaged"), "{refused}");
    }

    #[test]
    fn a_file_that_is_gone_or_too_short_is_missing() {
        let (_home, folder, runs) = planned(1000);
        assert!(are_there(&folder, &runs).unwrap());
        let file = File::options().write(true).open(folder.requests()).unwrap();
        file.set_len(runs[0].end().unwrap() - 1).unwrap();
        assert!(!are_there(&folder, &runs).unwrap());
        fs::remove_file(folder.requests()).unwrap();
        assert!(!are_there(&folder, &runs).unwrap());
        let endless = Run {
            keys: u64::MAX,
            ..runs[0].clone()
        };
        fs::write(folder.requests(), "").unwrap();
        assert!(!are_there(&folder, &[endless]).unwrap());
    }
}
