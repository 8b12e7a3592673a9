//! The large bodies of an attempt at a part that are not whole yet: `bodies/partial/part-000000-2/000000012`.
//!
//! A later attempt takes the files of earlier ones over by renaming them, if nobody writes them any more. When all
//! inputs of the part have their record, what is left of this attempt and of earlier ones goes.
//!
//! Other threads and processes work in the same folders. A folder may therefore vanish while it is empty, and a file of
//! an earlier attempt may be taken by another at any moment.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::digests::Digests;
use super::partial::{Partial, Representation, note_of};

/// The folder of all of them, below that of the bodies.
pub const PARTIAL: &str = "partial";

/// Each other part can remove the folder of all once when it ends, so that fewer tries are always enough.
const TRIES: u32 = 1000;

/// Those of one attempt.
pub struct Partials {
    home: PathBuf,
    part: String,
    attempt: u32,
    folder: PathBuf,
    digests: Digests,
    /// Inputs that have a file.
    held: BTreeSet<u64>,
}

impl Partials {
    /// Those of an attempt at a part, below the folder of the bodies, with what earlier attempts left. `part` begins
    /// the names of all attempts.
    ///
    /// # Errors
    /// When a file cannot be renamed.
    pub fn take_over(
        bodies: &Path,
        part: &str,
        attempt: u32,
        digests: Digests,
    ) -> io::Result<Partials> {
        let home = bodies.join(PARTIAL);
        let mut partials = Partials {
            folder: home.join(format!("{part}-{attempt}")),
            part: part.to_owned(),
            attempt,
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

    /// The folders of this attempt and of earlier ones. A later one belongs to whoever took the part over.
    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.home).into_iter().flatten().flatten();
        let attempt_of = |name: &str| {
            let attempt = name.strip_prefix(&*self.part)?.strip_prefix('-')?;
            attempt.parse::<u32>().ok()
        };
        let is_ours = |attempt: u32| attempt <= self.attempt;
        entries
            .filter(|entry| {
                let name = entry.file_name();
                name.to_str().and_then(attempt_of).is_some_and(is_ours)
            })
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
                let new = self.path(number);
                // The note last: without it the file is not resumed.
                let moved = in_folder(&self.folder, &path, || fs::rename(&path, &new))
                    .and_then(|()| fs::rename(note_of(&path), note_of(&new)));
                match moved {
                    // Another attempt took it first, or its own ended it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    moved => {
                        moved?;
                        self.held.insert(number);
                    }
                }
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
        representation: Option<Representation>,
        reserved: u64,
    ) -> io::Result<Partial> {
        self.held.insert(number);
        let path = self.path(number);
        in_folder(&self.folder, Path::new("/"), || {
            Partial::create(&path, representation.clone(), reserved, self.digests)
        })
    }

    /// Opens the file of an input, if it has one that can be resumed for this URL.
    pub fn resume(&self, number: u64, url: &str) -> Option<Partial> {
        if !self.held.contains(&number) {
            return None;
        }
        let partial = Partial::resume(&self.path(number), self.digests)?;
        let is_same = partial
            .representation
            .as_ref()
            .is_some_and(|representation| representation.url == url);
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

    /// Removes what this attempt and earlier ones left, because the part is done. A file that stays because of an error
    /// only takes space.
    pub fn clear(&self) {
        for folder in self.folders() {
            let _ = fs::remove_dir_all(folder);
        }
        // Only if no other part has some.
        let _ = fs::remove_dir(&self.home);
    }
}

/// Makes something of `source` in a folder, which others may remove while it is empty: also between its own creation
/// and that of its parent's.
fn in_folder<T>(
    folder: &Path,
    source: &Path,
    mut make: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    // A parent that others create and remove at the same time can be there already, and not be there a moment later.
    let is_race = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
        )
    };
    let mut tries = 0;
    loop {
        tries += 1;
        match fs::create_dir_all(folder).and_then(|()| make()) {
            Err(error) if is_race(&error) && tries < TRIES && source.exists() => {}
            made => return made,
        }
    }
}

#[cfg(test)]
mod tests;
