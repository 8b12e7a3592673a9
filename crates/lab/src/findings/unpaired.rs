//! How much faster one set of rounds is than another that ran at another time: no blocks in common, so
//! no pairs.
//!
//! The Hodges–Lehmann shift of the logarithms (the median of all differences), with the interval that inverts
//! the rank-sum test of Mann, Whitney and Wilcoxon (Hollander, Wolfe and Chicken, §4.2–4.3).

use super::processes::{Reach, Sample, widened};
use super::stats::{CONFIDENCE, Estimate, between, rank_within, sorted};

/// Above this many rounds on a side the distribution of the rank sum is taken as normal.
const EXACT_UP_TO: usize = 40;

/// How many times larger the values of `new` are than those of `old`.
///
/// Where a side has several rounds of a process, the interval reaches as far as its processes differ.
///
/// None without values, or when one is not a positive number.
pub fn unpaired_ratio(new: &[Sample], old: &[Sample]) -> Option<Estimate> {
    let shifts = new
        .iter()
        .flat_map(|a| old.iter().map(move |b| (a.0 / b.0).ln()));
    let shifts = sorted(shifts.collect());
    let rank = interval_rank(new.len(), old.len());
    let estimate = between(&shifts, new.len().min(old.len()), rank)?;
    let reach = |side: &[Sample]| {
        let logs = side.iter().map(|(value, process)| (value.ln(), *process));
        Reach::of(&logs.collect::<Vec<Sample>>())
    };
    let estimate = widened(estimate, &[reach(new), reach(old)], CONFIDENCE);
    Some(estimate.map(f64::exp))
}

/// Which difference, counted from 1 from either end, bounds the interval, and what it then covers; none
/// when no interval of [`CONFIDENCE`] exists.
fn interval_rank(m: usize, n: usize) -> Option<(usize, f64)> {
    if m.max(n) > EXACT_UP_TO {
        return Some((normal_rank(m as f64, n as f64), CONFIDENCE));
    }
    rank_within(distribution(m, n), CONFIDENCE)
}

/// The probabilities of U = 0, 1, 2, … of m·n pairs when both sets are alike.
///
/// The number of ways is the coefficient of a Gaussian binomial, built up one factor at a time.
fn distribution(m: usize, n: usize) -> Vec<f64> {
    let mut ways = vec![0.0; m * n + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        // × (1 − q^(m+i)), then ÷ (1 − q^i).
        for sum in (m + i..ways.len()).rev() {
            ways[sum] -= ways[sum - m - i];
        }
        for sum in i..ways.len() {
            ways[sum] += ways[sum - i];
        }
    }
    let all: f64 = ways.iter().sum();
    ways.iter().map(|count| count / all).collect()
}

fn normal_rank(m: f64, n: f64) -> usize {
    const QUANTILE_97_5: f64 = 1.959_964;
    let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
    (m * n / 2.0 - QUANTILE_97_5 * deviation).floor().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Published two-sided 5 % critical values of the Mann–Whitney U, whose next integer is the rank.
    #[test]
    fn ranks_are_those_of_the_published_tables() {
        for (m, n, critical) in [
            (4, 4, 0),
            (5, 5, 2),
            (6, 6, 5),
            (8, 8, 13),
            (12, 12, 37),
            (20, 20, 127),
            (5, 10, 8),
        ] {
            assert_eq!(interval_rank(m, n).unwrap().0, critical + 1, "{m} and {n}");
        }
        assert_eq!(
            interval_rank(3, 3),
            None,
            "three and three cannot carry 95 %"
        );
    }

    #[test]
    fn the_normal_ranks_continue_the_exact_ones() {
        let exact = interval_rank(EXACT_UP_TO, EXACT_UP_TO).unwrap().0;
        assert!(exact.abs_diff(normal_rank(EXACT_UP_TO as f64, EXACT_UP_TO as f64)) <= 3);
    }

    #[test]
    fn the_interval_covers_the_truth() {
        let mut random = StdRng::seed_from_u64(3);
        let mut noisy = |speed: f64| -> Vec<Sample> {
            (0..6)
                .map(|process| {
                    (
                        speed * (1.0 + 0.05 * (random.random::<f64>() - 0.5)),
                        process,
                    )
                })
                .collect()
        };
        let runs = 1_000;
        let covered = (0..runs)
            .filter(|_| {
                let ratio = unpaired_ratio(&noisy(1.2), &noisy(1.0)).unwrap();
                ratio.low <= 1.2 && 1.2 <= ratio.high
            })
            .count();
        assert!(
            (runs * 93 / 100..runs).contains(&covered),
            "{covered} of {runs}"
        );
    }

    #[test]
    fn nothing_done_has_no_ratio() {
        assert_eq!(unpaired_ratio(&[], &[(1.0, 0)]), None);
        assert_eq!(unpaired_ratio(&[(1.0, 0)], &[(0.0, 0)]), None);
    }
}
