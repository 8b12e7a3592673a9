//! Where a job lives, so that each verb is written once: in a folder (`folder`), or in object storage (`bucket`).

#[cfg(feature = "objects")]
mod bucket;
mod folder;

use std::path::Path;

use crate::again::{Choice, Chosen, Kept};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{Folder, remote};
use crate::run::{Running, Summary};
use crate::start::{Added, More, Started};

/// Changes the settings of a job that may change later.
pub type Change<'a> = &'a dyn Fn(&mut Job);

/// The end of the work on all parts of a job.
pub struct Finished {
    /// What was done.
    pub summary: Summary,
    /// Where the results are, for people.
    pub results: String,
    /// Files made from the results, for people.
    pub products: Vec<String>,
    /// The whole job, and not a round of it.
    pub whole: Started,
    /// The inputs of a round that keep a good record.
    pub kept: Kept,
}

/// The end of the work on one part.
pub enum PartEnd {
    /// It was done now.
    Ran(Summary),
    /// It was done before.
    Already,
    /// Another worker has done it meanwhile.
    Elsewhere,
}

/// Where a job lives.
pub trait Place {
    /// The folder or the URL, for people.
    fn shown(&self) -> String;

    /// Where the results of parts are, for people.
    fn results_shown(&self) -> String;

    /// The command that does what is left of the job.
    fn resume_with(&self) -> String;

    /// Plans a new job, or finds that the same is there.
    ///
    /// # Errors
    /// When the inputs cannot be read, or another job is there.
    fn plan_job(&self, job: Job) -> Result<Started>;

    /// The job that is there.
    ///
    /// # Errors
    /// When there is none.
    fn load(&self) -> Result<Started>;

    /// Adds inputs to the job that is there.
    ///
    /// # Errors
    /// When the inputs cannot be read, or the job cannot have more.
    fn add(&self, more: More<'_>, change: Change<'_>) -> Result<(Started, Added)>;

    /// Does what is left before inputs can be sent again.
    ///
    /// # Errors
    /// Those of the work.
    fn make_ready(
        &self,
        choice: Choice<'_>,
        change: Change<'_>,
        with: &mut Running<'_>,
    ) -> Result<()>;

    /// Begins a round of inputs that are sent again, or resumes the one that was begun.
    ///
    /// # Errors
    /// When the job is not done, or another round is not.
    fn again(&self, choice: Choice<'_>, change: Change<'_>) -> Result<Chosen<Started>>;

    /// Does what is left of a job, and makes its products; or of a round, and merges it into the job.
    ///
    /// # Errors
    /// Those of the work.
    fn finish(&self, started: Started, with: &mut Running<'_>) -> Result<Finished>;

    /// The whole job, and not a round of it.
    ///
    /// # Errors
    /// When it cannot be read.
    fn whole(&self) -> Result<Started>;

    /// The job, or the round that is not done, for workers that do its parts.
    ///
    /// # Errors
    /// When there is none.
    fn for_workers(&self) -> Result<Started>;

    /// Does the one part that the options name.
    ///
    /// # Errors
    /// Those of the work.
    fn run_part(&self, with: &mut Running<'_>) -> Result<PartEnd>;

    /// Does the parts that a worker gets. The summary is missing if others have done all of them meanwhile.
    ///
    /// # Errors
    /// Those of the worker.
    fn work(
        &self,
        started: &Started,
        worker: &mut dyn FnMut(&Started) -> Result<Summary>,
    ) -> Result<Option<Summary>>;

    /// Writes the page about the job, and says where it is.
    ///
    /// # Errors
    /// When it cannot be written.
    fn report(&self) -> Result<String>;

    /// A folder with all records of the job.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn gather(&self) -> Result<Folder>;

    /// A folder with what says how far the job is.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn glance(&self) -> Result<Folder>;

    /// Looks again at how far the job is.
    ///
    /// # Errors
    /// When it cannot be reached.
    fn refresh(&self, folder: &Folder) -> Result<()>;
}

/// The place of this path or URL, for a verb.
///
/// # Errors
/// When no job can be there.
pub fn at(path: &Path, verb: &str) -> Result<Box<dyn Place>> {
    #[cfg(feature = "objects")]
    if let Some(url) = crate::remote::url(path) {
        return Ok(Box::new(bucket::Bucket::open(url)?));
    }
    folder(path, verb).map(|folder| Box::new(folder) as Box<dyn Place>)
}

/// Refuses a path or URL where no job can be.
///
/// # Errors
/// What to do instead.
pub fn check(path: &Path, verb: &str) -> Result<()> {
    match remote(path) {
        Some(url) if cfg!(feature = "objects") && !url.starts_with("http") => Ok(()),
        _ => folder(path, verb).map(drop),
    }
}

/// The folder of this path, for a verb that works on folders only.
///
/// # Errors
/// What to do when it is a URL.
pub fn folder(path: &Path, verb: &str) -> Result<Folder> {
    let Some(url) = remote(path) else {
        return Ok(Folder::at(path));
    };
    Err(Error::usage(match (cfg!(feature = "objects"), url) {
        (_, url) if url.starts_with("http") => {
            format!("{url}: a job is in a folder, or below s3://, gs:// or az://")
        }
        (true, url) => format!("{url}: `hecaton fetch{verb}` works on folders only"),
        (false, url) => format!(
            "{url}: this command was built without object storage: `bin/setup fetch` builds it in (cargo's feature `objects`)"
        ),
    }))
}

/// Does the one part that the options name.
fn run_one(started: &Started, with: &mut Running<'_>) -> Result<Summary> {
    let summary = started.run(with)?;
    for part in &with.options.parts {
        let inputs = started.plan.part(*part)?.inputs;
        if inputs > 0 && !started.folder.is_done(*part) {
            return Err(Error::failed(format!(
                "part {part} was taken over by another worker, which has not done it yet"
            )));
        }
    }
    Ok(summary)
}
