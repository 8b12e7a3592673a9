//! A job in object storage: its plan, the segments of attempts, what was committed, and the results. Workers share
//! nothing else.
//!
//! A worker has a copy of the plan and of one part in a scratch folder, and does the part there with the code of every
//! other job.
//! Each decision is one object that is created exclusively: an attempt's `claim`, and a part's `COMMIT`.
//! `docs/decisions/object-storage.md` says why nothing more is needed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use uuid::Uuid;

use crate::error::{Error, Result, at};
use crate::job::{BodyStorage, Job};
use crate::objects::{PIECE, Store};
use crate::plan::{self, Folder, Mirror, Plan, write_whole};
use crate::run::worker_name;
use crate::segment::Commit;
use crate::start::{self, Started, prepare};

const JOB: &str = "job.toml";
const PLAN: &str = "plan.json";

/// A job in object storage.
pub struct Remote {
    store: Store,
    /// How much of each of our segments is there.
    kept: Mutex<HashMap<(u32, u32), u64>>,
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

fn result_of(part: u32) -> String {
    format!("results/part-{part:06}.jsonl.zst")
}

impl Remote {
    /// The job at this URL, whether it is there or not.
    ///
    /// # Errors
    /// When the URL cannot be used.
    pub fn open(url: &str) -> Result<Arc<Remote>> {
        Ok(Arc::new(Remote {
            store: Store::open(url)?,
            kept: Mutex::default(),
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
        if !matches!(job.results.body, BodyStorage::None | BodyStorage::Inline) {
            return Err(Error::usage(
                "a job in object storage keeps bodies in its records (--keep-body inline) or not at all",
            ));
        }
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
        self.store
            .download(&format!("plan/{}/{JOB}", plan.job), &folder.job())?;
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

    /// The job in a scratch folder, to do one part of it; none if the part is done.
    ///
    /// # Errors
    /// When there is no job or no such part.
    pub fn begin(self: &Arc<Remote>, scratch: &Scratch, part: u32) -> Result<Option<Started>> {
        let mut started = self.load(scratch)?;
        started.plan.part(part)?;
        if self.complete(part)? {
            return Ok(None);
        }
        let folder = started.folder.clone();
        for made in [folder.results(), folder.part(part)] {
            fs::create_dir_all(&made).map_err(at("create", &made))?;
        }
        let home = format!("plan/{}", started.plan.job);
        for name in self.store.list(&home)? {
            let is_of_part = name == format!("{part:06}.json");
            if is_of_part || name == "inputs.zst" || name == "repeats" {
                let file = folder.planned().join(&name);
                self.store.download(&format!("{home}/{name}"), &file)?;
            }
        }
        started.folder = folder.with_mirror(self.clone());
        Ok(Some(started))
    }

    /// Completes a part that is committed, after a crash; false if it is not committed.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn complete(&self, part: u32) -> Result<bool> {
        let Some(commit) = self.commit_of(part)? else {
            return Ok(false);
        };
        if self.store.about(&result_of(part))?.is_none() {
            self.store
                .copy(&draft_of(part, commit.attempt), &result_of(part))?;
        }
        Ok(true)
    }

    fn commit_of(&self, part: u32) -> Result<Option<Commit>> {
        let name = format!("{}/COMMIT", home_of(part));
        let Some(text) = self.store.read(&name)? else {
            return Ok(None);
        };
        let commit = serde_json::from_slice(&text);
        commit
            .map_err(|error| {
                Error::failed(format!("{}/{name} is damaged: {error}", self.store.url()))
            })
            .map(Some)
    }

    /// Brings all that is committed into a scratch folder, as a job that anyone can read.
    ///
    /// # Errors
    /// When there is no job, or something cannot be read.
    pub fn gather(&self, scratch: &Scratch) -> Result<Started> {
        let started = self.load(scratch)?;
        let folder = &started.folder;
        fs::create_dir_all(folder.results()).map_err(at("create", &folder.results()))?;
        for part in &started.plan.parts {
            let number = part.number;
            let home = folder.part(number);
            fs::create_dir_all(&home).map_err(at("create", &home))?;
            if self.complete(number)? {
                self.store
                    .download(&result_of(number), &folder.result(number))?;
                let commit = format!("{}/COMMIT", home_of(number));
                self.store.download(&commit, &folder.commit(number))?;
            }
        }
        Ok(started)
    }
}

/// What is there of an attempt.
#[derive(Default)]
struct Chunks(Vec<u64>);

impl Mirror for Remote {
    fn pull(&self, folder: &Folder, part: u32, attempt: u32) -> Result<()> {
        let mut attempts: HashMap<u32, Chunks> = HashMap::new();
        let mut is_done = false;
        for name in self.store.list(&home_of(part))? {
            is_done |= name == "COMMIT";
            let Some((number, piece)) = name
                .strip_prefix("attempt-")
                .and_then(|it| it.split_once('/'))
            else {
                continue;
            };
            if let Ok(number) = number.parse() {
                let chunks = attempts.entry(number).or_default();
                chunks.0.extend(piece.parse::<u64>());
            }
        }
        for (number, mut chunks) in attempts {
            let path = folder.attempt(part, number);
            let file = File::options().create(true).append(true).open(&path);
            let mut length = file
                .and_then(|file| Ok(file.metadata()?.len()))
                .map_err(at("write", &path))?;
            if number >= attempt {
                continue;
            }
            chunks.0.sort_unstable();
            for from in chunks.0 {
                if from == length {
                    let name = format!("{}/{from:012}", attempt_of(part, number));
                    self.store.download(&name, &path)?;
                    length = fs::metadata(&path).map_err(at("read", &path))?.len();
                }
            }
        }
        let commit = folder.commit(part);
        if is_done && !commit.exists() {
            if let Some(text) = self.store.read(&format!("{}/COMMIT", home_of(part)))? {
                write_whole(&commit, &text)?;
            }
        }
        Ok(())
    }

    fn claim(&self, part: u32, attempt: u32) -> Result<bool> {
        // The number makes it ours, also when the response of the put is lost.
        let text = format!("{} {}\n", worker_name(), Uuid::new_v4());
        self.store
            .create(&format!("{}/claim", attempt_of(part, attempt)), text)
    }

    fn keep(&self, folder: &Folder, part: u32, attempt: u32, bytes: u64) -> Result<()> {
        let mut from = self.lock().get(&(part, attempt)).copied().unwrap_or(0);
        let path = folder.attempt(part, attempt);
        let file = File::open(&path).map_err(at("read", &path))?;
        while from < bytes {
            let mut piece = vec![0; PIECE.min(bytes - from) as usize];
            file.read_exact_at(&mut piece, from)
                .map_err(at("read", &path))?;
            let length = piece.len() as u64;
            let name = format!("{}/{from:012}", attempt_of(part, attempt));
            self.store.write(&name, piece)?;
            from += length;
            self.lock().insert((part, attempt), from);
        }
        Ok(())
    }

    fn commit(&self, part: u32, attempt: u32, commit: &[u8], results: &Path) -> Result<bool> {
        // The results come first: a commit without them would be of no use.
        self.store.upload(results, &draft_of(part, attempt))?;
        let name = format!("{}/COMMIT", home_of(part));
        if !self.store.create(&name, commit.to_vec())? {
            return Ok(false);
        }
        self.store.upload(results, &result_of(part))?;
        Ok(true)
    }
}

impl Remote {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(u32, u32), u64>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
