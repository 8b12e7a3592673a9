//! How the requests of a round are sent at a rate: what the driver and the test server receive of it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use hecaton_test_server::Pace;

use super::Go;
use super::scratch::Handout;
use crate::spec::{Arrivals, Rate};

/// How long before its first request is due a driver gets the command, so that it has read the line by then.
pub(super) const LEAD: Duration = Duration::from_millis(100);

/// A round at a rate.
pub(super) struct Paced {
    per_second: f64,
    offsets_us: std::sync::Arc<[u64]>,
    /// None where they are at equal distances.
    file: Option<Handout>,
}

impl Paced {
    /// One of so many requests, at so many per second.
    pub(super) fn new(rate: Rate, per_second: f64, count: u64) -> Result<Paced> {
        let offsets_us = rate.offsets_us(per_second, count);
        let file = match rate.arrivals {
            Arrivals::Constant => None,
            Arrivals::Poisson => {
                let lines = offsets_us.iter().map(|offset| format!("{offset}\n"));
                let written = Handout::write(&lines.collect::<String>());
                Some(written.context("cannot write when requests are due")?)
            }
        };
        Ok(Paced {
            per_second,
            offsets_us: offsets_us.into(),
            file,
        })
    }

    /// How long after the start a request is due.
    pub(super) fn offset(&self, place: u64) -> Duration {
        let offset = usize::try_from(place)
            .ok()
            .and_then(|place| self.offsets_us.get(place));
        Duration::from_micros(offset.copied().unwrap_or_default())
    }

    pub(super) fn per_second(&self) -> f64 {
        self.per_second
    }

    /// From when the first request is due until one more would be: so long a round lasts at least.
    pub(super) fn lasting(&self) -> Duration {
        let last = self.offsets_us.last().copied().unwrap_or_default();
        Duration::from_micros(last) + Duration::from_secs_f64(1.0 / self.per_second)
    }

    /// Lets the round begin [`LEAD`] from now: what the driver and the test server receive.
    pub(super) fn begin(&self, go: Go) -> (Go, Pace) {
        let start = SystemTime::now() + LEAD;
        let pace = Pace {
            start: Instant::now() + LEAD,
            offsets_us: self.offsets_us.clone(),
        };
        let since = start.duration_since(UNIX_EPOCH).unwrap_or_default();
        let go = Go {
            rate: Some(self.per_second),
            start: u64::try_from(since.as_micros()).ok(),
            due: self.file.as_ref().map(|file| file.path().to_path_buf()),
            ..go
        };
        (go, pace)
    }
}
