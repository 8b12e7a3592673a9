//! When the requests of a `go` at a rate are due, on the clock that times them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// The instants at which the requests of a round are due.
pub struct Pace {
    start: Instant,
    rate: f64,
    /// Microseconds after the start; none at equal distances.
    offsets: Option<Vec<u64>>,
}

impl Pace {
    /// None where each request follows the end of another.
    pub fn of(command: &Value) -> Option<Pace> {
        let rate = command["rate"].as_f64()?;
        // `start` is on the clock of the day.
        let start = UNIX_EPOCH + Duration::from_micros(command["start"].as_u64()?);
        let left = start.duration_since(SystemTime::now()).unwrap_or_default();
        let offsets = command["due"].as_str().map(|path| {
            let text = std::fs::read_to_string(path).expect("the file of the lab");
            text.lines().map(|line| line.parse().expect("a number")).collect()
        });
        Some(Pace {
            start: Instant::now() + left,
            rate,
            offsets,
        })
    }

    /// When the request at this place is due.
    pub fn due(&self, place: u64) -> Instant {
        self.start
            + match &self.offsets {
                Some(offsets) => Duration::from_micros(offsets[place as usize]),
                None => Duration::from_secs_f64(place as f64 / self.rate),
            }
    }
}
