//! Whether a body comes as quickly as `--min-speed` demands.

use std::time::Instant;

use crate::job::MinSpeed;

/// How many bytes a body has brought in the current time.
pub(super) struct Speed {
    least: MinSpeed,
    since: Instant,
    bytes: u64,
}

impl Speed {
    /// That of a body which begins.
    pub fn new(least: MinSpeed, now: Instant) -> Speed {
        Speed {
            least,
            since: now,
            bytes: 0,
        }
    }

    /// Counts a piece; false if the time that ends with it brought too little.
    pub fn is_enough(&mut self, piece: usize, now: Instant) -> bool {
        self.bytes += piece as u64;
        if now.saturating_duration_since(self.since) < self.least.time {
            return true;
        }
        let is_enough = self.bytes >= self.least.bytes;
        (self.since, self.bytes) = (now, 0);
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_time_must_bring_its_bytes() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut speed = Speed::new("100/10s".parse().unwrap(), begun);
        for (seconds, piece, expected) in [
            (1, 1, true),
            (9, 98, true),
            (10, 1, true),
            (19, 0, true),
            (21, 99, false),
            (40, 100, true),
        ] {
            assert_eq!(speed.is_enough(piece, at(seconds)), expected, "{seconds}");
        }
    }
}
