//! `COMMIT`: the file whose exclusive creation makes a part's result, and what it says.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::entry::Counted;
use super::results::gone;
use crate::error::{Error, Result, at};
use crate::plan::{Folder, sync_folder_of};
use crate::record::Outcome;

/// How many inputs of a part ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Records.
    pub records: u64,
    /// Pages that others follow, whose records are beside those.
    #[serde(skip_serializing_if = "is_none")]
    pub pages: u64,
    /// Good responses.
    pub ok: u64,
    /// Responses.
    pub responses: u64,
    /// Those that still hold from an earlier round.
    pub unchanged: u64,
    /// Redirects to hosts of other parts, which are still to be followed.
    pub onward: u64,
    /// Errors.
    pub errors: u64,
    /// Inputs of which nothing was sent.
    pub skipped: u64,
    /// Those whose host was given up.
    pub unreached: u64,
    /// Those of which nobody knows whether they were acted on.
    pub unknown: u64,
    /// Those that were none.
    pub invalid: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// Counts a record.
    pub fn count(&mut self, outcome: Outcome, ok: bool) {
        self.records += 1;
        self.ok += u64::from(ok);
        *match outcome {
            Outcome::Response => &mut self.responses,
            Outcome::Unchanged => &mut self.unchanged,
            Outcome::Onward => &mut self.onward,
            Outcome::Error => &mut self.errors,
            Outcome::Skipped => &mut self.skipped,
            Outcome::Unreached => &mut self.unreached,
            Outcome::Unknown => &mut self.unknown,
            Outcome::Invalid => &mut self.invalid,
        } += 1;
    }

    /// Counts the records of another. A file that was damaged may have any number, so sums end at the largest.
    pub fn add(&mut self, other: &Tally) {
        self.join(other, u64::saturating_add);
    }

    /// Keeps the larger of each count.
    pub fn raise(&mut self, other: &Tally) {
        self.join(other, u64::max);
    }

    fn join(&mut self, other: &Tally, both: fn(u64, u64) -> u64) {
        let mut other = other.clone();
        for (own, more) in self.counts().into_iter().zip(other.counts()) {
            *own = both(*own, *more);
        }
    }

    fn counts(&mut self) -> [&mut u64; 11] {
        [
            &mut self.records,
            &mut self.pages,
            &mut self.ok,
            &mut self.responses,
            &mut self.unchanged,
            &mut self.onward,
            &mut self.errors,
            &mut self.skipped,
            &mut self.unreached,
            &mut self.unknown,
            &mut self.invalid,
        ]
    }

    /// All records, those of pages that others follow too.
    pub fn lines(&self) -> u64 {
        self.records.saturating_add(self.pages)
    }

    /// Inputs without a good response, but for those that were skipped.
    pub fn not_ok(&self) -> u64 {
        self.records
            .saturating_sub(self.ok)
            .saturating_sub(self.skipped)
    }

    /// Responses that are not good.
    pub fn bad_responses(&self) -> u64 {
        self.responses
            .saturating_add(self.unchanged)
            .saturating_sub(self.ok)
    }

    /// Inputs that were to be sent and have no good response.
    pub fn failed(&self) -> u64 {
        let sent = [self.unchanged, self.errors, self.unreached];
        let sent = sent.into_iter().fold(self.responses, u64::saturating_add);
        sent.saturating_sub(self.ok)
    }
}

/// The result of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The part.
    pub part: u32,
    /// The attempt that did it.
    pub attempt: u32,
    /// The bytes of each attempt that count, the last attempt included.
    pub counts: Vec<Counted>,
    /// How its inputs ended.
    pub tally: Tally,
    /// The last round whose records replaced some of this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<String>,
}

/// The commit of a part; none if it is not done.
///
/// # Errors
/// When it cannot be read.
pub fn load(folder: &Folder, part: u32) -> Result<Option<Commit>> {
    let path = folder.commit(part);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(at("read", &path))?,
    };
    let commit = serde_json::from_slice(&text);
    commit
        .map_err(|error| Error::failed(format!("{} is damaged: {error}", path.display())))
        .map(Some)
}

impl Commit {
    /// Creates the file, whole and exclusively; false if there is one.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(&self, folder: &Folder) -> Result<bool> {
        let path = folder.commit(self.part);
        let draft = folder
            .part(self.part)
            .join(format!("COMMIT-{}", self.attempt));
        let text = serde_json::to_vec_pretty(self).expect("numbers become JSON");
        if let Some(mirror) = folder.mirror() {
            let results = Commit::final_draft(folder, self.part, self.attempt);
            return mirror.commit(folder, self.part, self.attempt, &text, &results);
        }
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all(&text)?;
            file.sync_all()
        };
        write().map_err(at("write", &draft))?;
        // A link is exclusive, and the file has all of its content from its first moment on.
        let linked = fs::hard_link(&draft, &path);
        let _ = fs::remove_file(&draft);
        match linked {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            linked => {
                linked.map_err(at("create", &path))?;
                sync_folder_of(&path).map_err(at("write", &path))?;
                Ok(true)
            }
        }
    }

    /// The path of the results before they are renamed into `results/`.
    pub fn final_draft(folder: &Folder, part: u32, attempt: u32) -> std::path::PathBuf {
        folder.part(part).join(format!("final-{attempt}.jsonl.zst"))
    }
}

/// Completes a committed part, at its end or after a crash: moves its results into `results/`, and removes its
/// segments.
///
/// # Errors
/// When the system refuses, or the results are nowhere.
pub fn publish(folder: &Folder, commit: &Commit) -> Result<()> {
    let result = folder.result(commit.part);
    let draft = Commit::final_draft(folder, commit.part, commit.attempt);
    match fs::rename(&draft, &result) {
        Ok(()) => sync_folder_of(&result).map_err(at("write", &result))?,
        // They were moved before. A file system that is read-only says something else than that there is no such draft.
        Err(_) if !draft.exists() && result.exists() => {}
        Err(_) if !draft.exists() => return Err(gone(folder, commit.part)),
        Err(error) => return Err(at("move", &draft)(error)),
    }
    if folder.mirror().is_some() {
        // They are in the mirror, and the copy would take space until all parts are done.
        let _ = fs::remove_file(&result);
    }
    // Segments last: while they are there, nothing is lost.
    let home = folder.part(commit.part);
    for entry in fs::read_dir(&home).map_err(at("read", &home))? {
        let path = entry.map_err(at("read", &home))?.path();
        if is_working_file(&path) {
            let _ = fs::remove_file(path);
        }
    }
    Ok(())
}

/// Whether a file of a part is of no use once the part is committed. Another process may merge a round into the part at
/// the same time, so its drafts are left alone.
fn is_working_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let begins = |name: &str| {
        ["attempt-", "final-", "COMMIT-"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    name.is_some_and(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_commits_is_made() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(home.path());
        fs::create_dir_all(folder.part(3)).unwrap();
        let commit = |attempt| Commit {
            part: 3,
            attempt,
            counts: Vec::new(),
            tally: Tally::default(),
            round: None,
        };
        assert!(commit(2).create(&folder).unwrap());
        assert!(!commit(1).create(&folder).unwrap());
        assert_eq!(load(&folder, 3).unwrap(), Some(commit(2)));
        assert_eq!(load(&folder, 4).unwrap(), None);
    }
}
