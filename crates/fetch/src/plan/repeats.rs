//! Finds the inputs whose request an earlier input has, in memory that does not grow with the list.
//!
//! The digests are in bins by their first bits. Full bins are written to a file, and each bin is sorted at the end.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use roaring::RoaringTreemap;

use super::entry::{read_number, write_number};
use crate::error::{Result, at};

/// Most digests that are sorted at once.
const MOST_SORTED: usize = 100_000;

/// Bins; the first eight bits of a digest choose one.
const BINS: usize = 256;

/// A bin with more bytes is written.
const CHUNK: usize = 16 << 10;

/// The bits of a digest that are kept. With so many, no two requests have equal ones.
const KEPT: u32 = 96;

/// The bits of a digest that are kept, as a number.
pub type Key = u128;

/// Is asked once for each request, in the order of their digests: does an input that was not noted have this request? Then
/// all noted inputs with it are repeats.
pub type IsKnown<'a> = &'a mut dyn FnMut(Key) -> Result<bool>;

/// The search for repeats.
pub struct Repeats {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    bins: Vec<Bin>,
    most_sorted: usize,
}

/// The digests with the same first bits.
#[derive(Default)]
struct Bin {
    held: Vec<u8>,
    entries: usize,
    /// Where its chunks are: offset and length.
    chunks: Vec<(u64, u32)>,
}

/// One of several equal ranges of the digests of a bin.
#[derive(Clone, Copy)]
struct Range {
    number: u64,
    of: u64,
}

impl Range {
    fn has(self, key: Key) -> bool {
        let behind_bin = (key >> (KEPT - 40)) as u32;
        (u64::from(behind_bin) * self.of) >> 32 == self.number
    }
}

impl Repeats {
    /// A search that may use a file at this path.
    pub fn new(path: PathBuf) -> Repeats {
        Repeats::sorting(path, MOST_SORTED)
    }

    fn sorting(path: PathBuf, most_sorted: usize) -> Repeats {
        Repeats {
            path,
            file: None,
            written: 0,
            bins: (0..BINS).map(|_| Bin::default()).collect(),
            most_sorted,
        }
    }

    /// Notes the request of an input.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note(&mut self, digest: u128, number: u64) -> Result<()> {
        let digest = digest.to_be_bytes();
        let bin = &mut self.bins[usize::from(digest[0])];
        bin.held.extend_from_slice(&digest[..(KEPT / 8) as usize]);
        write_number(number, &mut bin.held);
        bin.entries += 1;
        if bin.held.len() < CHUNK {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(create(&self.path).map_err(at("write", &self.path))?),
        };
        let written = file.write_all_at(&bin.held, self.written);
        written.map_err(at("write", &self.path))?;
        bin.chunks.push((self.written, bin.held.len() as u32));
        self.written += bin.held.len() as u64;
        bin.held.clear();
        Ok(())
    }

    /// The inputs whose request is that of an input that was noted before them, or that is known. Removes the file.
    ///
    /// # Errors
    /// When the file cannot be read, and those of `is_known`.
    pub fn finish(self, is_known: IsKnown<'_>) -> Result<RoaringTreemap> {
        let (mut found, mut some) = (RoaringTreemap::new(), Vec::new());
        for bin in &self.bins {
            // A bin that is too large for memory is read several times.
            let of = bin.entries.div_ceil(self.most_sorted.max(1)) as u64;
            for number in 0..of {
                let collected = self.collect(bin, Range { number, of }, &mut some);
                collected.map_err(at("read", &self.path))?;
                some.sort_unstable();
                for equal in some.chunk_by(|one, next| one.0 == next.0) {
                    let firsts = usize::from(!is_known(equal[0].0)?);
                    found.extend(equal[firsts..].iter().map(|(_, number)| *number));
                }
            }
        }
        if self.file.is_some() {
            fs::remove_file(&self.path).map_err(at("remove", &self.path))?;
        }
        Ok(found)
    }

    /// The digests of a range, each with the number of its input.
    fn collect(&self, bin: &Bin, range: Range, into: &mut Vec<(Key, u64)>) -> io::Result<()> {
        into.clear();
        let mut look = |mut rest: &[u8]| {
            while let Some((key, number)) = read(&mut rest) {
                if range.has(key) {
                    into.push((key, number));
                }
            }
        };
        let mut chunk = Vec::new();
        for (offset, length) in &bin.chunks {
            chunk.resize(*length as usize, 0);
            if let Some(file) = &self.file {
                file.read_exact_at(&mut chunk, *offset)?;
            }
            look(&chunk);
        }
        look(&bin.held);
        Ok(())
    }
}

fn create(path: &std::path::Path) -> io::Result<File> {
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(true);
    options.open(path)
}

fn read(rest: &mut &[u8]) -> Option<(Key, u64)> {
    let (kept, after) = rest.split_at_checked((KEPT / 8) as usize)?;
    *rest = after;
    let mut key = [0; 16];
    key[4..].copy_from_slice(kept);
    Some((Key::from_be_bytes(key), read_number(rest)?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A digest as good as random.
    fn digest(of: u64) -> u128 {
        let hash = blake3::hash(&of.to_le_bytes());
        let bytes = hash.as_bytes()[..16].try_into().unwrap();
        u128::from_le_bytes(bytes)
    }

    fn repeats(of: &[u64], most: usize) -> Vec<u64> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("digests");
        let mut repeats = Repeats::sorting(path.clone(), most);
        for (number, of) in of.iter().enumerate() {
            repeats.note(digest(*of), number as u64).unwrap();
        }
        let found = repeats.finish(&mut |_| Ok(false)).unwrap();
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
        for most in [1, 17, 1000, 39_999, 40_000, 1_000_000] {
            assert!(repeats(&of, most) == expected, "{most} at once");
        }
        assert_eq!(repeats(&[5, 5, 5], 1), [1, 2]);
        assert_eq!(repeats(&[], 1), [0; 0]);
    }
}
