//! `hecaton fetch LIST -o DIR`: plans a job if it is new, and does what is left of it.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
#[cfg(feature = "objects")]
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::finish;
use hecaton_fetch::plan::Folder;
#[cfg(feature = "objects")]
use hecaton_fetch::remote::{self, Remote, Scratch};
use hecaton_fetch::run::{Options, Summary, tally};
use hecaton_fetch::segment::Tally;
use hecaton_fetch::start::{Started, load, prepare};
use hecaton_lab::findings::words::{self, plural};

use super::Threads;
use super::arguments::JobArguments;
use super::live::{Live, pages};
use super::planning::until_stopped;
use super::verdict;
use super::watching::Watching;
use crate::stop;

/// A job and its folder.
#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    job: JobArguments,
    /// The job's folder, or s3://bucket/prefix, gs:// or az://.
    #[arg(
        short = 'o',
        long = "into",
        visible_alias = "out",
        value_name = "DIR",
        required_unless_present = "print_job"
    )]
    into: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// After a crash, send POST and PATCH requests again even if the server may have got them already.
    #[arg(long)]
    resend_unknown: bool,
    /// Print the job as a job file, and send nothing.
    #[arg(long)]
    print_job: bool,
    #[command(flatten)]
    watching: Watching,
    /// Print nothing unless something goes wrong.
    #[arg(short, long)]
    quiet: bool,
}

impl Run {
    /// The job's folder.
    pub fn folder(&self) -> Option<&Path> {
        self.into.as_deref()
    }
}

/// Runs the job, or prints it.
///
/// # Errors
/// When the job cannot be done.
pub fn run(arguments: &Run) -> Result<()> {
    #[cfg(feature = "objects")]
    if let Some(url) = arguments.folder().and_then(remote::url) {
        return elsewhere(arguments, url);
    }
    if let Some(path) = arguments.folder() {
        super::elsewhere::refuse(path, " -o")?;
    }
    let resumes = arguments.into.is_some() && !arguments.job.names_input();
    let folder = Folder::at(arguments.into.clone().unwrap_or_default());
    if arguments.print_job {
        let job = match resumes {
            true => arguments.job.resume(load(folder)?)?.job,
            false => arguments.job.job()?,
        };
        job.check()?;
        return Ok(stdout().write_all(job.to_toml()?.as_bytes())?);
    }
    let stop = stop::on_request()?;
    let started = match resumes {
        true => arguments.job.resume(load(folder)?)?,
        false => {
            let job = arguments.job.job()?;
            until_stopped(&stop, || prepare(folder, job))?
        }
    };
    finish_run(started, &stop, &Way::of(arguments))
}

/// Runs a job in object storage, or prints it.
#[cfg(feature = "objects")]
fn elsewhere(arguments: &Run, url: &str) -> Result<()> {
    let (job, is_new) = (&arguments.job, arguments.job.names_input());
    if arguments.print_job && is_new {
        let job = job.job()?;
        job.check()?;
        return Ok(stdout().write_all(job.to_toml()?.as_bytes())?);
    }
    let remote = Remote::open(url)?;
    let stop = stop::on_request()?;
    let planned = is_new.then(|| {
        let (scratch, job) = (Scratch::new(None)?, job.job()?);
        Ok::<_, anyhow::Error>(until_stopped(&stop, || remote.plan(&scratch, job))?)
    });
    let planned = planned.transpose()?;
    let scratch = Scratch::new(None)?;
    let mut started = remote.prepare(&scratch)?;
    started.is_resumed = true;
    if let Some(planned) = planned {
        (started.is_resumed, started.sites) = (planned.is_resumed, planned.sites);
    }
    match is_new {
        true => started.job = job.job()?,
        false => started = job.resume(started)?,
    }
    if arguments.print_job {
        return Ok(stdout().write_all(started.job.to_toml()?.as_bytes())?);
    }
    finish_elsewhere(&remote, &started, &stop, &Way::of(arguments))
}

