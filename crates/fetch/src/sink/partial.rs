//! A body on its way to the disk: a file that grows, and a note beside it that says what the file is the beginning of.
//!
//! The note is there before the first byte. It names the representation by its strong validator, so that the rest can be
//! requested with `Range` and `If-Range` (RFC 9110 §13.1.5). A body without a note cannot be resumed.
//!
//! The writer holds a lock on the file. A process that gets the lock later knows that nobody writes any more, not even
//! a process that was stopped. A file counts only within the boot that wrote it: what a power cut left may have holes.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::digests::{Digested, Digests, Hashers};

/// Bytes that are read at once to digest the beginning of a file.
const READ: usize = 1 << 20;

/// The representation that a file is the beginning of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Representation {
    /// The URL of the request.
    pub url: String,
    /// The strong validator: an `ETag`, or a `Last-Modified`.
    #[serde(alias = "etag")]
    pub validator: String,
    /// The length, if the response said it.
    pub total: Option<u64>,
    /// The headers of the first response, as lines.
    pub headers: Vec<u8>,
}

impl Representation {
    /// The header that the validator is the value of.
    pub fn header(&self) -> &'static str {
        match self.validator.starts_with('"') {
            true => "etag",
            false => "last-modified",
        }
    }
}

/// The contents of the note.
#[derive(Serialize, Deserialize)]
struct Note {
    boot: String,
    reserved: u64,
    #[serde(alias = "origin")]
    representation: Representation,
}

/// A body that is being written. Dropping it leaves the file, to be resumed or removed.
pub struct Partial {
    file: Flock<File>,
    path: PathBuf,
    /// None if it cannot be resumed.
    pub representation: Option<Representation>,
    reserved: u64,
    length: u64,
    /// So much of it is in the digests.
    digested: u64,
    hashers: Hashers,
}

/// A body that is whole.
pub struct Whole {
    /// Its file.
    pub file: Flock<File>,
    /// Where that is.
    pub path: PathBuf,
    /// Bytes before the body, for what an archive has there.
    pub reserved: u64,
    /// The length of the body.
    pub length: u64,
    /// Its digests.
    pub digested: Digested,
    /// The headers of the response that began it, if other responses continued it.
    pub representation: Option<Representation>,
}

/// The name of this boot of the machine; none where there is none, and then nothing is resumed.
fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

fn lock(file: File) -> Option<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// The note beside a file.
pub(super) fn note_of(path: &Path) -> PathBuf {
    path.with_extension("json")
}

impl Partial {
    /// Begins a file, with so many free bytes before the body.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(
        path: &Path,
        representation: Option<Representation>,
        reserved: u64,
        digests: Digests,
    ) -> io::Result<Partial> {
        let note = note_of(path);
        for old in [path, &note] {
            match fs::remove_file(old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let representation = boot().and_then(|boot| Some((boot, representation?)));
        let representation = match representation {
            None => None,
            Some((boot, representation)) => {
                let text = serde_json::to_vec(&Note {
                    boot,
                    reserved,
                    representation: representation.clone(),
                })?;
                fs::write(&note, text)?;
                Some(representation)
            }
        };
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        let file = lock(file).ok_or_else(|| io::Error::other("another process has locked it"))?;
        Partial::at(file, path, representation, reserved, 0, digests)
    }

    /// Opens a file to resume it; none if it cannot be, or somebody still writes it.
    pub fn resume(path: &Path, digests: Digests) -> Option<Partial> {
        let file = File::options().read(true).write(true).open(path).ok()?;
        let file = lock(file)?;
        // A note that a crash cut is none.
        let note: Note = serde_json::from_slice(&fs::read(note_of(path)).ok()?).ok()?;
        if note.boot != boot()? {
            return None;
        }
        let length = file.metadata().ok()?.len().checked_sub(note.reserved)?;
        // One byte is requested at least: its response says whether the file is still the same.
        let length = match note.representation.total {
            Some(total) if length > total => return None,
            Some(total) => length.min(total.saturating_sub(1)),
            None => length,
        };
        file.set_len(note.reserved + length).ok()?;
        let (representation, reserved) = (Some(note.representation), note.reserved);
        let partial = Partial::at(file, path, representation, reserved, length, digests).ok()?;
        (length > 0).then_some(partial)
    }

    fn at(
        mut file: Flock<File>,
        path: &Path,
        representation: Option<Representation>,
        reserved: u64,
        length: u64,
        digests: Digests,
    ) -> io::Result<Partial> {
        file.seek(SeekFrom::Start(reserved + length))?;
        Ok(Partial {
            file,
            path: path.to_owned(),
            representation,
            reserved,
            length,
            digested: 0,
            hashers: digests.begin(),
        })
    }

    /// How much of the body is there.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends a piece of the body.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        if self.digested == self.length {
            self.digest(piece);
        }
        self.length += piece.len() as u64;
        Ok(())
    }

    fn digest(&mut self, piece: &[u8]) {
        self.hashers.update(piece);
        self.digested += piece.len() as u64;
    }

    /// Digests some of what was there when it was opened; true once that is done.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn catch_up(&mut self, most: u64) -> io::Result<bool> {
        if self.hashers.is_empty() {
            self.digested = self.length;
        }
        let until = self.length.min(self.digested.saturating_add(most));
        let mut buffer = vec![0; READ.min((until - self.digested) as usize)];
        while self.digested < until {
            let some = buffer.len().min((until - self.digested) as usize);
            let at = self.reserved + self.digested;
            self.file.read_exact_at(&mut buffer[..some], at)?;
            self.digest(&buffer[..some]);
        }
        Ok(self.digested == self.length)
    }

    /// Removes the file: nothing continues it.
    pub fn discard(self) {
        remove(&self.path);
    }

    /// The body is whole.
    pub fn whole(self) -> Whole {
        Whole {
            file: self.file,
            path: self.path,
            reserved: self.reserved,
            length: self.length,
            digested: self.hashers.finish(),
            representation: self.representation,
        }
    }
}

