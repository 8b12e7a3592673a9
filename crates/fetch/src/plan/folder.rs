//! Where everything is in a job's folder.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Result, at};

/// The folder of a round, in the job's.
const AGAIN: &str = "again";

/// A job's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder at this path, whether it is there or not.
    pub fn at(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
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
        Folder(self.0.join(AGAIN))
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

/// Writes a file that is there whole or not at all, also after a power cut.
///
/// # Errors
/// When the system refuses.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    let draft = path.with_extension("draft");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        sync_folder_of(path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&draft);
        at("write", path)(error)
    })
}

/// Writes a file that whoever reads finds whole; of a power cut it knows nothing, and so it is quick.
///
/// # Errors
/// When the system refuses.
pub fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let draft = path.with_extension("draft");
    fs::write(&draft, content)?;
    fs::rename(&draft, path)
}

/// Has the names in the folder of this file survive a power cut.
///
/// # Errors
/// When the system refuses.
pub fn sync_folder_of(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
