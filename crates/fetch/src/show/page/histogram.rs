//! A histogram of times with all quantiles, a thousandth off at most (HdrHistogram, three significant digits).

use hdrhistogram::Histogram as Counts;

/// The longest time that differs from longer ones, in microseconds: a day.
const LONGEST: u64 = 24 * 60 * 60 * 1_000_000;

/// How often each length of time was seen.
#[derive(Clone, Debug)]
pub(super) struct Histogram(Counts<u64>);

impl Default for Histogram {
    fn default() -> Histogram {
        let counts = Counts::new_with_bounds(1, LONGEST, 3);
        Histogram(counts.expect("the bounds are valid"))
    }
}

impl Histogram {
    /// Counts a time in milliseconds; one that is not above 0 was not spent.
    pub(super) fn add(&mut self, ms: f64) {
        if !ms.is_finite() || ms <= 0.0 {
            return;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and a float too large becomes the largest number"
        )]
        let microseconds = (ms * 1000.0).round() as u64;
        self.0.saturating_record(microseconds.max(1));
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len()
    }

    /// The longest time, in milliseconds.
    pub(super) fn longest(&self) -> f64 {
        milliseconds(self.0.max())
    }

    /// The time that this share of them is within, in milliseconds: never below the true one, and a thousandth above it
    /// at most.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let found = self.0.value_at_quantile(share).min(self.0.max());
        (self.count() > 0).then(|| milliseconds(found))
    }
}

fn milliseconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_near(mut times in proptest::collection::vec(0.1..1e6_f64, 1..200), share in 0.01..1.0_f64) {
            let mut histogram = Histogram::default();
            times.iter().for_each(|time| histogram.add(*time));
            times.sort_by(f64::total_cmp);
            let index = ((times.len() as f64 * share).max(1.0).ceil() as usize - 1).min(times.len() - 1);
            let found = histogram.quantile(share).unwrap();
            // Half a microsecond is lost by rounding.
            prop_assert!(found >= times[index] - 0.0005, "{} {}", found, times[index]);
            prop_assert!(found <= times[index] * 1.001 + 0.0005, "{} {}", found, times[index]);
        }
    }

    #[test]
    fn no_quantile_is_below_the_shortest_time() {
        let mut histogram = Histogram::default();
        for time in [100.4, 100.5, 103.0] {
            histogram.add(time);
        }
        let median = histogram.quantile(0.5).unwrap();
        assert!((100.5..100.61).contains(&median), "{median}");
    }

    #[test]
    fn what_is_no_time_is_not_counted() {
        let mut histogram = Histogram::default();
        for time in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            histogram.add(time);
        }
        assert_eq!((histogram.count(), histogram.quantile(0.5)), (0, None));
        histogram.add(1e300);
        assert!(histogram.longest() >= LONGEST as f64 / 1000.0);
    }
}
