//! When the requests of a round are due, if they are sent at a rate, and how they kept to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ledger::interval::Interval;

/// A request may come this much before it is due, because two programs read the clock a moment apart.
const EARLY: Duration = Duration::from_millis(1);

/// The instants at which the requests of a round are due.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// When the round begins.
    pub start: Instant,
    /// How many microseconds later each request is due, in the order of ids.
    pub offsets_us: Arc<[u64]>,
}

impl Pace {
    /// When the request with the id at this position is due; none beyond the last.
    pub(crate) fn due(&self, place: u64) -> Option<Instant> {
        let offset = self.offsets_us.get(usize::try_from(place).ok()?)?;
        Some(self.start + Duration::from_micros(*offset))
    }
}

impl Interval {
    /// Notes a request that has been read.
    pub(crate) fn came(&mut self, due: Instant, now: Instant) {
        self.early += u64::from(now + EARLY < due);
        self.behind.record(now.saturating_duration_since(due));
    }

    /// Notes a response that is released.
    pub(crate) fn released(&mut self, due: Instant, now: Instant) {
        self.least.record(now.saturating_duration_since(due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_counted_and_so_is_who_comes_early() {
        let start = Instant::now();
        let pace = Pace {
            start,
            offsets_us: [0, 5000, 10_000].into(),
        };
        let mut seen = Interval::default();
        let ms = |ms| start + Duration::from_millis(ms);
        for (place, at) in [(0, ms(40)), (1, ms(5)), (2, ms(1))] {
            seen.came(pace.due(place).unwrap(), at);
        }
        assert_eq!(pace.due(3), None);
        assert_eq!((seen.early, seen.behind.len()), (1, 3));
        assert_eq!(seen.behind.at_least(40_000), 1);
        seen.released(pace.due(1).unwrap(), ms(25));
        assert_eq!(seen.least.at_least(20_000), 1);
    }
}
