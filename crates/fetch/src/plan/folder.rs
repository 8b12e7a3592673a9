//! Where everything is in a job's folder.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Result, at};

/// The folder of rounds, in the job's.
const AGAIN: &str = "again";

/// A job's folder.
#[derive(Clone)]
pub struct Folder(PathBuf, Option<Arc<dyn Mirror>>);

/// Where the state of a job is, if its folder is only one worker's copy: each decision is made there, and not in the
/// folder.
pub trait Mirror: Send + Sync {
    /// Where that is, as shown to people.
    fn shown(&self) -> &str;

    /// Brings the inputs of a part into the folder.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn inputs(&self, folder: &Folder, part: u32) -> Result<()>;

    /// Brings what other workers did of a part into the folder: the segments of attempts before `attempt`, the names of
    /// those after it, and the `COMMIT`. It takes a request for each piece of a segment, so it is for the begin of an
    /// attempt.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn pull(&self, folder: &Folder, part: u32, attempt: u32) -> Result<()>;

    /// Brings the name of the attempt after this one into the folder, and the `COMMIT`, if they are there. It takes as
    /// little as it can, because it is called for each batch of requests that must not be repeated.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn look(&self, folder: &Folder, part: u32, attempt: u32) -> Result<()>;

    /// Claims an attempt at a part; false if another worker did.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn claim(&self, part: u32, attempt: u32) -> Result<bool>;

    /// Returns when the files are there that these lines of results name as bodies. They are not in the folder any more
    /// then.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn bodies(&self, folder: &Folder, lines: &[u8]) -> Result<()>;

    /// Returns when so many bytes of a segment are there.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn keep(&self, folder: &Folder, part: u32, attempt: u32, bytes: u64) -> Result<()>;

    /// Commits a part whose results are in this file; false if another worker did. The `COMMIT` is in the folder then,
    /// whoever made it.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn commit(
        &self,
        folder: &Folder,
        part: u32,
        attempt: u32,
        commit: &[u8],
        results: &Path,
    ) -> Result<bool>;
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Folder {
    fn eq(&self, other: &Folder) -> bool {
        self.0 == other.0
    }
}

impl Eq for Folder {}

