//! Inputs that come later: lists that grew, and lists that are added.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::host::{HostNames, LastHost};
use crate::input::{Entry, Format, Inputs};
use crate::job::Job;
use crate::plan::{
    self, Folder, Identity, Listed, MoreFeed, Plan, PlanLimits, Routed, has_changed,
    is_local_stream, is_stream,
};
use crate::record::{Columns, URL, listed};
use crate::request::Maker;
use crate::run::{RobotsCache, check_plan};

use super::{Lock, Started, load, lock, refused, sitemaps, source};

/// Where more inputs are.
#[derive(Clone, Copy, Debug, Default)]
pub struct More<'a> {
    /// Lists.
    pub files: &'a [PathBuf],
    /// Their format, if it is not that of the job's lists.
    pub format: Option<&'a str>,
    /// The URLs of sitemaps.
    pub sitemaps: &'a [String],
}

impl<'a> More<'a> {
    /// In these lists.
    pub fn lists(files: &'a [PathBuf]) -> More<'a> {
        More {
            files,
            ..More::default()
        }
    }
}

/// Adds lists and sitemaps to the job of a folder; a list that it has already may have grown. Also what this call added.
///
/// # Errors
/// When there is no job, another process works on it, or a list has changed otherwise than by growing.
pub fn add(folder: Folder, more: More<'_>, change: &dyn Fn(&mut Job)) -> Result<(Started, Added)> {
    let mut started = load(folder)?;
    let mut job = started.job.clone();
    if more.format.is_some() {
        job.input.format = more.format.map(str::to_owned);
    }
    change(&mut job);
    job.check()?;
    let grown = grow(&started.folder, &job, &started.robots_cache, more)?;
    change(&mut started.job);
    started.lock = Some(grown.lock);
    let plan = grown.plan;
    Ok((Started { plan, ..started }, grown.added))
}

/// How many inputs were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// All of them.
    pub inputs: u64,
    /// Those of them whose request an earlier input has.
    pub repeats: u64,
}

/// A plan with more inputs.
pub struct Grown {
    pub plan: Plan,
    /// The inputs that it did not have when the lock was taken.
    pub added: Added,
    pub lock: Lock,
}

/// Adds what these lists have beyond what the plan of a folder knows. `cache` gets the rules that were read.
///
/// # Errors
/// As [`add`].
pub fn grow(folder: &Folder, job: &Job, cache: &RobotsCache, more: More<'_>) -> Result<Grown> {
    let lock = lock(folder)?;
    // Another process may have added some before.
    let plan = Plan::planned(folder)?;
    let (before, repeats) = (plan.inputs, plan.repeats);
    if folder.current_round()?.is_some() {
        return Err(round_is_open(&folder.path().display().to_string()));
    }
    check_plan(job, &plan)?;
    let maker = Maker::new(&job.request, &plan.columns, plan.job)?.for_results(&job.results);
    let mut router = Router::new(&maker, job)?;
    let mut lists = |take: &mut dyn FnMut(Entry) -> Result<()>| {
        let mut identities = Vec::new();
        for path in more.files {
            identities.extend(more_of(path, job, &plan, take)?);
        }
        Ok(identities)
    };
    let mut pages = |take: &mut dyn FnMut(Entry) -> Result<()>| match &plan.columns[..] {
        [only] if only == URL => sitemaps::each(job, more.sitemaps, cache, take),
        columns => Err(Error::usage(format!(
            "a sitemap has URLs alone, and the list of the job has: {}",
            listed(columns)
        ))),
    };
    let feed = MoreFeed {
        lists: &mut lists,
        pages: (!more.sitemaps.is_empty()).then_some(&mut pages),
    };
    let plan = plan::extend(folder, &plan, feed, &limits(job), &mut |columns, routed| {
        router.route(columns, routed)
    })?;
    Ok(Grown {
        added: Added {
            inputs: plan.inputs - before,
            repeats: plan.repeats.saturating_sub(repeats),
        },
        plan,
        lock,
    })
}

fn refuse_missing(path: &Path) -> Result<()> {
    match is_stream(path) || path.exists() {
        true => Ok(()),
        false => {
            let shown = path.display();
            Err(Error::usage(format!("{shown}: there is no such file")))
        }
    }
}

