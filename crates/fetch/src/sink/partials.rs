//! The large bodies of an attempt at a part that are not whole yet: `bodies/partial/part-000000-2/000000012`.
//!
//! A later attempt takes the files of earlier ones over by renaming them, if nobody writes them any more. When all inputs of the
//! part have their record, what is left of all attempts goes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::partial::{Digests, Origin, Partial, note_of};

/// The folder of all of them, below that of the bodies.
pub const PARTIAL: &str = "partial";

/// Those of one attempt.
pub struct Partials {
    home: PathBuf,
    part: String,
    folder: PathBuf,
    digests: Digests,
    /// Inputs that have a file.
    held: BTreeSet<u64>,
}

impl Partials {
    /// Those of an attempt at a part, below the folder of the bodies, with what earlier attempts left. `part` begins the names
    /// of all attempts.
    ///
    /// # Errors
    /// When a file cannot be moved.
    pub fn take_over(
        bodies: &Path,
        (part, attempt): (&str, u32),
        digests: Digests,
    ) -> io::Result<Partials> {
        let home = bodies.join(PARTIAL);
        let mut partials = Partials {
            folder: home.join(format!("{part}-{attempt}")),
            part: part.to_owned(),
            home,
            digests,
            held: BTreeSet::new(),
        };
        for folder in partials.folders() {
            if folder != partials.folder {
                partials.take_over_all(&folder)?;
            }
        }
        Ok(partials)
    }

    /// The folders of all attempts.
    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.home).into_iter().flatten().flatten();
        let is_of = |name: &str| {
            let attempt = name.strip_prefix(&*self.part)?.strip_prefix('-')?;
            attempt.parse::<u32>().ok()
        };
        entries
            .filter(|entry| entry.file_name().to_str().and_then(is_of).is_some())
            .map(|entry| entry.path())
            .collect()
    }

    fn take_over_all(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // The lock is held until the file has its new name.
            if let Some(_partial) = Partial::resume(&path, Digests::default()) {
                fs::create_dir_all(&self.folder)?;
                let new = self.path(number);
                // The note last: without it the file is not resumed.
                fs::rename(&path, &new)?;
                fs::rename(note_of(&path), note_of(&new))?;
                self.held.insert(number);
            }
        }
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:09}"))
    }

    /// Begins the file of an input.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(
        &mut self,
        number: u64,
        origin: Option<Origin>,
        reserved: u64,
    ) -> io::Result<Partial> {
        if self.held.is_empty() {
            fs::create_dir_all(&self.folder)?;
        }
        self.held.insert(number);
        Partial::create(&self.path(number), origin, reserved, self.digests)
    }

    /// Opens the file of an input, if it has one that can be resumed for this URL.
    pub fn resume(&self, number: u64, url: &str) -> Option<Partial> {
        if !self.held.contains(&number) {
            return None;
        }
        let partial = Partial::resume(&self.path(number), self.digests)?;
        let is_same = partial
            .origin
            .as_ref()
            .is_some_and(|origin| origin.url == url);
        is_same.then_some(partial)
    }

    /// Removes what an input has, because it has its record.
    pub fn forget(&mut self, number: u64) {
        if self.held.remove(&number) {
            let path = self.path(number);
            let _ = fs::remove_file(note_of(&path));
            let _ = fs::remove_file(&path);
        }
    }

    /// Removes what all attempts left, because the part is done. What stays because of an error takes space, and no more.
    pub fn clear(&self) {
        for folder in self.folders() {
            let _ = fs::remove_dir_all(folder);
        }
        // Only if no other part has some.
        let _ = fs::remove_dir(&self.home);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(partials: &mut Partials, number: u64) -> Partial {
        let origin = Origin {
            url: "http://h/".into(),
            etag: "\"a\"".into(),
            total: None,
            headers: Vec::new(),
        };
        let mut partial = partials.create(number, Some(origin), 0).unwrap();
        partial.append(b"abc").unwrap();
        partial
    }

    #[test]
    fn a_later_attempt_takes_over_what_nobody_writes_and_the_end_of_the_part_removes_all() {
        let home = tempfile::tempdir().unwrap();
        let take_over = |part: &str, attempt| {
            Partials::take_over(home.path(), (part, attempt), Digests::default()).unwrap()
        };
        let mut first = take_over("part-000001", 1);
        let mut other = take_over("part-000002", 1);
        drop(begin(&mut first, 7));
        let held = begin(&mut first, 8);
        drop(begin(&mut other, 9));
        let second = take_over("part-000001", 2);
        assert_eq!(second.resume(7, "http://h/").unwrap().length(), 3);
        for (number, url) in [(7, "http://h/else"), (8, "http://h/"), (9, "http://h/")] {
            assert!(second.resume(number, url).is_none(), "{number} {url}");
        }
        drop(held);
        second.clear();
        let left: Vec<_> = fs::read_dir(home.path().join(PARTIAL)).unwrap().collect();
        assert_eq!(left.len(), 1, "that of the other part");
        other.clear();
        assert!(!home.path().join(PARTIAL).exists());
    }
}
