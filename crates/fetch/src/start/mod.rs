//! A job in a folder: planned if it is new, resumed if it is the same, refused if it is another. `more` adds inputs.

mod lists;
mod lock;
mod more;
mod sitemaps;
mod visit;

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use uuid::Uuid;

use crate::error::{Error, Result, at};
use crate::input::{Entry, Format, InputError, Inputs, Source};
use crate::job::Job;
use crate::plan::{self, Fed, Folder, Listed, Plan, write_whole};
use crate::record::URL;
use crate::request::Maker;
use crate::run::{self, RobotsCache, Running, Summary, Work};

pub use self::lock::{Lock, is_stopped, lock, lock_if_free, refuse_held};
pub use self::more::{Added, More, add, limits, round_is_open};

/// A job's folder, ready to be worked on.
pub struct Started {
    /// The folder.
    pub folder: Folder,
    /// The job, as it is done now.
    pub job: Job,
    /// Its plan.
    pub plan: Plan,
    /// Whether the plan was there before.
    pub is_resumed: bool,
    /// The robots.txt rules that were read while it was planned.
    pub robots_cache: Arc<RobotsCache>,
    /// Held since before the first byte of the plan, if this process made it or added to it.
    pub(crate) lock: Option<Lock>,
}

/// Plans a job in a folder, or finds that it is planned there.
///
/// # Errors
/// When the folder holds another job, the input has changed, or nothing can be planned.
pub fn prepare(folder: Folder, job: Job) -> Result<Started> {
    job.check()?;
    run::check(&job)?;
    refuse_file(&folder)?;
    match Plan::load(&folder)? {
        Some(plan) => resume(folder, job, plan),
        None => plan_new(folder, job),
    }
}

/// A job that is planned, with what its lists have besides.
fn resume(folder: Folder, job: Job, plan: Plan) -> Result<Started> {
    refuse_differing(&folder.shown(), &Job::read(&folder.job())?, &job)?;
    Maker::new(&job.request, &plan.columns, plan.job)?;
    let (plan, lock) = match has_more(&job, &plan)? {
        true => {
            let more = More::lists(&job.input.files);
            more::grow(&folder, &job, &RobotsCache::default(), more)
                .map(|grown| (grown.plan, Some(grown.lock)))?
        }
        false => (plan, None),
    };
    Ok(Started {
        lock,
        ..Started::found(folder, job, plan)
    })
}

/// Plans a job in a folder that has none.
fn plan_new(folder: Folder, job: Job) -> Result<Started> {
    refuse_foreign(&folder)?;
    let list = job.input.sitemap.is_empty().then(|| open(&job));
    let mut list = list.transpose()?;
    let columns = list
        .as_ref()
        .map_or(vec![URL.to_owned()], |inputs| inputs.columns().to_vec());
    // Says now what would be said of each request.
    let maker = Maker::new(&job.request, &columns, Uuid::nil())?.for_results(&job.results);
    refuse_one_request(&job, &maker, &columns)?;
    if list.as_ref().is_none_or(Inputs::knows_columns) {
        run::check_columns(&job, &columns)?;
    }
    let is_new = !folder.path().exists();
    let held = begin(&folder, &job)?;
    let mut router = more::Router::new(&maker, &job)?;
    let robots_cache = Arc::<RobotsCache>::default();
    let mut feed = |take: &mut dyn FnMut(Entry) -> Result<()>| match &mut list {
        Some(list) => feed_lists(&job, list, take),
        None => feed_sitemaps(&job, &robots_cache, take),
    };
    let plan = plan::make(
        &folder,
        &job.input.files,
        &mut feed,
        &more::limits(&job),
        &mut |columns, routed| router.route(columns, routed),
    );
    let plan = plan.inspect_err(|error| {
        if is_new && matches!(error, Error::Usage(_)) {
            remove_begun(&folder);
        }
    })?;
    Ok(Started {
        is_resumed: false,
        robots_cache,
        lock: Some(held),
        ..Started::found(folder, job, plan)
    })
}