impl Folder {
    /// The folder at this path, whether it is there or not.
    pub fn at(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into(), None)
    }

    /// Makes this folder one worker's copy of the job in a mirror.
    #[must_use]
    pub fn with_mirror(self, mirror: Arc<dyn Mirror>) -> Folder {
        Folder(self.0, Some(mirror))
    }

    /// Where the state is, if it is not in the folder.
    pub fn mirror(&self) -> Option<&dyn Mirror> {
        self.1.as_deref()
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The job, with all settings.
    pub fn job(&self) -> PathBuf {
        self.0.join("job.toml")
    }

    /// The plan. Its existence says that planning is complete.
    pub fn plan(&self) -> PathBuf {
        self.0.join("plan.json")
    }

    /// The pieces of the plan that are written before `plan.json`.
    pub fn planned(&self) -> PathBuf {
        self.0.join("plan")
    }

    /// All inputs.
    pub fn inputs(&self) -> PathBuf {
        self.planned().join("inputs.zst")
    }

    /// The digests of requests, while a plan is made.
    pub fn digests(&self) -> PathBuf {
        self.planned().join("digests")
    }

    /// The digests of all requests, sorted.
    pub fn requests(&self) -> PathBuf {
        self.planned().join("requests")
    }

    /// The inputs whose request an earlier input has.
    pub fn repeats(&self) -> PathBuf {
        self.planned().join("repeats")
    }

    /// Where the inputs of a part are.
    pub fn index(&self, part: u32) -> PathBuf {
        self.planned().join(format!("{part:06}.json"))
    }

    /// The folders of all parts.
    pub fn parts(&self) -> PathBuf {
        self.0.join("parts")
    }

    /// The working files of a part, and its `COMMIT`.
    pub fn part(&self, part: u32) -> PathBuf {
        self.parts().join(format!("{part:06}"))
    }

    /// The file whose creation decides about a part.
    pub fn commit(&self, part: u32) -> PathBuf {
        self.part(part).join("COMMIT")
    }

    /// An attempt at a part.
    pub fn attempt(&self, part: u32, attempt: u32) -> PathBuf {
        self.part(part).join(format!("attempt-{attempt}"))
    }

    /// The checkpoint of an attempt.
    pub fn checkpoint(&self, part: u32, attempt: u32) -> PathBuf {
        self.part(part).join(format!("attempt-{attempt}.known"))
    }

    /// The results of all parts.
    pub fn results(&self) -> PathBuf {
        self.0.join("results")
    }

    /// The results of a part.
    pub fn result(&self, part: u32) -> PathBuf {
        self.results().join(format!("part-{part:06}.jsonl.zst"))
    }

    /// How far a run is, from time to time.
    pub fn progress(&self) -> PathBuf {
        self.0.join("progress.json")
    }

    /// Where the rounds of `again` are, each in a folder of its own.
    pub fn rounds(&self) -> PathBuf {
        self.0.join(AGAIN)
    }

    /// The folder of the round with this id. No other round ever has it, so whoever is late never finds the files of
    /// another round there.
    pub fn round(&self, id: &str) -> Folder {
        Folder(self.rounds().join(id), None)
    }

    /// The folder of the round that is not merged yet.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn current_round(&self) -> Result<Option<Folder>> {
        let mut rounds = self.all_rounds()?.into_iter();
        Ok(rounds.find(|round| round.plan().exists()))
    }

    /// The folders of rounds that are there. Only the round that is not merged yet has a plan.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn all_rounds(&self) -> Result<Vec<Folder>> {
        let path = self.rounds();
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at("read", &path))?,
        };
        let entries = entries.map(|entry| entry.map(|entry| Folder(entry.path(), None)));
        entries
            .collect::<std::io::Result<_>>()
            .map_err(at("read", &path))
    }

    /// The folder of the job around a round; none for the job itself, and for one worker's copy of a round.
    pub fn job_around(&self) -> Option<&Path> {
        let rounds = self.0.parent().filter(|rounds| rounds.ends_with(AGAIN))?;
        let home = rounds.parent()?;
        home.join("plan.json").exists().then_some(home)
    }

    /// Whether this was the folder of a round that was merged. All of its parts were done, and it is gone.
    pub fn is_merged(&self) -> bool {
        // A plan that cannot be looked at may be there.
        self.job_around().is_some() && matches!(self.plan().try_exists(), Ok(false))
    }

    /// Whether a part is done, by whomever.
    pub fn is_done(&self, part: u32) -> bool {
        // In this order: the plan of a round goes before its commits.
        self.commit(part).exists() || self.is_merged()
    }

    /// The job's folder or URL, for people; also for a round.
    pub fn shown(&self) -> String {
        match self.mirror() {
            Some(mirror) => mirror.shown().to_owned(),
            None => self.base().display().to_string(),
        }
    }

    /// The folder of the job, also for a round.
    pub fn base(&self) -> &Path {
        self.job_around().unwrap_or(&self.0)
    }

    /// How far each worker is, a file each.
    pub fn workers(&self) -> PathBuf {
        self.0.join("workers")
    }

    /// How far a worker is.
    pub fn worker(&self, name: &str) -> PathBuf {
        self.workers().join(format!("{name}.json"))
    }

    /// The records that each product was made from.
    pub fn products(&self) -> PathBuf {
        self.0.join("products.json")
    }

    /// Held by the one run that works on all parts.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_merged_when_its_plan_is_gone_and_not_when_nobody_can_look() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(home.path());
        let round = folder.round("12345678");
        fs::write(folder.plan(), "").unwrap();
        assert!(!folder.is_merged() && !folder.is_done(0));
        fs::create_dir_all(round.path()).unwrap();
        fs::write(round.plan(), "").unwrap();
        assert!(!round.is_merged() && !round.is_done(0));
        assert_eq!(folder.current_round().unwrap(), Some(round.clone()));
        fs::remove_dir_all(folder.rounds()).unwrap();
        assert!(round.is_merged() && round.is_done(0));
        assert_eq!(folder.current_round().unwrap(), None);
        // The system does not say that the plan is not there, but that it cannot be looked at.
        fs::write(folder.rounds(), "").unwrap();
        assert!(!round.is_merged());
        fs::remove_file(folder.rounds()).unwrap();
        fs::remove_file(folder.plan()).unwrap();
        assert!(!round.is_merged(), "the whole job is gone");
    }
}
