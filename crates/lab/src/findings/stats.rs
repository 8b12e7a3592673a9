//! Medians, percentiles, and the interval of a paired ratio.
//!
//! Ratios are Hodges–Lehmann estimates on paired log-ratios: the median of all means of two differences. The interval
//! inverts the Wilcoxon signed-rank test. Both are in Hollander, Wolfe and Chicken, *Nonparametric Statistical
//! Methods*, 3rd ed., §3.2–3.3. `processes` widens the interval where processes differ. Measurements of one block share the machine's drift; their ratio does not contain it.

use serde::Serialize;

use super::processes::{self, Sample};

/// The confidence that an interval aims at.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest pairs that can carry an interval of [`CONFIDENCE`]: with five, even the full range covers
/// only 1 − 2/2⁵ = 93.75 %.
pub const FEWEST_PAIRS: usize = 6;

/// Two speeds that surely differ by no more than this are called the same.
pub const EQUIVALENT: f64 = 0.02;

/// Above this many differences the distribution of the rank sum is taken as normal.
const EXACT_UP_TO: usize = 100;

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// How many measurements (or pairs of them) it rests on.
    pub samples: usize,
    /// The probability that such an interval holds the truth, at least 0.95. Null if there are fewer than six
    /// samples; the interval is then the range of the samples.
    pub confidence: Option<f64>,
}

impl Estimate {
    /// The estimate and its interval through a growing function, which keeps medians and coverage.
    pub fn map(self, growing: impl Fn(f64) -> f64) -> Estimate {
        Estimate {
            value: growing(self.value),
            low: growing(self.low),
            high: growing(self.high),
            ..self
        }
    }
}

/// The statements that a ratio allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// The whole interval is above what is called the same.
    More,
    /// The whole interval is below it.
    Less,
    /// The whole interval is within it.
    Same,
    /// The interval leaves more than one of these open.
    Unclear,
    /// There are too few rounds for an interval.
    TooFew,
}

impl Estimate {
    /// The statement about a ratio compared with `than` (1 for two of a kind).
    pub fn against(&self, than: f64) -> Statement {
        let (low, high) = (self.low / than, self.high / than);
        match self.confidence {
            None => Statement::TooFew,
            Some(_) if low > 1.0 + EQUIVALENT => Statement::More,
            Some(_) if high < 1.0 - EQUIVALENT => Statement::Less,
            Some(_) if low >= 1.0 - EQUIVALENT && high <= 1.0 + EQUIVALENT => Statement::Same,
            Some(_) => Statement::Unclear,
        }
    }
}

/// The middle of the values; none without values.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(&sorted(values.to_vec()), 0.5)
}

/// The value below which a share `q` (0 to 1) of the ascending values lies, interpolated linearly;
/// none without values.
pub fn percentile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (position.floor() as usize, position.ceil() as usize);
    let share = position - position.floor();
    Some(ascending[below] + (ascending[above] - ascending[below]) * share)
}

/// The Hodges–Lehmann estimate of the centre of `differences`, with a signed-rank interval of at least this confidence. None
/// without differences, or when one is not finite.
pub fn centre_at(differences: &[f64], confidence: f64) -> Option<Estimate> {
    let means = walsh_means(differences);
    let samples = differences.len();
    between(&means, samples, interval_rank(samples, confidence))
}

/// The median of ascending values with an interval of this confidence. It reaches from the value of this rank to the
/// value of the same rank from the end. Without a rank it is the whole range. None without values, or if one is not
/// finite.
pub(super) fn between(
    ascending: &[f64],
    samples: usize,
    rank: Option<(usize, f64)>,
) -> Option<Estimate> {
    if ascending.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let value = percentile(ascending, 0.5)?;
    let end = rank.map_or(1, |(rank, _)| rank);
    Some(Estimate {
        value,
        low: ascending[end - 1],
        high: ascending[ascending.len() - end],
        samples,
        confidence: rank.map(|(_, confidence)| confidence),
    })
}

/// The centre of positive values on the scale of ratios, with its interval: for speeds of one cell.
///
/// None without values, or when one is not a positive number.
pub fn centre(values: &[Sample]) -> Option<Estimate> {
    processes::ratio(values, CONFIDENCE)
}

