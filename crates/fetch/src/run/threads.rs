//! A run on several threads: each opens parts and drives its own requests, and this thread watches them.
//!
//! A part is on one thread, which alone writes it and keeps the limits of its hosts. The threads share what is left to
//! do ([`Supply`]), the requests in flight ([`Slots`]), cookies and the memory for bodies. When one fails, the
//! others end in order.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, available_parallelism, scope};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use roaring::RoaringTreemap;

use super::bandwidth::{Bandwidth, HostBandwidths};
use super::driver::{Driver, ThreadSummary};
use super::goal::tally;
use super::hosts::Healths;
use super::own::Clients;
use super::proxies::{self, Proxies};
use super::settings;
use super::sites::Sites;
use super::slots::Slots;
use super::supply::{GivenParts, Supply, check_plan};
use super::view::{Observer, Snapshot};
use super::watch::{News, Watch};
use crate::error::{Error, Result};
use crate::job::{Job, StopAfter};
use crate::plan::{Folder, Plan};
use crate::record::count;
use crate::segment::Tally;
use crate::take::Matches;

/// Most threads, unless the options say so.
const MOST_THREADS: usize = 8;

/// Most parts that are worked on at once, by all threads.
const MOST_OPEN: usize = 32;

/// How often the observer is called.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// The options of a run that are no settings of the job.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The parts to do; all when empty.
    pub parts: Vec<u32>,
    /// How many threads; when absent, as many as there are cores, and at most 8.
    pub threads: Option<usize>,
    /// Send requests again if nobody knows whether they were sent.
    pub resend_unknown: bool,
    /// Write how far it is for `status`.
    pub note_progress: bool,
    /// Write how far this worker is, in a file of its own among those of all workers.
    pub note_worker: bool,
    /// The robots.txt rules that earlier runs of this job in this process fetched.
    pub sites: Arc<Sites>,
}

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

/// The work of a run.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The folder of the job.
    pub folder: &'a Folder,
    /// The job.
    pub job: &'a Job,
    /// Its plan.
    pub plan: &'a Plan,
    /// The options of the run.
    pub options: &'a Options,
    /// Set once someone ends the run.
    pub stop: &'a AtomicBool,
}

/// The parts of a run that all of its threads share.
pub struct Shared<'a> {
    pub work: Work<'a>,
    /// How many threads there are.
    pub threads: usize,
    /// Most parts that a thread works on at once.
    pub most_open: usize,
    /// Cookies and memory are shared with these clients, and connections are not.
    pub clients: Clients,
    /// The proxies that requests take in turn.
    pub proxies: Proxies,
    /// The inputs that the plan found to be duplicates.
    pub repeats: RoaringTreemap,
    pub supply: Mutex<Box<dyn Supply>>,
    pub slots: Slots,
    /// The health of the hosts that several parts send to.
    pub healths: Arc<Healths>,
    /// Bytes of bodies that came whole.
    pub received: AtomicU64,
    pub bandwidth: Bandwidth,
    /// The bandwidths of single hosts, if any has its own.
    pub host_bandwidths: Option<Arc<HostBandwidths>>,
    begun: Instant,
    /// A thread failed.
    has_failed: AtomicBool,
}

impl<'a> Shared<'a> {
    /// At most `most` parts are worked on at once.
    fn new(work: Work<'a>, supply: Box<dyn Supply>, most: usize) -> Result<Shared<'a>> {
        let Work {
            folder, job, plan, ..
        } = work;
        let begun = Instant::now();
        let threads = thread_count(work.options.threads, most, job.pace.concurrency);
        Ok(Shared {
            work,
            threads,
            most_open: most.min(MOST_OPEN).div_ceil(threads).max(1),
            clients: settings::running_clients(job, plan.own_hosts, threads)?,
            proxies: proxies::all(job)?,
            repeats: plan.repeated(folder)?,
            supply: Mutex::new(supply),
            slots: Slots::new(job.pace.concurrency, threads),
            healths: Arc::default(),
            received: AtomicU64::new(0),
            bandwidth: Bandwidth::new(job.pace.max_bandwidth, begun),
            host_bandwidths: HostBandwidths::of_job(job)?,
            begun,
            has_failed: AtomicBool::new(false),
        })
    }

    /// Whether nothing more is to be started.
    pub fn is_stopping(&self) -> bool {
        self.work.stop.load(Ordering::Relaxed)
            || self.has_failed.load(Ordering::Relaxed)
            || self.is_paused().is_some()
    }

    /// What ends the run by itself, once it is reached.
    fn is_paused(&self) -> Option<StopAfter> {
        let received = self.received.load(Ordering::Relaxed);
        let limit = self.work.job.pace.stop_after;
        limit.filter(|limit| limit.is_reached(self.begun.elapsed(), received))
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

/// How many threads there are for so many parts. More would have nothing to do, and each needs a request in flight.
fn thread_count(setting: Option<usize>, parts: usize, concurrency: usize) -> usize {
    let cores = || {
        available_parallelism()
            .map_or(1, usize::from)
            .min(MOST_THREADS)
    };
    setting
        .unwrap_or_else(cores)
        .min(parts)
        .min(concurrency)
        .max(1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_threads_than_parts_or_requests_in_flight() {
        assert_eq!(thread_count(Some(6), 100, 200), 6);
        assert_eq!(thread_count(Some(6), 3, 200), 3);
        assert_eq!(thread_count(Some(6), 100, 2), 2);
        assert_eq!(thread_count(Some(6), 0, 200), 1);
        let usual = thread_count(None, 1000, 1000);
        assert!((1..=MOST_THREADS).contains(&usual));
    }
}
