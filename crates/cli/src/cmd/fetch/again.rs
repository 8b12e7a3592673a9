//! `hecaton fetch again`: some inputs of a job that is done, once more.

use std::io::{Write, stdout};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::again::{self, Choice, Kept, USUAL};
use hecaton_fetch::finish;
use hecaton_fetch::job::Job;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::Options;
use hecaton_fetch::start::load;
use hecaton_lab::findings::words::{count, plural};

use super::live::Live;
use super::planning::until_stopped;
use super::run::sentence;
use super::tuning::Tuning;
use super::verdict;
use super::watching::Watching;
use super::{Home, Threads};
use crate::stop;

/// Sends some requests of a finished job again; their new records replace the old ones.
///
/// The same command resumes where the round stopped.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) home: Home,
    #[arg(long = "where", value_name = "EXPRESSION", help = format!("Which records, in the words of `show --where`; one that is `unknown` only if this names that outcome [default: {USUAL}]"))]
    matching: Option<String>,
    /// Say in each request which version of the response the job has (its ETag and Last-Modified). A response that has
    /// not changed is recorded as `unchanged` and keeps the rest of its record. Without --where, everything that was
    /// sent is chosen, but what is `unknown`.
    #[arg(long)]
    if_changed: bool,
    /// Choose the inputs whose record or body is lost, as `verify` finds them.
    #[arg(long, conflicts_with_all = ["matching", "if_changed"])]
    damaged: bool,
    /// Choose the inputs and send nothing; then `enqueue` and `worker`, or `run-part`, send them as they do for a
    /// job.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    tuning: Tuning,
    #[command(flatten)]
    watching: Watching,
    #[command(flatten)]
    threads: Threads,
    /// Print nothing unless something goes wrong.
    #[arg(short, long)]
    quiet: bool,
}

impl Arguments {
    fn choice(&self) -> Choice<'_> {
        match self.matching.as_deref() {
            _ if self.damaged => Choice::Damaged,
            given if self.if_changed => Choice::Changed(given),
            given => Choice::Matching(given),
        }
    }
}

/// Does it.
///
/// # Errors
/// When it cannot be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    #[cfg(feature = "objects")]
    if let Some(url) = hecaton_fetch::remote::url(&arguments.home.folder) {
        if arguments.damaged {
            super::elsewhere::refuse(&arguments.home.folder, " again --damaged")?;
        }
        return elsewhere(arguments, url);
    }
    super::elsewhere::refuse(&arguments.home.folder, " again")?;
    in_folder(arguments, &Folder::at(&arguments.home.folder))
}

/// A round of a job in a folder.
fn in_folder(arguments: &Arguments, folder: &Folder) -> Result<()> {
    let stop = stop::on_request()?;
    let mut live = Live::new(arguments.quiet, &arguments.watching)?;
    let options = Options {
        threads: arguments.threads.threads,
        note_progress: true,
        ..Options::default()
    };
    make_ready(arguments, folder, |base| {
        let finished = finish::rounds(folder, base, &options, &stop, &mut live);
        finished.inspect_err(|_| live.end())?;
        Ok(())
    })?;
    let change = |job: &mut _| arguments.tuning.change(job);
    let prepare = || again::prepare(folder, arguments.choice(), &change);
    let judge = |job: &Job| verdict::judge(&load(folder.clone())?, job, &folder.shown());
    let chosen = until_stopped(&stop, prepare)?;
    say_left(arguments, chosen.left);
    let Some(mut round) = chosen.round else {
        return nothing(arguments, || {
            let mut job = load(folder.clone())?.job;
            arguments.tuning.change(&mut job);
            judge(&job)
        });
    };
    if arguments.plan {
        return planned(arguments, round.plan.parts.len(), round.plan.inputs);
    }
    live.begin(&round);
    let summary = again::run(folder, &mut round, &options, &stop, &mut live);
    let (summary, kept) = summary.inspect_err(|_| live.end())?;
    let finished = finish::rounds(folder, &round.job, &options, &stop, &mut live);
    live.end();
    finished?;
    if !arguments.quiet {
        crate::say!("{}", sentence(&folder.results(), &summary));
    }
    judge_kept(kept, &round.job, judge(&round.job))
}