/// A ratio where `together` of them are compared, from the ratios of all blocks: each interval is so wide that all of
/// them hold the truth with [`CONFIDENCE`] (Bonferroni).
///
/// None without ratios, or when one is not a positive number.
pub fn ratio_of(ratios: &[Sample], together: usize) -> Option<Estimate> {
    let each = 1.0 - (1.0 - CONFIDENCE) / together.max(1) as f64;
    processes::ratio(ratios, each)
}

pub(super) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The means of all pairs of differences, each with itself included, in ascending order.
fn walsh_means(differences: &[f64]) -> Vec<f64> {
    let mut means = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (i, a) in differences.iter().enumerate() {
        means.extend(differences[i..].iter().map(|b| (a + b) / 2.0));
    }
    sorted(means)
}

/// Which Walsh mean, counted from 1 from either end, bounds the interval, and what the interval then
/// covers; none when no interval of that confidence exists.
fn interval_rank(n: usize, confidence: f64) -> Option<(usize, f64)> {
    if n > EXACT_UP_TO && confidence == CONFIDENCE {
        return Some((normal_rank(n), CONFIDENCE));
    }
    rank_within(rank_sum_distribution(n), confidence)
}

/// How many of these probabilities, from the least value on, lie outside of an interval of this confidence. Also the
/// confidence that the interval then has. None if there is no such interval.
pub(super) fn rank_within(probabilities: Vec<f64>, confidence: f64) -> Option<(usize, f64)> {
    let tail = (1.0 - confidence) / 2.0;
    let (mut below, mut rank) = (0.0, 0);
    for probability in probabilities {
        if below + probability > tail {
            break;
        }
        below += probability;
        rank += 1;
    }
    (rank > 0).then_some((rank, 1.0 - 2.0 * below))
}

/// The probabilities of the signed-rank sums 0, 1, 2, … when every sign is a fair coin.
fn rank_sum_distribution(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..probabilities.len()).rev() {
            let with = if sum >= rank {
                probabilities[sum - rank]
            } else {
                0.0
            };
            probabilities[sum] = (probabilities[sum] + with) / 2.0;
        }
    }
    probabilities
}

