//! The clock of leases. It runs while the machine sleeps, so that a worker that wakes up finds its leases expired.
//! The clock of `std::time::Instant` stops then on Linux.

use std::ops::Add;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::CLOCK_BOOTTIME;

/// Elsewhere this one does not stop.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::CLOCK_MONOTONIC;

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        // A system that has the clock can read it.
        let now = clock_gettime(CLOCK).map(Duration::from);
        Moment(now.unwrap_or_default())
    }

    /// The time since then; none before it.
    pub fn since(self, earlier: Moment) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, time: Duration) -> Moment {
        Moment(self.0 + time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_on() {
        let before = Moment::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(Moment::now().since(before) >= Duration::from_millis(2));
        assert_eq!(
            before.since(before + Duration::from_secs(1)),
            Duration::ZERO
        );
    }
}
