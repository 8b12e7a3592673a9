//! Where everything is in a job's folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;

/// The folder of a round, in the job's.
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
        attempt: (u32, u32),
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

    /// The inputs whose request an earlier input has.
    pub fn repeats(&self) -> PathBuf {
        self.planned().join("repeats")
    }

    /// Where the inputs of a part are.
    pub fn index(&self, part: u32) -> PathBuf {
        self.planned().join(format!("{part:06}.json"))
    }

    /// The working files of a part, and its `COMMIT`.
    pub fn part(&self, part: u32) -> PathBuf {
        self.0.join("parts").join(format!("{part:06}"))
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

    /// The round of `again`, while it is not done.
    pub fn again(&self) -> Folder {
        Folder(self.0.join(AGAIN), None)
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
        match self.0.parent() {
            Some(home) if self.0.ends_with(AGAIN) && home.join("plan.json").exists() => home,
            _ => &self.0,
        }
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
