//! `--max-bandwidth`: how many bytes of bodies the threads of a run may receive in a second, all together, and from
//! single hosts.
//!
//! Each byte costs time. Until the time has passed, no request is taken from the queues, and no further piece of a body
//! that comes in pieces: TCP slows the servers down. Requests are polled meanwhile, so that none times out.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::error::Result;
use crate::host::HostNames;
use crate::job::Job;

/// The bandwidth of a run, or of one host.
pub struct Bandwidth {
    /// Bytes a second.
    most: Option<u64>,
    paid: Mutex<Paid>,
}

/// What was paid.
struct Paid {
    /// When everything is paid for that has come.
    at: Instant,
    /// How long nothing may have been received by then, in all.
    held: Duration,
}

impl Bandwidth {
    /// At most so many bytes a second, from now on.
    pub fn new(most: Option<u64>, now: Instant) -> Bandwidth {
        Bandwidth {
            most,
            paid: Mutex::new(Paid {
                at: now,
                held: Duration::ZERO,
            }),
        }
    }

    /// Counts bytes that have come.
    pub fn came(&self, bytes: usize, now: Instant) {
        let Some(most) = self.most.filter(|_| bytes > 0) else {
            return;
        };
        let mut paid = self.paid.lock();
        let time = Duration::from_secs_f64(bytes as f64 / most as f64);
        paid.at = paid.at.max(now) + time;
        paid.held += time;
    }

    /// The time by a clock that stands still while nothing may be received: what `--min-speed` goes by.
    pub fn clock(&self, now: Instant) -> Instant {
        if self.most.is_none() {
            return now;
        }
        let paid = self.paid.lock();
        let held = paid
            .held
            .saturating_sub(paid.at.saturating_duration_since(now));
        now.checked_sub(held).unwrap_or(now)
    }

    /// When more may be received, if there is a limit.
    pub fn paid_at(&self) -> Option<Instant> {
        self.most.map(|_| self.paid.lock().at)
    }

    /// How long nothing more may be received, if it must wait.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        let pause = self.paid_at()?.saturating_duration_since(now);
        (!pause.is_zero()).then_some(pause)
    }
}

/// The bandwidths of the hosts that have one of their own.
pub struct HostBandwidths {
    names: HostNames,
    most: Vec<Option<u64>>,
    known: Mutex<HashMap<Box<str>, Arc<Bandwidth>>>,
}

impl HostBandwidths {
    /// Those of a job; none if no host has one.
    ///
    /// # Errors
    /// When a name of the job's hosts is none.
    pub fn of_job(job: &Job) -> Result<Option<Arc<HostBandwidths>>> {
        let most: Vec<Option<u64>> = job.hosts.values().map(|host| host.max_bandwidth).collect();
        if most.iter().all(Option::is_none) {
            return Ok(None);
        }
        Ok(Some(Arc::new(HostBandwidths {
            names: HostNames::new(&job.hosts)?,
            most,
            known: Mutex::default(),
        })))
    }

    /// That of a host, if it has one: the same for all threads.
    pub fn of(&self, host: &str) -> Option<Arc<Bandwidth>> {
        let most = self.most[self.names.of(host)?]?;
        let mut known = self.known.lock();
        if let Some(bandwidth) = known.get(host) {
            return Some(bandwidth.clone());
        }
        let bandwidth = Arc::new(Bandwidth::new(Some(most), Instant::now()));
        known.insert(host.into(), bandwidth.clone());
        Some(bandwidth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_is_paid_for_by_time() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let limited = Bandwidth::new(Some(100), now);
        assert_eq!(limited.pause(now), None);
        limited.came(250, now);
        limited.came(50, at(1));
        assert_eq!(limited.pause(at(1)), Some(Duration::from_secs(2)));
        assert_eq!(limited.pause(at(3)), None);
        // Time in which nothing came is lost.
        limited.came(100, at(60));
        assert_eq!(limited.pause(at(60)), Some(Duration::from_secs(1)));
        let free = Bandwidth::new(None, now);
        free.came(usize::MAX, now);
        assert_eq!((free.pause(now), free.clock(at(5))), (None, at(5)));
    }

    #[test]
    fn the_clock_stands_still_while_nothing_may_be_received() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let limited = Bandwidth::new(Some(100), now);
        limited.came(200, at(1));
        limited.came(100, at(2));
        limited.came(100, at(10));
        for (seconds, clock) in [(10, 7), (11, 7), (12, 8), (60, 56)] {
            assert_eq!(limited.clock(at(seconds)), at(clock), "{seconds}");
        }
    }
}