/// Merges a round that is done and was not merged, and follows the redirects that wait, before another round begins.
fn make_ready(
    arguments: &Arguments,
    folder: &Folder,
    finish: impl FnOnce(&Job) -> Result<()>,
) -> Result<()> {
    if arguments.damaged {
        // Products cannot be made of damaged results.
        return Ok(again::stand_in_for_lost_results(folder)?);
    }
    let mut base = load(folder.clone())?.job;
    arguments.tuning.change(&mut base);
    finish(&base)
}

/// Says how many inputs got no answer and keep the record of an earlier response. A job that is good otherwise ends as incomplete.
fn judge_kept(kept: Kept, job: &Job, judged: Result<()>) -> Result<()> {
    if kept.unanswered == 0 {
        return judged;
    }
    let why = format!(
        "{} got no answer in this round, and the job keeps {}",
        plural(kept.unanswered, "input"),
        match kept.unanswered {
            1 => "its earlier response",
            _ => "their earlier responses",
        }
    );
    match judged {
        Ok(()) => verdict::unless_allowed(job, why),
        judged => {
            crate::say!("{why}");
            judged
        }
    }
}

/// Says how many inputs match and are left, and how they are sent. Without a condition, the last line of the command
/// says so of all that are unknown.
fn say_left(arguments: &Arguments, left: u64) {
    if left > 0 && !matches!(arguments.choice(), Choice::Matching(None)) {
        crate::say!(
            "{} left, because a server may act twice on what is unknown: only a condition with `outcome == 'unknown'` chooses such inputs",
            match left {
                1 => "1 input is".to_owned(),
                many => format!("{} inputs are", count(many)),
            }
        );
    }
}

/// Says that no record matches, and judges the job as it is. A round that others will run is judged at its end.
fn nothing(arguments: &Arguments, judge: impl FnOnce() -> Result<()>) -> Result<()> {
    if arguments.plan {
        writeln!(stdout(), "0")?;
    }
    crate::say!("no record matches, so nothing is sent again");
    if arguments.plan { Ok(()) } else { judge() }
}

/// Says how many parts and inputs a round has that others will run.
fn planned(arguments: &Arguments, parts: usize, inputs: u64) -> Result<()> {
    writeln!(stdout(), "{parts}")?;
    let path = arguments.home.folder.display();
    crate::say!(
        "{} to send again: now run `hecaton fetch enqueue {path}` and `worker`, or `hecaton fetch run-part {path} N` for each part",
        plural(inputs, "input")
    );
    Ok(())
}

/// A round of a job in object storage.
#[cfg(feature = "objects")]
fn elsewhere(arguments: &Arguments, url: &str) -> Result<()> {
    use hecaton_fetch::remote::{Remote, Scratch};

    use super::run::{Way, finish_elsewhere};

    let stop = stop::on_request()?;
    let remote = Remote::open(url)?;
    let change = |job: &mut _| arguments.tuning.change(job);
    let prepare = || remote.again(arguments.choice(), &change);
    let chosen = until_stopped(&stop, prepare)?;
    say_left(arguments, chosen.left);
    let Some(round) = chosen.round else {
        return nothing(arguments, || {
            let scratch = Scratch::new(None)?;
            let whole = remote.whole(&scratch)?;
            verdict::judge(&whole, &whole.job, url)
        });
    };
    if arguments.plan {
        return planned(arguments, round.parts, round.inputs);
    }
    let scratch = Scratch::new(None)?;
    let mut started = round.remote.prepare(&scratch)?;
    (started.job, started.is_resumed) = (round.job, round.is_resumed);
    let mut way = Way::new(arguments.quiet, &arguments.watching);
    way.threads = arguments.threads.threads;
    finish_elsewhere(&round.remote, &started, &stop, &way)
}
