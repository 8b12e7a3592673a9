//! A job in object storage: its plan, the segments of attempts, what was committed, and the results. Workers share
//! nothing else.
//!
//! A worker has a copy of the plan and of one part in a scratch folder, and does the part there with the code of every
//! other job.
//! Each decision is one object that is created exclusively: an attempt's `claim`, and a part's `COMMIT`.
//! `docs/decisions/object-storage.md` says why nothing more is needed.

mod additions;
mod all_parts;
mod changes;
mod commits;
mod gather;
mod mirror;
mod notes;
mod others;
mod products;
mod rounds;
mod scratch;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

pub use self::notes::Notes;
pub use self::scratch::Scratch;
use crate::error::{Error, Result, at};
use crate::job::{BodyStorage, Job, Reach};
use crate::objects::Store;
use crate::plan::{self, Folder, Plan, write_whole};
use crate::start::{self, Started, prepare};

const JOB: &str = "job.toml";
const PLAN: &str = "plan.json";
/// Which records a round is for.
const WHERE: &str = "where";

/// A job in object storage.
pub struct Remote {
    store: Store,
    /// The job that this is a round of, if it is one.
    base: Option<Arc<Remote>>,
    state: Mutex<State>,
    /// Held while a `COMMIT` is written into a folder.
    bringing: Mutex<()>,
}

/// The state of the job that this process knows.
#[derive(Default)]
struct State {
    /// The folder's name in the store of the plan.
    plan: String,
    /// The number of the newest change that is known.
    change: u32,
    /// The number of the newest addition that is known.
    addition: u32,
    /// How many rounds are merged into the records, as far as is known.
    rounds: u32,
    /// How much of each of our segments is there, by part and attempt.
    kept: HashMap<(u32, u32), u64>,
    /// Whether records name files with bodies.
    has_files: bool,
    /// The parts whose inputs are here.
    inputs: HashSet<u32>,
}

/// A round, and the job's records that it was chosen from.
pub struct Round {
    /// The round as a job.
    pub remote: Arc<Remote>,
    /// The job, as it is done in this round.
    pub job: Job,
    /// Whether it was there before.
    pub is_resumed: bool,
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

/// Created exclusively: it decides about a part. All of them are in one folder, so that one list says which parts are
/// done.
fn commit_of(part: u32) -> String {
    format!("commits/part-{part:06}")
}

fn result_of(part: u32) -> String {
    format!("results/part-{part:06}.jsonl.zst")
}

/// The folder of a plan. A round has a name of its own, and the job of a plan is drawn when it is planned.
fn home_of_plan(plan: &Plan) -> String {
    match &plan.round {
        Some(round) => format!("plan/{round}"),
        None => format!("plan/{}", plan.job),
    }
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
        Remote::at(store.patient()?, None)
    }

    fn at(store: Store, base: Option<Arc<Remote>>) -> Result<Arc<Remote>> {
        Ok(Arc::new(Remote {
            store,
            base,
            state: Mutex::default(),
            bringing: Mutex::default(),
        }))
    }

    /// Plans a job, or finds that it is planned.
    ///
    /// The pieces of a plan are below its own number. `plan.json` is created last, and exclusively. If two processes
    /// plan at the same time, the first to create it wins, and the other's pieces are ignored.
    ///
    /// # Errors
    /// When there is another job, or it cannot be planned or written.
    pub fn plan(&self, scratch: Folder, job: Job) -> Result<Started> {
        refuse(&job)?;
        if let Some(started) = self.same(&scratch, &job)? {
            return Ok(started);
        }
        let started = prepare(scratch.clone(), job.clone())?;
        self.upload_plan(&started, &home_of_plan(&started.plan))?;
        if self.create_plan(&started)? {
            return Ok(started);
        }
        drop(started);
        self.same(&scratch, &job)?.ok_or_else(|| self.was_planned())
    }

    /// The job that is planned, which must be this one; none if there is none.
    fn same(&self, scratch: &Folder, job: &Job) -> Result<Option<Started>> {
        let Some(started) = self.planned(scratch)? else {
            return Ok(None);
        };
        start::refuse_differing(self.store.url(), &started.job, job)?;
        self.refuse_grown(&started, job)?;
        Ok(Some(started))
    }

