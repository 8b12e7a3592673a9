//! The state that the threads of a run share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::Instant;

use parking_lot::Mutex;
use roaring::RoaringTreemap;

use super::bandwidth::{Bandwidth, HostBandwidths};
use super::hosts::Healths;
use super::own::Clients;
use super::permits::Permits;
use super::proxies::{self, Proxies};
use super::robots_cache::RobotsCache;
use super::settings;
use super::supply::Supply;
use crate::error::Result;
use crate::job::{Job, StopAfter};
use crate::plan::{Folder, Plan};

/// Most threads, unless the options say otherwise.
const MOST_THREADS: usize = 8;

/// About how many parts are worked on at once, by all threads. Each thread has an equal share, rounded up: rounded
/// down, the last few parts of a job would begin only when others have ended.
const MOST_OPEN: usize = 32;

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
    pub robots_cache: Arc<RobotsCache>,
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
    pub permits: Permits,
    /// The health of the hosts that several parts send to.
    pub healths: Arc<Healths>,
    /// Bytes of the bodies of recorded responses.
    pub received: AtomicU64,
    pub bandwidth: Bandwidth,
    /// The bandwidths of single hosts, if any has its own.
    pub host_bandwidths: Option<Arc<HostBandwidths>>,
    pub begun: Instant,
    /// A thread failed.
    pub has_failed: AtomicBool,
}

impl<'a> Shared<'a> {
    /// `most`: how many parts the supply can give at once.
    pub fn new(work: Work<'a>, supply: Box<dyn Supply>, most: usize) -> Result<Shared<'a>> {
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
            permits: Permits::new(job.pace.concurrency, threads),
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
    pub fn is_paused(&self) -> Option<StopAfter> {
        let received = self.received.load(Ordering::Relaxed);
        let limit = self.work.job.pace.stop_after;
        limit.filter(|limit| limit.is_reached(self.begun.elapsed(), received))
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
