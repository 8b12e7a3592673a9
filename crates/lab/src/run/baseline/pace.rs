//! When the loader's requests are due, if they are sent at a rate.

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::run::Go;

/// The instants at which the requests of a `go` are due.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    rate: f64,
    /// Microseconds after the start; none at equal distances.
    offsets: Option<Vec<u64>>,
}

impl Pace {
    /// None for the closed loop.
    ///
    /// # Errors
    /// When the file of instants cannot be read.
    pub fn of(go: &Go) -> io::Result<Option<Pace>> {
        let Some((rate, start)) = go.rate.zip(go.start) else {
            return Ok(None);
        };
        let start = UNIX_EPOCH + Duration::from_micros(start);
        let left = start.duration_since(SystemTime::now()).unwrap_or_default();
        let start = Instant::now() + left;
        let offsets = match &go.due {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)?;
                let offsets: Result<_, _> = text.lines().map(str::parse).collect();
                Some(offsets.map_err(io::Error::other)?)
            }
        };
        Ok(Some(Pace {
            start,
            rate,
            offsets,
        }))
    }

    /// When the request at this position is due.
    pub fn due(&self, position: u64) -> Instant {
        let listed = self
            .offsets
            .as_ref()
            .and_then(|all| all.get(position as usize));
        let after = match listed {
            Some(offset) => Duration::from_micros(*offset),
            None => Duration::from_secs_f64(position as f64 / self.rate),
        };
        self.start + after
    }
}
