//! A job in object storage: its plan, the segments of attempts, what was committed, and the results. Workers share
//! nothing else.
//!
//! A worker has a copy of the plan and of one part in a scratch folder, and does the part there with the code of every
//! other job.
//! Each decision is one object that is created exclusively: an attempt's `claim`, and a part's `COMMIT`.
//! `docs/decisions/object-storage.md` says why nothing more is needed.

mod commits;
mod gather;
mod mirror;
mod notes;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

pub use self::notes::Notes;
use crate::error::{Error, Result, at};
use crate::job::{BodyStorage, Job, Reach};
use crate::objects::Store;
use crate::plan::{self, Folder, Plan, write_whole};
use crate::start::{self, Started, prepare};

const JOB: &str = "job.toml";
const PLAN: &str = "plan.json";

/// A job in object storage.
pub struct Remote {
    store: Store,
    state: Mutex<State>,
    /// Held while a `COMMIT` is written into a folder.
    bringing: Mutex<()>,
}

/// The state of the job that this process knows.
#[derive(Default)]
struct State {
    /// The folder's name in the store of the plan.
    plan: String,
    /// How much of each of our segments is there, by part and attempt.
    kept: HashMap<(u32, u32), u64>,
    /// Whether records name files with bodies.
    has_files: bool,
    /// The parts whose inputs are here.
    inputs: HashSet<u32>,
}

/// A folder for one process, removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one, in this folder or in that for temporary files.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(home: Option<&Path>) -> Result<Scratch> {
        let home = home.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = home.join(format!("hecaton-{}", Uuid::new_v4()));
        fs::create_dir_all(&path).map_err(at("create", &path))?;
        Ok(Scratch(path))
    }

    /// As the folder of a job.
    pub fn folder(&self) -> Folder {
        Folder::at(&self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The URL of a job that is in object storage; none for a folder.
pub fn url(path: &Path) -> Option<&str> {
    plan::remote(path).filter(|url| !url.starts_with("http"))
}

fn home_of(part: u32) -> String {
    format!("parts/{part:06}")
}

fn attempt_of(part: u32, attempt: u32) -> String {
    format!("{}/attempt-{attempt}", home_of(part))
}

fn draft_of(part: u32, attempt: u32) -> String {
    format!("{}/final-{attempt}.jsonl.zst", home_of(part))
}

/// Created exclusively: it decides about a part. All of them are in one folder, so that one list says which parts are done.
fn commit_of(part: u32) -> String {
    format!("commits/part-{part:06}")
}

fn result_of(part: u32) -> String {
    format!("results/part-{part:06}.jsonl.zst")
}

/// Refuses what needs a folder.
fn refuse(job: &Job) -> Result<()> {
    let is_archive = matches!(job.results.body, BodyStorage::Warc | BodyStorage::Tar);
    let reason = match (is_archive, job.network.redirects_to) {
        (true, _) => {
            "a job in object storage keeps bodies in its records or as files (--keep-body inline or files), and not in archives"
        }
        (_, Reach::Any) => {
            "a job in object storage follows redirects within the same site only (--redirects-to site)"
        }
        _ => return Ok(()),
    };
    Err(Error::usage(reason))
}

impl Remote {
    /// The job at this URL, whether it is there or not.
    ///
    /// # Errors
    /// When the URL cannot be used, or the store does not respond.
    pub fn open(url: &str) -> Result<Arc<Remote>> {
        let store = Store::open(url)?;
        // A wrong address must not be waited for.
        store.about(PLAN)?;
        Ok(Arc::new(Remote {
            store: store.patient()?,
            state: Mutex::default(),
            bringing: Mutex::default(),
        }))
    }

    /// Plans a job, or finds that it is planned.
    ///
    /// The pieces of a plan are below its own number. `plan.json` is created last, and exclusively. If two processes plan
    /// at the same time, the first to create it wins, and the other's pieces are ignored.
    ///
    /// # Errors
    /// When there is another job, or it cannot be planned or written.
    pub fn plan(&self, scratch: &Scratch, job: Job) -> Result<Started> {
        refuse(&job)?;
        if let Some(started) = self.planned(&scratch.folder())? {
            start::refuse_differing(&started.folder, &started.job, &job)?;
            return Ok(started);
        }
        let started = prepare(scratch.folder(), job)?;
        let folder = &started.folder;
        let home = format!("plan/{}", started.plan.job);
        let mut names = vec!["inputs.zst".to_owned(), "repeats".to_owned()];
        names.extend(
            started
                .plan
                .parts
                .iter()
                .map(|part| format!("{:06}.json", part.number)),
        );
        for name in names {
            let file = folder.planned().join(&name);
            if file.exists() {
                self.store.upload(&file, &format!("{home}/{name}"))?;
            }
        }
        self.store.upload(&folder.job(), &format!("{home}/{JOB}"))?;
        let text = fs::read(folder.plan()).map_err(at("read", &folder.plan()))?;
        match self.store.create(PLAN, text)? {
            true => Ok(started),
            false => Err(Error::failed(format!(
                "another process has planned {} meanwhile: run the same command again",
                self.store.url()
            ))),
        }
    }

    /// The plan and the job, in a folder; none if there is no plan.
    fn planned(&self, folder: &Folder) -> Result<Option<Started>> {
        let Some(text) = self.store.read(PLAN)? else {
            return Ok(None);
        };
        write_whole(&folder.plan(), &text)?;
        let plan = Plan::planned(folder)?;
        let home = format!("plan/{}", plan.job);
        self.store
            .download(&format!("{home}/{JOB}"), &folder.job())?;
        self.state().plan = home;
        start::load(folder.clone()).map(Some)
    }

    /// The job in a scratch folder, without its inputs.
    ///
    /// # Errors
    /// When there is none.
    pub fn load(&self, scratch: &Scratch) -> Result<Started> {
        let missing = || {
            let url = self.store.url();
            Error::usage(format!(
                "{url} has no job: plan one with `hecaton fetch plan LIST -o {url}`"
            ))
        };
        self.planned(&scratch.folder())?.ok_or_else(missing)
    }

    /// The job in a scratch folder, to work on its parts. Their inputs come when they are needed.
    ///
    /// # Errors
    /// When there is no job, or it cannot be read.
    pub fn work(self: &Arc<Remote>, scratch: &Scratch) -> Result<Started> {
        let mut started = self.load(scratch)?;
        let folder = started.folder.clone();
        for made in [folder.results(), folder.planned()] {
            fs::create_dir_all(&made).map_err(at("create", &made))?;
        }
        File::create(folder.inputs()).map_err(at("create", &folder.inputs()))?;
        if started.plan.repeats.is_some_and(|repeats| repeats > 0) {
            let name = format!("{}/repeats", self.state().plan);
            self.store.download(&name, &folder.repeats())?;
        }
        self.state().has_files = started.job.results.body == BodyStorage::Files;
        started.folder = folder.with_mirror(self.clone());
        Ok(started)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
