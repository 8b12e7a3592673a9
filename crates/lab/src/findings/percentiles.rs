//! The latencies of a row as percentiles from p50 to p99.9, each with its interval.

use hecaton_test_server::Times;
use serde::{Serialize, Serializer};

/// The percentiles that are reported.
const PERCENTS: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];

/// All latencies of a row, summed up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// How many latencies there are.
    pub n: u64,
    /// Pairs of a percentile and its latency in milliseconds, ascending. Percentiles that need more latencies are
    /// absent.
    #[serde(rename = "ms", serialize_with = "pairs")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<(f64, f64)>"))]
    pub at: Vec<Percentile>,
}

/// A percentile: this share of the latencies is at most so long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// The percentile, as in 99.9.
    pub percent: f64,
    /// The latency in milliseconds.
    pub ms: f64,
    /// Lower end of its 95 % confidence interval, as if all latencies were independent.
    pub low_ms: f64,
    /// Upper end of that interval.
    pub high_ms: f64,
}

/// Leaves the intervals out, because a document has many rows, and the intervals follow from its rounds.
fn pairs<S: Serializer>(all: &[Percentile], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(all.iter().map(|it| (it.percent, it.ms)))
}

impl Percentiles {
    /// None without latencies.
    pub(super) fn of(times: &Times) -> Option<Percentiles> {
        let at = PERCENTS
            .iter()
            .filter_map(|percent| percentile(times, *percent));
        let (n, at) = (times.len(), at.collect());
        (n > 0).then_some(Percentiles { n, at })
    }

    /// The percentile `percent`; none if there are too few latencies for it.
    pub fn at(&self, percent: f64) -> Option<&Percentile> {
        self.at.iter().find(|it| it.percent == percent)
    }
}

/// The fewest latencies from which a percentile above the median can be said.
pub(super) fn fewest(percent: f64) -> u64 {
    let share = percent / 100.0;
    (1.96f64.powi(2) * share / (1.0 - share)).floor() as u64 + 1
}

/// A percentile, and its interval from binomial ranks; none if too few latencies are beyond it.
fn percentile(times: &Times, percent: f64) -> Option<Percentile> {
    let share = percent / 100.0;
    let slack = 1.96 * (share * (1.0 - share) / times.len() as f64).sqrt();
    let (low, high) = (share - slack, share + slack);
    let inside = times.len() >= fewest(percent);
    let ms = |share| {
        times
            .quantile(share)
            .filter(|_| inside)
            .map(|us| us.round() / 1e3)
    };
    Some(Percentile {
        percent,
        ms: ms(share)?,
        low_ms: ms(low)?,
        high_ms: ms(high)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_has_an_interval_whose_end_is_below_the_largest_latency() {
        for percent in PERCENTS {
            let share = percent / 100.0;
            let high = |n: u64| share + 1.96 * (share * (1.0 - share) / n as f64).sqrt();
            let fewest = fewest(percent);
            assert!(
                high(fewest) < 1.0 && high(fewest - 1) >= 1.0,
                "{percent}: {fewest}"
            );
        }
        assert_eq!(fewest(99.0), 381);
    }

    #[test]
    fn percentiles_reach_as_far_as_there_are_latencies() {
        let of = |count: u32| Percentiles::of(&(1..=count).collect()).unwrap();
        let last = |count| of(count).at.last().map(|it| it.percent);
        assert_eq!(Percentiles::of(&Times::new()), None);
        assert_eq!(
            (last(1), last(100), last(1000), last(10_000)),
            (None, Some(95.0), Some(99.5), Some(99.9))
        );
        let all = of(10_000);
        assert_eq!(all.n, 10_000);
        let median = all.at(50.0).unwrap();
        assert!(median.low_ms < median.ms && median.ms < median.high_ms);
        for it in &all.at {
            // Buckets keep eight bits, so a time may be off by 1 in 256.
            assert!((it.ms / (it.percent / 10.0) - 1.0).abs() < 0.005, "{it:?}");
            // Neighbouring ranks may share a bucket.
            assert!(it.low_ms <= it.ms && it.ms <= it.high_ms, "{it:?}");
        }
    }
}