impl Whole {
    /// Removes the file: its body is not what it should be.
    pub fn discard(self) {
        remove(&self.path);
    }
}

/// Removes a file with its note: the note first, because without it the file is not resumed.
fn remove(path: &Path) {
    let _ = fs::remove_file(note_of(path));
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Digests = Digests {
        blake3: true,
        sha256: true,
        md5: true,
    };

    fn representation(total: Option<u64>) -> Option<Representation> {
        Some(Representation {
            url: "http://h/".into(),
            validator: "\"a\"".into(),
            total,
            headers: b"etag: \"a\"\r\n".to_vec(),
        })
    }

    #[test]
    fn a_body_that_was_resumed_has_the_digests_of_the_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("000000007");
        let mut first = Partial::create(&path, representation(Some(9)), 512, ALL).unwrap();
        first.append(b"abcd").unwrap();
        assert!(Partial::resume(&path, ALL).is_none(), "it is locked");
        drop(first);
        let mut second = Partial::resume(&path, ALL).unwrap();
        assert_eq!(
            (second.length(), &second.representation),
            (4, &representation(Some(9)))
        );
        assert!(!second.catch_up(3).unwrap());
        assert!(second.catch_up(3).unwrap());
        second.append(b"efghi").unwrap();
        let whole = second.whole();
        assert_eq!((whole.length, whole.reserved), (9, 512));
        let of_whole = ALL.of(b"abcdefghi");
        assert_eq!(of_whole.blake3, Some(blake3::hash(b"abcdefghi")));
        assert_eq!(whole.digested.blake3, of_whole.blake3);
        assert_eq!(whole.digested.sha256, of_whole.sha256);
        assert_eq!(whole.digested.md5, of_whole.md5);
        assert_eq!(&fs::read(&path).unwrap()[512..], b"abcdefghi");
    }

    #[test]
    fn one_byte_is_left_to_request_and_what_is_too_long_is_not_resumed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("000000007");
        for (total, expected) in [(Some(4), Some(3)), (Some(3), None), (None, Some(4))] {
            let mut partial = Partial::create(&path, representation(total), 0, ALL).unwrap();
            partial.append(b"abcd").unwrap();
            drop(partial);
            let resumed = Partial::resume(&path, ALL);
            assert_eq!(resumed.map(|partial| partial.length()), expected);
        }
    }

    #[test]
    fn another_boot_a_cut_note_and_no_note_are_not_resumed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("000000007");
        let begin = |representation| {
            let mut partial = Partial::create(&path, representation, 0, ALL).unwrap();
            partial.append(b"abcd").unwrap();
        };
        begin(representation(None));
        let note = fs::read_to_string(note_of(&path)).unwrap();
        fs::write(note_of(&path), note.replace(&boot().unwrap(), "another")).unwrap();
        assert!(Partial::resume(&path, ALL).is_none());
        fs::write(note_of(&path), &note[..note.len() / 2]).unwrap();
        assert!(Partial::resume(&path, ALL).is_none());
        begin(None);
        assert!(Partial::resume(&path, ALL).is_none());
    }
}
