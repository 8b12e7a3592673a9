//! Times counted in steps of a twelfth, so that a few hundred counters tell any quantile.

/// Steps between one time and its double.
const STEPS: f64 = 6.0;

/// The shortest time that is told from 0, in milliseconds.
const SHORTEST: f64 = 0.001;

const SIZE: usize = 240;

/// How often each length of time was seen.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    counts: Box<[u64; SIZE]>,
    all: u64,
    longest: f64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            counts: Box::new([0; SIZE]),
            all: 0,
            longest: 0.0,
        }
    }
}

impl Histogram {
    /// Counts a time in milliseconds; one that is not above 0 was not spent.
    pub(super) fn add(&mut self, ms: f64) {
        if !ms.is_finite() || ms <= 0.0 {
            return;
        }
        let step = ((ms / SHORTEST).log2() * STEPS)
            .floor()
            .clamp(0.0, (SIZE - 1) as f64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped"
        )]
        let index = step as usize;
        self.counts[index] += 1;
        self.all += 1;
        self.longest = self.longest.max(ms);
    }

    pub(super) fn count(&self) -> u64 {
        self.all
    }

    pub(super) fn longest(&self) -> f64 {
        self.longest
    }

    /// The time that this share of them is within, 6 % off at most.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (self.all as f64 * share).max(1.0);
        let mut seen = 0.0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += *count as f64;
            if *count > 0 && seen >= wanted {
                let middle = ((index as f64 + 0.5) / STEPS).exp2() * SHORTEST;
                return Some(middle.min(self.longest));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_near(mut times in proptest::collection::vec(0.01..1e6_f64, 1..200), share in 0.01..1.0_f64) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|time| histogram.add(*time));
            times.sort_by(f64::total_cmp);
            let index = ((times.len() as f64 * share).max(1.0).ceil() as usize - 1).min(times.len() - 1);
            let found = histogram.quantile(share).unwrap();
            prop_assert!((found / times[index] - 1.0).abs() < 0.065, "{} {}", found, times[index]);
        }
    }

    #[test]
    fn what_is_no_time_is_not_counted() {
        let mut histogram = Histogram::default();
        for time in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            histogram.add(time);
        }
        assert_eq!((histogram.count(), histogram.quantile(0.5)), (0, None));
        histogram.add(1e300);
        assert_eq!(histogram.longest(), 1e300);
    }
}
