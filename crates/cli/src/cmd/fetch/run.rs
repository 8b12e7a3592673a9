//! `hecaton fetch LIST -o DIR`: plans a job if it is new, and does what is left of it.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::job::Job;
use hecaton_fetch::place::{self, Finished, Place};
use hecaton_fetch::record::{count, plural};
use hecaton_fetch::run::{Options, Running, Summary};
use hecaton_fetch::segment::Tally;
use hecaton_fetch::start::Started;

use super::arguments::JobArguments;
use super::live::{Live, pages};
use super::options::Threads;
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
}

/// Runs the job, or prints it.
///
/// # Errors
/// When the job cannot be done.
pub fn run(arguments: &Run) -> Result<()> {
    let path = arguments.into.as_deref().unwrap_or(Path::new(""));
    let resumes = arguments.into.is_some() && !arguments.job.names_input();
    if arguments.print_job && !resumes {
        place::check(path, " -o")?;
        let job = arguments.job.job()?;
        job.check()?;
        return print(&job);
    }
    let place = place::at(path, " -o")?;
    if arguments.print_job {
        return print(&arguments.job.resume(place.load()?)?.job);
    }
    let stop = stop::on_request()?;
    // An address that cannot be had is refused before anything is planned.
    let live = Live::new(&arguments.watching)?;
    let started = match resumes {
        true => arguments.job.resume(place.load()?)?,
        false => {
            let job = arguments.job.job()?;
            until_stopped(&stop, || place.plan_job(job))?
        }
    };
    let options = Options {
        threads: arguments.threads.threads,
        resend_unknown: arguments.resend_unknown,
        ..Options::default()
    };
    finish(&*place, started, options, &stop, live, &arguments.watching)
}

fn print(job: &Job) -> Result<()> {
    Ok(stdout().write_all(job.to_toml()?.as_bytes())?)
}

/// Does what is left of a job, and says what it came to.
///
/// # Errors
/// When it cannot be done, or has too few good responses.
pub fn finish(
    place: &dyn Place,
    started: Started,
    options: Options,
    stop: &AtomicBool,
    mut live: Live,
    watching: &Watching,
) -> Result<()> {
    live.begin(&started);
    let job = started.job.clone();
    let options = Options {
        robots_cache: started.robots_cache.clone(),
        note_progress: true,
        ..options
    };
    let mut with = Running::new(&options, stop, &mut live);
    let finished = place.finish(started, &mut with);
    live.end();
    let finished = finished?;
    say(&finished, watching);
    verdict::judge(&finished.whole, &job, &place.shown())
}

/// Says what a run came to, and what was made of its results.
pub fn say(finished: &Finished, watching: &Watching) {
    if !watching.quiet {
        let ended = sentence(&finished.results, &finished.summary);
        let products = finished.products.iter();
        let products: String = products.map(|product| format!(", {product}")).collect();
        crate::say!("{ended}{products}");
    }
}

/// How inputs ended, by outcome; what did not happen is left out.
pub fn outcomes(tally: &Tally) -> String {
    let other = tally.responses + tally.unchanged - tally.ok;
    let counted = |number: u64, word: &str| (number, format!("{} {word}", count(number)));
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
pub fn sentence(results: &str, summary: &Summary) -> String {
    let tally = &summary.tally;
    let took = summary.took.as_secs_f64();
    let rate = (summary.written as f64 / took.max(0.001)).round() as u64;
    let work = match summary.written {
        0 => "nothing was left to do".to_owned(),
        _ => format!("{took:.1} s, {} a second", count(rate)),
    };
    format!(
        "{}{}: {}; {work}; {}",
        plural(tally.records, "record"),
        pages(tally),
        outcomes(tally),
        results
    )
}
