//! A run on several threads: each opens parts and drives its own requests, and this thread watches them.
//!
//! A part is on one thread, which keeps the limits of its hosts. The threads share what is left to do, the requests in
//! flight, cookies, the memory for bodies and the health of hosts in several parts ([`Shared`]). When one fails, the
//! others end in order.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

use super::driver::{Driver, ThreadSummary};
use super::goal::tally;
use super::shared::{Options, Shared, Work};
use super::supply::{GivenParts, Supply, check_plan};
use super::view::{Observer, Snapshot};
use super::watch::{News, Watch};
use crate::error::{Error, Result};
use crate::job::StopAfter;
use crate::plan::Plan;
use crate::record::count;
use crate::segment::Tally;
use crate::take::Matches;

/// How often the observer is called.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How inputs ended: those of the parts that are done.
    pub tally: Tally,
    /// Parts that other workers took over or did.
    pub elsewhere: Vec<u32>,
    /// How long it took.
    pub took: Duration,
    /// Records that this run wrote.
    pub written: u64,
}

/// How parts are run.
pub struct Running<'a> {
    /// With which options.
    pub options: &'a Options,
    /// Until this is set.
    pub stop: &'a AtomicBool,
    /// The observer of its progress.
    pub observer: &'a mut dyn Observer,
}

impl<'a> Running<'a> {
    /// With these options, until `stop` is set.
    pub fn new(
        options: &'a Options,
        stop: &'a AtomicBool,
        observer: &'a mut dyn Observer,
    ) -> Running<'a> {
        Running {
            options,
            stop,
            observer,
        }
    }
}

/// Does the parts of a plan that are not done.
///
/// # Errors
/// When it cannot be done, or someone ended it.
pub fn run(work: Work<'_>, observer: &mut dyn Observer) -> Result<Summary> {
    unless_merged(work, run_given(work, observer))
}

fn run_given(work: Work<'_>, observer: &mut dyn Observer) -> Result<Summary> {
    let Work {
        folder,
        plan,
        options,
        ..
    } = work;
    let found = GivenParts::find(folder, work.job, plan, &options.parts)?;
    let most = found.given.count();
    let mut watch = Watch::new(folder, plan, options, observer);
    watch.found(&found.tally, found.done);
    let mut summary = on_threads(work, Box::new(found.given), most, &mut watch)?;
    summary.tally.add(&found.tally);
    if options.parts.is_empty() {
        // Other workers may have done some of them.
        summary.tally = tally(folder, plan)?;
    }
    Ok(summary)
}

/// Does parts of a plan as they are handed out, at most so many at once.
///
/// # Errors
/// When it cannot be done, or someone ended it.
pub fn run_supplied(
    work: Work<'_>,
    supply: Box<dyn Supply>,
    most: usize,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    check_plan(work.job, work.plan)?;
    let mut watch = Watch::new(work.folder, work.plan, work.options, observer);
    unless_merged(work, on_threads(work, supply, most, &mut watch))
}

/// The result of a run. A run that fails because another process has merged the round, and has removed its files, is
/// through: all parts of the round are done.
fn unless_merged(work: Work<'_>, ran: Result<Summary>) -> Result<Summary> {
    match ran {
        Err(Error::Failed(_)) if work.folder.is_merged() => Ok(Summary {
            elsewhere: work.options.parts.clone(),
            ..Summary::default()
        }),
        ran => ran,
    }
}

fn on_threads(
    work: Work<'_>,
    supply: Box<dyn Supply>,
    most: usize,
    watch: &mut Watch<'_>,
) -> Result<Summary> {
    let shared = Shared::new(work, supply, most)?;
    // From the start, so that `status` does not advise to start another.
    watch.note();
    let ended = drive(&shared, watch);
    let last = watch.end();
    let is_stopped = work.stop.load(Ordering::Relaxed);
    let pause = shared.is_paused().filter(|_| !is_stopped);
    let mut matches = Matches::default();
    ended
        .iter()
        .flatten()
        .for_each(|ended| matches.add(&ended.matches));
    let mut summary = joined(ended, &last, work.plan, pause)?;
    if let Some(sentence) = matches.lacking(&work.job.results.take) {
        watch.take(News::Sentence(sentence));
    }
    summary.took = shared.begun.elapsed();
    Ok(summary)
}

/// Runs the threads, and watches them until all have ended.
fn drive(shared: &Shared<'_>, watch: &mut Watch<'_>) -> Vec<Result<ThreadSummary>> {
    scope(|scope| {
        let (sender, news) = channel();
        let spawn = |number: usize| {
            let sender = sender.clone();
            let thread = Builder::new().name(format!("requests-{number}"));
            let thread = thread.spawn_scoped(scope, move || on_thread(shared, number, sender));
            thread.map_err(|error| Error::failed(format!("cannot start a thread: {error}")))
        };
        let spawned: Vec<_> = (0..shared.threads).map(spawn).collect();
        if spawned.iter().any(Result::is_err) {
            shared.has_failed.store(true, Ordering::Relaxed);
        }
        drop(sender);
        watch_over(watch, &news, shared);
        let ended = spawned.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => Err(error),
        });
        ended.collect()
    })
}

fn on_thread(shared: &Shared<'_>, number: usize, sender: Sender<News>) -> Result<ThreadSummary> {
    let ended = Driver::new(shared, number, sender).and_then(Driver::run);
    if ended.is_err() {
        shared.has_failed.store(true, Ordering::Relaxed);
    }
    ended
}

/// Until all threads have ended.
fn watch_over(watch: &mut Watch<'_>, news: &Receiver<News>, shared: &Shared<'_>) {
    let mut reported = Instant::now();
    let mut said = false;
    loop {
        match news.recv_timeout(REPORT_EVERY.saturating_sub(reported.elapsed())) {
            Ok(news) => watch.take(news),
            Err(RecvTimeoutError::Timeout) => {
                reported = Instant::now();
                watch.report(shared.supply.lock().trouble());
                if !said && shared.is_stopping() {
                    said = true;
                    watch.say_stopping(shared.work.stop.load(Ordering::Relaxed));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The summary of all threads, or the reason why there is none.
fn joined(
    ended: Vec<Result<ThreadSummary>>,
    last: &Snapshot,
    plan: &Plan,
    pause: Option<StopAfter>,
) -> Result<Summary> {
    let mut summary = Summary::default();
    let mut is_over = true;
    for ended in ended {
        let ended = ended?;
        is_over &= ended.is_over;
        summary.tally.add(&ended.tally);
        summary.elsewhere.extend(ended.elsewhere);
        summary.written += ended.written;
    }
    if !is_over {
        let have = match last.tally.records {
            1 => "has its record",
            _ => "have their record",
        };
        let [done, all] = [last.tally.records, plan.inputs].map(count);
        let so_far = format!("{done} of {all} inputs {have}; the same command resumes");
        return Err(match pause {
            Some(limit) => Error::Paused(format!("stopped after {limit}: {so_far}")),
            None => Error::Interrupted(format!("stopped as requested: {so_far}")),
        });
    }
    summary.elsewhere.sort_unstable();
    Ok(summary)
}