fn refuse_file(folder: &Folder) -> Result<()> {
    match folder.path().ancestors().find(|path| path.is_file()) {
        Some(file) => Err(Error::usage(format!(
            "{} is a file: name a folder for the results, or one that is not there yet",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Refuses a template that makes the same request of all inputs.
fn refuse_one_request(job: &Job, maker: &Maker, columns: &[String]) -> Result<()> {
    match &job.request.url {
        Some(url) if maker.is_constant() && !job.input.keep_duplicates => {
            Err(Error::usage(format!(
                "the template {url:?} names no column, so that all inputs are one request: write {{{}}} where it belongs, or give --keep-duplicates",
                columns.first().map_or(URL, String::as_str)
            )))
        }
        _ => Ok(()),
    }
}

/// Creates and locks the folder of a new job, and writes the job into it.
fn begin(folder: &Folder, job: &Job) -> Result<Lock> {
    fs::create_dir_all(folder.path()).map_err(at("create", folder.path()))?;
    let held = lock(folder)?;
    if folder.plan().exists() {
        return Err(Error::failed(format!(
            "another process has planned {} meanwhile: run the same command again",
            folder.path().display()
        )));
    }
    write_whole(&folder.job(), job.to_toml()?.as_bytes())?;
    Ok(held)
}

/// Removes what was written for a job that cannot be planned.
fn remove_begun(folder: &Folder) {
    let _ = fs::remove_dir_all(folder.planned());
    let _ = fs::remove_file(folder.job());
    let _ = fs::remove_file(folder.lock());
    // Only if nobody else put anything there.
    let _ = fs::remove_dir(folder.path());
}

/// Passes on every entry of the lists.
fn feed_lists(
    job: &Job,
    list: &mut Inputs,
    take: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<Fed> {
    let mut lists = vec![Listed::default(); job.input.files.len()];
    while let Some(entry) = list.next() {
        let entry = entry.map_err(refused)?;
        lists[list.list_number()].note(&entry);
        take(entry)?;
    }
    let columns = list.seen_columns().to_vec();
    run::check_columns(job, &columns)?;
    Ok(Fed { columns, lists })
}

/// Passes on every page of the sitemaps.
fn feed_sitemaps(
    job: &Job,
    cache: &RobotsCache,
    take: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<Fed> {
    let mut number = 0;
    sitemaps::each(job, &job.input.sitemap, cache, &mut |entry| {
        number += 1;
        take(entry.numbered(number - 1))
    })?;
    Ok(Fed {
        columns: vec![URL.to_owned()],
        lists: Vec::new(),
    })
}

/// A list that cannot be read. One that is elsewhere may come the next time.
fn refused(error: InputError) -> Error {
    let text = error.to_string();
    match plan::remote(Path::new(&text)) {
        Some(_) => Error::failed(text),
        None => Error::usage(text),
    }
}

fn open(job: &Job) -> Result<Inputs> {
    let form = job
        .input
        .format
        .as_deref()
        .map(Format::named)
        .transpose()
        .map_err(refused)?;
    let sources = job.input.files.iter().map(|path| source(job, path));
    Inputs::open(sources.collect::<Result<_>>()?, form).map_err(refused)
}

/// Where a list comes from, by its name.
fn source(job: &Job, path: &Path) -> Result<Source> {
    match plan::remote(path) {
        Some(url) => lists::open(job, url),
        None if plan::is_standard_input(path) => Ok(Source::named("-")),
        None => Ok(Source::Path(path.to_owned())),
    }
}

/// The job of a folder, to be resumed.
///
/// # Errors
/// When there is none.
pub fn load(folder: Folder) -> Result<Started> {
    let plan = Plan::planned(&folder)?;
    let job = Job::read(&folder.job())?;
    job.check()?;
    Ok(Started::found(folder, job, plan))
}

impl Started {
    /// A job that was there before.
    pub(crate) fn found(folder: Folder, job: Job, plan: Plan) -> Started {
        Started {
            folder,
            job,
            plan,
            is_resumed: true,
            robots_cache: Arc::default(),
            lock: None,
        }
    }

    /// Does all parts; no other run may do so at the same time.
    ///
    /// # Errors
    /// When it cannot be done, or someone ended it.
    pub fn run(&self, with: &mut Running<'_>) -> Result<Summary> {
        let held = match (with.options.parts.is_empty(), &self.lock) {
            (true, None) => Some(lock(&self.folder)?),
            _ => None,
        };
        // Another process may have added inputs before the lock was free.
        let now = held.as_ref().map(|_| Plan::planned(&self.folder));
        let now = now.transpose()?;
        let work = Work {
            folder: &self.folder,
            job: &self.job,
            plan: now.as_ref().unwrap_or(&self.plan),
            options: with.options,
            stop: with.stop,
        };
        run::run(work, &mut *with.observer)
    }
}

/// Refuses what is settled since a job was planned, and would be otherwise now. `shown` is the job's folder or URL.
///
/// # Errors
/// What differs.
pub fn refuse_differing(shown: &str, planned: &Job, now: &Job) -> Result<()> {
    let differences = planned.differences(now)?;
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{shown} holds another job: {}; use another folder",
        differences.join("; ")
    )))
}

/// Whether the lists of a job are not what the plan knows. Whatever comes from a stream must be looked at.
fn has_more(job: &Job, plan: &Plan) -> Result<bool> {
    let may_have_more = job.input.files.iter().any(|path| {
        let is_typed = plan::is_standard_input(path) && std::io::stdin().is_terminal();
        plan::is_local_stream(path) && !is_typed
    });
    Ok(may_have_more || plan::changed(&plan.sources, &job.input.files)?.is_some())
}

/// Refuses a folder with other files in it. Leftovers of a planning that was killed are no such files.
fn refuse_foreign(folder: &Folder) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder.path()) else {
        return Ok(());
    };
    let ours = [
        "plan",
        "job.toml",
        "job.toml.draft",
        "plan.json.draft",
        "lock",
    ];
    let is_ours = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let is_made = ["results", "parts"].iter().any(|made| name == *made);
        ours.iter().any(|our| name == *our) || is_made && is_empty(&entry.path())
    };
    match entries.flatten().find(|entry| !is_ours(entry)) {
        None => Ok(()),
        Some(entry) => Err(Error::usage(format!(
            "{} holds {} and no job: use an empty folder, or one that is not there yet",
            folder.path().display(),
            entry.file_name().display()
        ))),
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