    /// Creates `plan.json` exclusively; false if another process did.
    fn create_plan(&self, started: &Started) -> Result<bool> {
        let path = started.folder.plan();
        let text = fs::read(&path).map_err(at("read", &path))?;
        self.store.create(PLAN, text)
    }

    fn was_planned(&self) -> Error {
        Error::failed(format!(
            "another process has planned {} meanwhile: run the same command again",
            self.store.url()
        ))
    }

    /// Writes all of a plan but `plan.json` below this name, which no other plan has.
    fn upload_plan(&self, started: &Started, home: &str) -> Result<()> {
        let folder = &started.folder;
        let indexes = started.plan.parts.iter();
        let indexes = indexes.map(|part| format!("{:06}.json", part.number));
        let planned = ["inputs.zst", "repeats"].map(str::to_owned);
        let planned = planned.into_iter().chain(indexes);
        let planned = planned.map(|name| (folder.planned().join(&name), name));
        let own = [(folder.job(), JOB), (folder.path().join(WHERE), WHERE)];
        let own = own.map(|(path, name)| (path, name.to_owned()));
        let files: Vec<_> = planned
            .chain(own)
            .filter(|(path, _)| path.exists())
            .map(|(path, name)| (path, format!("{home}/{name}")))
            .collect();
        self.store.upload_all(&files)
    }

    /// The plan and the job, in a folder; none if there is no plan.
    fn planned(&self, folder: &Folder) -> Result<Option<Started>> {
        let Some(newest) = self.newest_plan()? else {
            return Ok(None);
        };
        fs::create_dir_all(folder.path()).map_err(at("create", folder.path()))?;
        write_whole(&folder.plan(), &newest.text)?;
        let home = match newest.home {
            Some(home) => home,
            None => home_of_plan(&Plan::planned(folder)?),
        };
        for (name, path) in [(JOB, folder.job()), (WHERE, folder.path().join(WHERE))] {
            if name == JOB || self.base.is_some() {
                // A folder may have an older one.
                let _ = fs::remove_file(&path);
                self.store.download(&format!("{home}/{name}"), &path)?;
            }
        }
        let mut state = self.state();
        (state.plan, state.change, state.addition) = (home, newest.change, newest.addition);
        drop(state);
        start::load(folder.clone()).map(Some)
    }

    /// Brings the inputs of all parts into a folder with the plan.
    fn bring_inputs(&self, started: &Started) -> Result<()> {
        let (folder, home) = (&started.folder, self.state().plan.clone());
        let parts = started.plan.parts.iter();
        let names = parts.map(|part| format!("{:06}.json", part.number));
        let has_repeats = started.plan.repeats > 0;
        let repeats = has_repeats.then(|| "repeats".to_owned());
        for name in names.chain(repeats).chain(["inputs.zst".to_owned()]) {
            let path = folder.planned().join(&name);
            let _ = fs::remove_file(&path);
            self.store.download(&format!("{home}/{name}"), &path)?;
        }
        Ok(())
    }

    /// The job in a scratch folder, without its inputs.
    ///
    /// # Errors
    /// When there is none.
    pub fn load(&self, scratch: Folder) -> Result<Started> {
        let missing = || {
            let url = self.store.url();
            Error::usage(format!(
                "{url} has no job: plan one with `hecaton fetch plan LIST -o {url}`"
            ))
        };
        self.planned(&scratch)?.ok_or_else(missing)
    }

    /// The job in a scratch folder, to work on its parts. Their inputs come when they are needed.
    ///
    /// # Errors
    /// When there is no job, or it cannot be read.
    pub fn prepare(self: &Arc<Remote>, scratch: Folder) -> Result<Started> {
        let mut started = self.load(scratch)?;
        let folder = started.folder.clone();
        for made in [folder.results(), folder.planned()] {
            fs::create_dir_all(&made).map_err(at("create", &made))?;
        }
        File::create(folder.inputs()).map_err(at("create", &folder.inputs()))?;
        if started.plan.repeats > 0 {
            let name = format!("{}/repeats", self.state().plan);
            self.store.download(&name, &folder.repeats())?;
        }
        self.state().has_files = started.job.results.body == BodyStorage::Files;
        started.folder = folder.with_mirror(self.clone());
        Ok(started)
    }

    /// The store of the job, also for a round.
    fn job(&self) -> &Store {
        self.base.as_ref().map_or(&self.store, |base| &base.store)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