fn normal_rank(n: usize) -> usize {
    const QUANTILE_97_5: f64 = 1.959_964;
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    (mean - QUANTILE_97_5 * deviation).floor() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
        paired_ratio_of(pairs, 1)
    }

    /// Each pair from a process of its own.
    fn paired_ratio_of(pairs: &[(f64, f64)], together: usize) -> Option<Estimate> {
        let ratios: Vec<Sample> = pairs
            .iter()
            .zip(0..)
            .map(|((a, b), index)| (a / b, index))
            .collect();
        ratio_of(&ratios, together)
    }

    #[test]
    fn percentiles_interpolate() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(percentile(&hundred, 0.99), Some(99.0));
        assert_eq!(percentile(&[10.0, 20.0], 0.25), Some(12.5));
    }

    /// Critical values of the signed-rank test at 2.5 % a side, by number of pairs. The interval starts one mean
    /// further in.
    #[test]
    fn ranks_are_those_of_the_published_tables() {
        let published = [
            (6, 0),
            (7, 2),
            (8, 3),
            (9, 5),
            (10, 8),
            (11, 10),
            (12, 13),
            (20, 52),
            (30, 137),
        ];
        for (n, critical) in published {
            let (rank, confidence) = interval_rank(n, CONFIDENCE).unwrap();
            assert_eq!(rank, critical + 1, "{n} pairs");
            assert!(confidence >= CONFIDENCE);
        }
        assert!((interval_rank(6, CONFIDENCE).unwrap().1 - 0.96875).abs() < 1e-12);
        for n in 1..FEWEST_PAIRS {
            assert_eq!(
                interval_rank(n, CONFIDENCE),
                None,
                "{n} pairs cannot carry a 95 % interval"
            );
        }
    }

    #[test]
    fn the_normal_ranks_continue_the_exact_ones() {
        let exact = interval_rank(EXACT_UP_TO, CONFIDENCE).unwrap().0;
        assert!(exact.abs_diff(normal_rank(EXACT_UP_TO)) <= 2);
        assert!(interval_rank(EXACT_UP_TO + 1, CONFIDENCE).unwrap().0 > exact);
    }

    /// Hollander and Wolfe's depression data (Hamilton scale after − before). The estimate is −0.46. With 9 pairs,
    /// the 95 % interval goes from the 6th to the 40th Walsh mean.
    #[test]
    #[allow(clippy::approx_constant, reason = "3.14 is a patient's score")]
    fn a_textbook_example_comes_out() {
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = before.iter().zip(after).map(|(b, a)| a - b).collect();
        let estimate = centre_at(&differences, CONFIDENCE).unwrap();
        assert!((estimate.value - -0.46).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.low - -0.786).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.high - -0.010).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn few_pairs_give_the_full_range_and_say_so() {
        let ratio = paired_ratio(&[(2.0, 1.0), (4.0, 1.0), (8.0, 1.0)]).unwrap();
        assert_eq!(ratio.confidence, None);
        assert!((ratio.value - 4.0).abs() < 1e-9);
        assert!((ratio.low - 2.0).abs() < 1e-9 && (ratio.high - 8.0).abs() < 1e-9);
    }

    #[test]
    fn the_same_is_said_only_where_the_whole_interval_is_within_two_percent() {
        let of = |low: f64, high: f64| {
            let estimate = Estimate {
                value: 1.0,
                low,
                high,
                samples: 12,
                confidence: Some(0.95),
            };
            estimate.against(1.0)
        };
        assert_eq!(of(0.985, 1.015), Statement::Same);
        assert_eq!(of(0.73, 1.36), Statement::Unclear);
        assert_eq!(of(1.001, 1.05), Statement::Unclear);
        assert_eq!(of(1.03, 1.05), Statement::More);
        assert_eq!(of(0.90, 0.97), Statement::Less);
        let few = paired_ratio(&[(1.0, 1.0); 5]).unwrap();
        assert_eq!(few.against(1.0), Statement::TooFew);
    }

    /// Ratios that are compared together need wider intervals, and so more rounds before there is one at all.
    #[test]
    fn of_many_ratios_each_has_a_wider_interval() {
        let mut random = StdRng::seed_from_u64(5);
        let pairs: Vec<(f64, f64)> = (0..24)
            .map(|_| (noise(&mut random), noise(&mut random)))
            .collect();
        let (one, many) = (
            paired_ratio(&pairs).unwrap(),
            paired_ratio_of(&pairs, 24).unwrap(),
        );
        assert_eq!(one.value, many.value);
        assert!(many.low < one.low && one.high < many.high);
        assert!(many.confidence.unwrap() >= 1.0 - 0.05 / 24.0);
        let few = &pairs[..FEWEST_PAIRS];
        assert!(paired_ratio(few).unwrap().confidence.is_some());
        assert_eq!(paired_ratio_of(few, 24).unwrap().confidence, None);
    }

    /// Twelve ratios of equals: in all but one run of twenty, none of the twelve intervals misses the truth.
    #[test]
    fn ratios_that_are_compared_together_err_together() {
        let mut random = StdRng::seed_from_u64(9);
        let (together, runs) = (12, 300);
        let mut errs = |judged: usize| {
            let mut misses = || {
                let pairs: Vec<(f64, f64)> = (0..24)
                    .map(|_| (noise(&mut random), noise(&mut random)))
                    .collect();
                let ratio = paired_ratio_of(&pairs, judged).unwrap();
                ratio.low > 1.0 || ratio.high < 1.0
            };
            // Every ratio is made, so that both ways see as many.
            (0..together).filter(|_| misses()).count() > 0
        };
        let together_err = (0..runs).filter(|_| errs(together)).count();
        let alone_err = (0..runs).filter(|_| errs(1)).count();
        assert!(together_err <= runs * 8 / 100, "{together_err} of {runs}");
        assert!(alone_err > runs / 4, "{alone_err} of {runs}");
    }

    #[test]
    fn nothing_done_has_no_ratio() {
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(paired_ratio(&[(0.0, 1.0)]), None);
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
        assert_eq!(centre(&[(5.0, 0), (-1.0, 1)]), None);
    }

    /// The machine gets 6 % slower over the run, with 2 % noise and 10 % slow outliers. Paired blocks must hold the
    /// true ratio in at least 93 of 100 runs (95 % less what chance allows in 1,500 runs).
    #[test]
    fn the_interval_covers_the_truth_under_drift() {
        let mut random = StdRng::seed_from_u64(7);
        let (truth, runs) = (1.3, 1_500);
        let covered = (0..runs)
            .filter(|_| {
                let pairs: Vec<(f64, f64)> = (0..12)
                    .map(|block| {
                        let drift = 1.0 - 0.06 * f64::from(block) / 12.0;
                        (
                            drift * truth * noise(&mut random),
                            drift * noise(&mut random),
                        )
                    })
                    .collect();
                let ratio = paired_ratio(&pairs).unwrap();
                ratio.low <= truth && truth <= ratio.high
            })
            .count();
        assert!(covered >= runs * 93 / 100, "covered {covered} of {runs}");
        assert!(
            covered < runs,
            "an interval that always holds the truth says nothing"
        );
    }

    /// Two equal clients on that machine. Measured one after the other, the drift names a winner in many runs. In
    /// blocks it does so no more often than a 95 % interval may err.
    #[test]
    fn drift_makes_false_winners_unless_rounds_interleave() {
        let mut random = StdRng::seed_from_u64(8);
        let (rounds, runs) = (12_u32, 1_500);
        let mut speed = |index: u32| {
            (1.0 - 0.06 * f64::from(index) / f64::from(2 * rounds)) * noise(&mut random)
        };
        let (mut apart, mut interleaved) = (0, 0);
        for _ in 0..runs {
            let one_by_one: Vec<(f64, f64)> = (0..rounds)
                .map(|round| (speed(round), speed(rounds + round)))
                .collect();
            let in_blocks: Vec<(f64, f64)> = (0..rounds)
                .map(|round| match round % 2 {
                    0 => (speed(2 * round), speed(2 * round + 1)),
                    _ => {
                        let second = speed(2 * round);
                        (speed(2 * round + 1), second)
                    }
                })
                .collect();
            apart += usize::from(names_a_winner(&one_by_one));
            interleaved += usize::from(names_a_winner(&in_blocks));
        }
        assert!(apart > runs / 4, "{apart} of {runs}");
        assert!(interleaved <= runs * 7 / 100, "{interleaved} of {runs}");
    }

    fn names_a_winner(pairs: &[(f64, f64)]) -> bool {
        let ratio = paired_ratio(pairs).unwrap();
        ratio.low > 1.0 || ratio.high < 1.0
    }

    fn noise(random: &mut StdRng) -> f64 {
        let uniform: f64 = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let slow = if random.random::<f64>() < 0.1 {
            0.9
        } else {
            1.0
        };
        (0.02 * uniform).exp() * slow
    }

    proptest! {
        #[test]
        fn the_estimate_lies_in_its_interval_and_in_the_range(values in prop::collection::vec(-1e3..1e3f64, 1..40)) {
            let e = centre_at(&values, CONFIDENCE).unwrap();
            let (least, most) = (sorted(values.clone())[0], *sorted(values.clone()).last().unwrap());
            prop_assert!(least <= e.low && e.low <= e.value && e.value <= e.high && e.high <= most);
            prop_assert_eq!(e.confidence.is_some(), values.len() >= FEWEST_PAIRS);
        }

        #[test]
        fn a_shift_of_the_data_shifts_the_estimate(values in prop::collection::vec(-1e3..1e3f64, 1..20), shift in -1e3..1e3f64) {
            let moved: Vec<f64> = values.iter().map(|v| v + shift).collect();
            let (here, there) = (centre_at(&values, CONFIDENCE).unwrap(), centre_at(&moved, CONFIDENCE).unwrap());
            prop_assert!((there.value - here.value - shift).abs() < 1e-6);
            prop_assert!((there.high - there.low - (here.high - here.low)).abs() < 1e-6);
        }

        #[test]
        fn swapping_the_pairs_inverts_the_ratio(pairs in prop::collection::vec((0.1..1e4f64, 0.1..1e4f64), 1..20)) {
            let swapped: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
            let (there, back) = (paired_ratio(&pairs).unwrap(), paired_ratio(&swapped).unwrap());
            prop_assert!((there.value * back.value - 1.0).abs() < 1e-6);
            prop_assert!((there.low * back.high - 1.0).abs() < 1e-6);
        }

        #[test]
        fn percentiles_never_fall(values in prop::collection::vec(-1e3..1e3f64, 1..50), a in 0.0..1.0f64, b in 0.0..1.0f64) {
            let ascending = sorted(values);
            let (a, b) = (a.min(b), a.max(b));
            prop_assert!(percentile(&ascending, a).unwrap() <= percentile(&ascending, b).unwrap());
        }
    }
}
