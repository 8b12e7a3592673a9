//! Finds the inputs whose request an earlier input has, in memory that does not grow with the list.
//!
//! The digests of the first requests stay in memory. The others go into a file, in bins by their first bits, and each
//! bin is searched at the end.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use foldhash::fast::FixedState;
use roaring::RoaringTreemap;

use super::entry::{read_number, write_number};

/// Most digests in memory.
const MOST_HELD: usize = 100_000;

/// Bins of the file; the first eight bits of a digest choose one.
const BINS: usize = 256;

/// A bin with more bytes is written.
const CHUNK: usize = 16 << 10;

/// How many bytes of a digest the file has. With the bits that choose the bin, no two requests have equal ones.
const KEPT: usize = 12;

/// The search for repeats.
pub struct Repeats {
    path: PathBuf,
    first: HashSet<u128, FixedState>,
    found: RoaringTreemap,
    file: Option<Binned>,
    most_held: usize,
}

/// The digests that are not in memory.
struct Binned {
    file: File,
    written: u64,
    bins: Vec<Bin>,
}

#[derive(Default)]
struct Bin {
    held: Vec<u8>,
    entries: usize,
    /// Where its chunks are: offset and length.
    chunks: Vec<(u64, u32)>,
}

impl Repeats {
    /// A search that may use a file at this path.
    pub fn new(path: PathBuf) -> Repeats {
        Repeats::holding(path, MOST_HELD)
    }

    fn holding(path: PathBuf, most_held: usize) -> Repeats {
        Repeats {
            path,
            first: HashSet::default(),
            found: RoaringTreemap::new(),
            file: None,
            most_held,
        }
    }

    /// Notes the request of an input.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note(&mut self, digest: u128, number: u64) -> io::Result<()> {
        if self.first.contains(&digest) {
            self.found.insert(number);
            return Ok(());
        }
        if self.first.len() < self.most_held {
            self.first.insert(digest);
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(Binned::create(&self.path)?);
        }
        match &mut self.file {
            Some(file) => file.add(digest, number),
            None => Ok(()),
        }
    }

    /// The inputs whose request is that of an input that was noted before them. Removes the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn finish(mut self) -> io::Result<RoaringTreemap> {
        if let Some(file) = self.file.take() {
            for bin in &file.bins {
                file.search(bin, &mut self.first, self.most_held, &mut self.found)?;
            }
            fs::remove_file(&self.path)?;
        }
        Ok(self.found)
    }
}

impl Binned {
    fn create(path: &std::path::Path) -> io::Result<Binned> {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(true);
        Ok(Binned {
            file: options.open(path)?,
            written: 0,
            bins: (0..BINS).map(|_| Bin::default()).collect(),
        })
    }

    fn add(&mut self, digest: u128, number: u64) -> io::Result<()> {
        let bin = &mut self.bins[usize::from(digest.to_be_bytes()[0])];
        bin.held.extend_from_slice(&digest.to_le_bytes()[..KEPT]);
        write_number(number, &mut bin.held);
        bin.entries += 1;
        if bin.held.len() >= CHUNK {
            self.file.write_all_at(&bin.held, self.written)?;
            bin.chunks.push((self.written, bin.held.len() as u32));
            self.written += bin.held.len() as u64;
            bin.held.clear();
        }
        Ok(())
    }

    /// Finds the repeats of a bin. A bin that is too large for memory is read several times.
    fn search(
        &self,
        bin: &Bin,
        seen: &mut HashSet<u128, FixedState>,
        most: usize,
        found: &mut RoaringTreemap,
    ) -> io::Result<()> {
        let turns = bin.entries.div_ceil(most.max(1)) as u128;
        let mut chunk = Vec::new();
        for turn in 0..turns {
            seen.clear();
            let mut look = |mut rest: &[u8]| {
                while let Some((digest, number)) = read(&mut rest) {
                    if digest % turns == turn && !seen.insert(digest) {
                        found.insert(number);
                    }
                }
            };
            for (offset, length) in &bin.chunks {
                chunk.resize(*length as usize, 0);
                self.file.read_exact_at(&mut chunk, *offset)?;
                look(&chunk);
            }
            look(&bin.held);
        }
        Ok(())
    }
}

fn read(rest: &mut &[u8]) -> Option<(u128, u64)> {
    let (kept, after) = rest.split_at_checked(KEPT)?;
    *rest = after;
    let mut digest = [0; 16];
    digest[..KEPT].copy_from_slice(kept);
    Some((u128::from_le_bytes(digest), read_number(rest)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A digest as good as random.
    fn digest(of: u64) -> u128 {
        let hash = blake3::hash(&of.to_le_bytes());
        let bytes = hash.as_bytes()[..16].try_into().unwrap();
        u128::from_le_bytes(bytes)
    }

    fn repeats(of: &[u64], most_held: usize) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("digests");
        let mut repeats = Repeats::holding(path.clone(), most_held);
        for (number, of) in of.iter().enumerate() {
            repeats.note(digest(*of), number as u64).unwrap();
        }
        let found = repeats.finish().unwrap();
        assert!(!path.exists());
        found.into_iter().collect()
    }

    #[test]
    fn the_first_of_equal_requests_is_no_repeat_however_few_fit_into_memory() {
        let of: Vec<u64> = (0..60_000).map(|n| n * 7919 % 40_000).collect();
        let mut seen = HashSet::new();
        let expected: Vec<u64> = (0..of.len() as u64)
            .filter(|number| !seen.insert(of[*number as usize]))
            .collect();
        assert_eq!(expected.len(), 20_000);
        for most_held in [1, 17, 1000, 39_999, 40_000, 1_000_000] {
            assert!(repeats(&of, most_held) == expected, "{most_held} in memory");
        }
        assert_eq!(repeats(&[5, 5, 5], 1), [1, 2]);
        assert_eq!(repeats(&[], 1), [0; 0]);
    }
}
