//! The folders in which a process works on a job that is in object storage. Each is locked as long as its process lives,
//! so what a killed process left is recognized and removed by the next one.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;
use uuid::Uuid;

use crate::error::{Result, at};
use crate::plan::Folder;

/// How the names of these folders begin; a UUID follows.
const PREFIX: &str = "hecaton-scratch-";

/// A folder for one process, removed at its end.
pub struct Scratch {
    path: PathBuf,
    /// Some file systems have no locks for folders. What is left there has to be removed by hand.
    _lock: Option<Flock<File>>,
}

impl Scratch {
    /// A folder within another of these, which no other process uses.
    pub(super) fn within(path: &Path) -> Result<Scratch> {
        fs::create_dir_all(path).map_err(at("create", path))?;
        Ok(Scratch {
            path: path.to_owned(),
            _lock: None,
        })
    }

    /// A new one, in this folder or in that for temporary files. Folders there whose process was killed are removed.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(home: Option<&Path>) -> Result<Scratch> {
        let home = home.map_or_else(std::env::temp_dir, Path::to_owned);
        remove_abandoned(&home);
        loop {
            let path = home.join(format!("{PREFIX}{}", Uuid::new_v4()));
            fs::create_dir_all(&path).map_err(at("create", &path))?;
            let lock = lock(&path);
            // Another process may have taken it for an abandoned one before it was locked.
            if path.exists() {
                return Ok(Scratch { path, _lock: lock });
            }
        }
    }

    /// As the folder of a job.
    pub fn folder(&self) -> Folder {
        Folder::at(&self.path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Locks a folder; none if another process has it, or if the file system has no such locks.
fn lock(folder: &Path) -> Option<Flock<File>> {
    let file = File::open(folder).ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// Removes the folders of this user whose processes have ended. What cannot be read or removed stays.
fn remove_abandoned(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        if !is_ours(&entry) {
            continue;
        }
        let path = entry.path();
        // Locked until it is removed, so that two processes do not remove it at once.
        if let Some(_lock) = lock(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_ours(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let id = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    // Of the entry itself: a link is nobody's folder.
    let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == Uid::effective().as_raw();
    id.is_some_and(|id| Uuid::parse_str(id).is_ok()) && entry.metadata().is_ok_and(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(home: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(home).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_lives_stays() {
        let home = tempfile::tempdir().unwrap();
        let left = home.path().join(format!("{PREFIX}{}", Uuid::new_v4()));
        fs::create_dir_all(left.join("parts/000000")).unwrap();
        let others = ["hecaton-scratch-notes", "other"].map(|name| home.path().join(name));
        for other in &others {
            fs::create_dir(other).unwrap();
        }
        let target = home.path().join("other");
        let link = home.path().join(format!("{PREFIX}{}", Uuid::new_v4()));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let living = Scratch::new(Some(home.path())).unwrap();
        let second = Scratch::new(Some(home.path())).unwrap();
        let mut expected = vec![living.path.clone(), second.path.clone(), link];
        expected.extend(others);
        expected.sort();
        let mut found = names(home.path());
        found.sort();
        assert_eq!(found, expected);
        drop(living);
        assert!(second.path.exists() && names(home.path()).len() == expected.len() - 1);
    }
}
