//! `hecaton fetch again`: some inputs of a job that is done, once more.

use std::io::{Write, stdout};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::again::{Choice, Kept, USUAL};
use hecaton_fetch::job::Job;
use hecaton_fetch::place::{self, Place};
use hecaton_fetch::record::{count, plural};
use hecaton_fetch::run::{Options, Running};
use hecaton_fetch::start::Started;

use super::live::Live;
use super::options::{Home, Threads};
use super::planning::until_stopped;
use super::run::say;
use super::tuning::Tuning;
use super::verdict::{judge, unless_allowed};
use super::watching::Watching;
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
    threads: Threads,
    #[command(flatten)]
    watching: Watching,
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
    let place = place(arguments)?;
    let stop = stop::on_request()?;
    let watching = &arguments.watching;
    let mut live = Live::new(watching)?;
    let options = Options {
        threads: arguments.threads.threads,
        note_progress: true,
        ..Options::default()
    };
    let change = |job: &mut _| arguments.tuning.change(job);
    let choice = arguments.choice();
    let mut with = Running::new(&options, &stop, &mut live);
    let ready = place.make_ready(choice, &change, &mut with);
    ready.inspect_err(|_| live.end())?;
    let chosen = until_stopped(&stop, || place.again(choice, &change))?;
    say_left(choice, chosen.left);
    let Some(round) = chosen.round else {
        return nothing(arguments, &*place);
    };
    if arguments.plan {
        return planned(arguments, &round);
    }
    live.begin(&round);
    let job = round.job.clone();
    let mut with = Running::new(&options, &stop, &mut live);
    let finished = place.finish(round, &mut with);
    live.end();
    let finished = finished?;
    say(&finished, watching);
    let judged = judge(&finished.whole, &job, &place.shown());
    judge_kept(finished.kept, &job, judged)
}

/// Where the job is. Damage can be looked for in a folder only.
fn place(arguments: &Arguments) -> Result<Box<dyn Place>> {
    let path = &arguments.home.folder;
    Ok(match arguments.damaged {
        true => Box::new(place::folder(path, " again --damaged")?),
        false => place::at(path, " again")?,
    })
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
        Ok(()) => unless_allowed(job, why),
        judged => {
            crate::say!("{why}");
            judged
        }
    }
}

/// Says how many inputs match and are left, and how they are sent. Without a condition, the last line of the command
/// says so of all that are unknown.
fn say_left(choice: Choice<'_>, left: u64) {
    if left > 0 && !matches!(choice, Choice::Matching(None)) {
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
fn nothing(arguments: &Arguments, place: &dyn Place) -> Result<()> {
    if arguments.plan {
        writeln!(stdout(), "0")?;
    }
    crate::say!(
        "{}, so nothing is sent again",
        match arguments.damaged {
            true => "no input has lost its record or body",
            false => "no record matches",
        }
    );
    if arguments.plan {
        return Ok(());
    }
    let whole = place.whole()?;
    let mut job = whole.job.clone();
    arguments.tuning.change(&mut job);
    judge(&whole, &job, &place.shown())
}

/// Says how many parts and inputs a round has that others will run.
fn planned(arguments: &Arguments, round: &Started) -> Result<()> {
    writeln!(stdout(), "{}", round.plan.parts.len())?;
    let path = arguments.home.folder.display();
    crate::say!(
        "{} to send again: now run `hecaton fetch enqueue {path}` and `worker`, or `hecaton fetch run-part {path} N` for each part",
        plural(round.plan.inputs, "input")
    );
    Ok(())
}