/// Does what is left of a job in object storage, or of a round, and makes its products.
///
/// # Errors
/// As [`finish_run`].
#[cfg(feature = "objects")]
pub fn finish_elsewhere(
    remote: &Arc<Remote>,
    started: &Started,
    stop: &AtomicBool,
    way: &Way,
) -> Result<()> {
    let mut live = Live::new(way.is_quiet, &way.watching)?;
    live.begin(started);
    let options = way.options(started);
    let summary = remote.run(started, &options, stop, &mut live);
    let summary = summary.inspect_err(|_| live.end())?;
    let made = remote.finish(started);
    live.end();
    let url = started.folder.shown();
    let made = made?.into_iter().map(|name| format!(", {url}/{name}"));
    let scratch = Scratch::new(None)?;
    let whole = remote.whole(&scratch)?;
    if !way.is_quiet {
        let results = format!("{url}/{}", remote.results_folder()?);
        let ended = sentence(results.as_ref(), &summary);
        crate::say!("{ended}{}", made.collect::<String>());
    }
    verdict::judge(&whole, &started.job, &url)
}

/// How a job is done.
pub struct Way {
    /// Print nothing unless something goes wrong.
    is_quiet: bool,
    watching: Watching,
    /// How many threads; see [`Options::threads`].
    pub threads: Option<usize>,
    /// Send requests again if nobody knows whether they were sent.
    resend_unknown: bool,
}

impl Way {
    /// That of a run.
    fn of(arguments: &Run) -> Way {
        Way {
            threads: arguments.threads.threads,
            resend_unknown: arguments.resend_unknown,
            ..Way::new(arguments.quiet, &arguments.watching)
        }
    }

    fn options(&self, started: &Started) -> Options {
        Options {
            sites: started.sites.clone(),
            threads: self.threads,
            resend_unknown: self.resend_unknown,
            note_progress: true,
            ..Options::default()
        }
    }

    /// The usual one.
    pub fn new(is_quiet: bool, watching: &Watching) -> Way {
        Way {
            is_quiet,
            watching: watching.clone(),
            threads: None,
            resend_unknown: false,
        }
    }
}

/// Does what is left of a job, and makes its products.
///
/// # Errors
/// When it cannot be done, or came to too little.
pub fn finish_run(started: Started, stop: &AtomicBool, way: &Way) -> Result<()> {
    let mut live = Live::new(way.is_quiet, &way.watching)?;
    live.begin(&started);
    let options = way.options(&started);
    let summary = started.run(&options, stop, &mut live);
    let mut summary = summary.inspect_err(|_| live.end())?;
    let (folder, job) = (started.folder.clone(), started.job.clone());
    // Dropping it releases the lock of the folder, because `finish` takes the lock itself.
    drop(started);
    let products = finish::rounds(&folder, &job, &options, stop, &mut live);
    live.end();
    let products = products?.unwrap_or_default();
    summary.tally = tally(&folder, &load(folder.clone())?.plan)?;
    if !way.is_quiet {
        let made = products.tables.iter().chain(&products.page);
        let made = made.map(|product| format!(", {}", product.display()));
        let ended = sentence(&folder.results(), &summary);
        crate::say!("{ended}{}", made.collect::<String>());
    }
    let home = folder.shown();
    verdict::judge(&load(folder)?, &job, &home)
}

/// How inputs ended, by outcome; what did not happen is left out.
pub fn outcomes(tally: &Tally) -> String {
    let other = tally.responses + tally.unchanged - tally.ok;
    let counted = |number: u64, word: &str| (number, format!("{} {word}", words::count(number)));
    let rest = [
        (other, plural(other, "other response")),
        counted(tally.unchanged, "unchanged"),
        (tally.errors, plural(tally.errors, "error")),
        counted(tally.skipped, "skipped"),
        counted(tally.unreached, "unreached"),
        counted(tally.unknown, "unknown"),
        counted(tally.invalid, "invalid"),
    ];
    let rest = rest.into_iter().filter(|(number, _)| *number > 0);
    let good = plural(tally.ok, "good response");
    let ends = std::iter::once(good).chain(rest.map(|(_, words)| words));
    ends.collect::<Vec<_>>().join(", ")
}

/// How the job ended, in one sentence.
pub fn sentence(results: &Path, summary: &Summary) -> String {
    let tally = &summary.tally;
    let took = summary.took.as_secs_f64();
    let rate = (summary.written as f64 / took.max(0.001)).round() as u64;
    let work = match summary.written {
        0 => "nothing was left to do".to_owned(),
        _ => format!("{took:.1} s, {} a second", words::count(rate)),
    };
    format!(
        "{}{}: {}; {work}; {}",
        plural(tally.records, "record"),
        pages(tally),
        outcomes(tally),
        results.display()
    )
}