/// The error for inputs that come while a round is not done.
pub fn round_is_open(home: &str) -> Error {
    Error::usage(format!(
        "a round of `again` is not done in {home}: `hecaton fetch again {home}` resumes it, and inputs are added after that"
    ))
}

/// Routes inputs by the host of their requests.
pub struct Router<'a> {
    maker: &'a Maker,
    last: LastHost,
    names: HostNames,
    /// Whether each host with settings of its own has a rate.
    has_rate: Vec<bool>,
}

impl<'a> Router<'a> {
    /// # Errors
    /// When a name of the job's hosts is none.
    pub fn new(maker: &'a Maker, job: &Job) -> Result<Router<'a>> {
        let hosts = job.hosts.values();
        Ok(Router {
            maker,
            last: LastHost::default(),
            names: HostNames::new(&job.hosts)?,
            has_rate: hosts.map(|host| host.rate.is_some()).collect(),
        })
    }

    /// Hands over the route of an input, or returns why it has none.
    pub fn route(
        &mut self,
        columns: &Columns,
        routed: &mut dyn FnMut(Routed<'_>),
    ) -> std::result::Result<(), String> {
        let rendered = self.maker.render_columns(columns)?;
        self.maker.checksum(columns)?;
        let host = self.last.of(&rendered.url);
        let (host, foreign) = host.map_err(|error| error.to_string())?;
        routed(Routed {
            host,
            foreign,
            has_rate: self
                .names
                .of(host)
                .is_some_and(|index| self.has_rate[index]),
            request: self.maker.digest(&rendered, Some(columns)),
        });
        Ok(())
    }
}

/// The limits that a plan must keep.
pub fn limits(job: &Job) -> PlanLimits {
    PlanLimits {
        max_shards: job.planned_shards(),
        part_size: job.input.part_size,
        keep_duplicates: job.input.keep_duplicates,
        any_rate: job.pace.any_rate(),
    }
}

/// Hands over what a list has beyond what the plan knows of it. Returns what it is now; none if it is the same.
fn more_of(
    path: &PathBuf,
    job: &Job,
    plan: &Plan,
    take: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<Option<Identity>> {
    let known = plan.sources.iter().find(|known| known.path == *path);
    if known.is_some()
        && !is_stream(path)
        && plan::changed(&plan.sources, std::slice::from_ref(path))?.is_none()
    {
        return Ok(None);
    }
    refuse_missing(path)?;
    // First of all: what is written meanwhile is a change that the next look sees.
    let found = Identity::of(path)?;
    let known = known.map(|known| (known.inputs, &*known.entries));
    let (count, digest) = known.unwrap_or_default();
    let list = open(path, job, plan)?;
    let mut held = Listed::default();
    for entry in list {
        let entry = entry.map_err(refused)?;
        held.note(&entry);
        if held.inputs > count {
            take(entry)?;
        } else if held.inputs == count && held.digest() != digest {
            return Err(has_changed(path, "holds other lines than it did"));
        }
    }
    if held.inputs < count {
        // Nothing comes from a standard input that is not meant.
        if is_local_stream(path) && held.inputs == 0 {
            return Ok(None);
        }
        let why = format!("had {count} inputs, and has {}", held.inputs);
        return Err(has_changed(path, &why));
    }
    Ok(Some(Identity::complete(found, path, &held)))
}

/// Opens a list, which must have the columns of the job.
fn open(path: &Path, job: &Job, plan: &Plan) -> Result<Inputs> {
    let format = job.input.format.as_deref().map(Format::named);
    let list = Inputs::open(
        vec![source(job, path)?],
        format.transpose().map_err(refused)?,
    )
    .map_err(refused)?;
    let has = list.columns();
    let mut missing = plan.columns.iter().filter(|column| !has.contains(column));
    match missing.next().filter(|_| list.knows_columns()) {
        Some(missing) => Err(Error::usage(format!(
            "{} has no column {missing:?}, which the job has: it has {}",
            path.display(),
            listed(has)
        ))),
        None => Ok(list),
    }
}
