//! Intervals that hold where processes differ: rounds of one process share its luck with memory layout, hash seeds and
//! warm-up, so they say less than as many rounds of as many processes.
//!
//! An interval reaches at least as far as Student's of the means of the processes, which are independent of each other.

use std::collections::BTreeMap;

use super::stats::{self, Estimate};

/// A value, and the process that it comes from.
pub type Sample = (f64, u32);

/// The centre of positive values on the scale of ratios, with an interval of this confidence at least.
///
/// None without values, or when one is not a positive number.
pub fn ratio(samples: &[Sample], confidence: f64) -> Option<Estimate> {
    let logs: Vec<f64> = samples.iter().map(|(value, _)| value.ln()).collect();
    let estimate = stats::centre_at(&logs, confidence)?;
    let of = |(value, process): &Sample| (value.ln(), *process);
    let reach = Reach::of(&samples.iter().map(of).collect::<Vec<_>>());
    Some(widened(estimate, &[reach], confidence).map(f64::exp))
}

/// An interval of a difference of logarithms, widened for the luck of the processes of each side.
pub fn widened(estimate: Estimate, sides: &[Option<Reach>], confidence: f64) -> Estimate {
    let sides: Vec<&Reach> = sides.iter().flatten().collect();
    let variance: f64 = sides.iter().map(|side| side.variance).sum();
    let Some(freedom) = sides.iter().map(|side| side.processes - 1).min() else {
        return estimate;
    };
    let half = student(freedom, confidence) * variance.sqrt();
    Estimate {
        low: estimate.low.min(estimate.value - half),
        high: estimate.high.max(estimate.value + half),
        ..estimate
    }
}

/// How far the mean of all processes may be from the true mean, by the means of the single processes.
pub struct Reach {
    processes: usize,
    /// The variance of the mean of their means.
    variance: f64,
}

impl Reach {
    /// None where there is one process, of whose luck nothing is known, or each value has a process of its own.
    pub fn of(samples: &[Sample]) -> Option<Reach> {
        let mut processes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (value, process) in samples {
            processes.entry(*process).or_default().push(*value);
        }
        let count = processes.len();
        if count < 2 || count == samples.len() {
            return None;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means: Vec<f64> = processes.values().map(|values| mean(values)).collect();
        let centre = mean(&means);
        let squares: f64 = means.iter().map(|value| (value - centre).powi(2)).sum();
        Some(Reach {
            processes: count,
            variance: squares / (count * (count - 1)) as f64,
        })
    }
}

/// The two-sided quantile of Student's distribution.
fn student(freedom: usize, confidence: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        match within(middle, freedom) < confidence {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// The probability that Student's t lies between −t and t (Abramowitz and Stegun, §26.7.3 and §26.7.4).
fn within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = match odd {
        true => (cosine, 0.0),
        false => (1.0, 0.0),
    };
    let mut k = if odd { 1 } else { 0 };
    while k + 2 <= freedom {
        sum += term;
        term *= cosine * cosine * (k + 1) as f64 / (k + 2) as f64;
        k += 2;
    }
    match odd {
        true => (angle + sine * sum) / std::f64::consts::FRAC_PI_2,
        false => sine * sum,
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::super::stats::CONFIDENCE;
    use super::super::unpaired::unpaired_ratio;
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_published_tables() {
        for (freedom, published) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (5, 2.571),
            (10, 2.228),
            (29, 2.045),
        ] {
            let found = student(freedom, CONFIDENCE);
            assert!((found - published).abs() < 6e-4, "{freedom}: {found}");
        }
        assert!((student(4, 0.99) - 4.604).abs() < 6e-4);
    }

    const RUNS: usize = 1_000;
    const ROUNDS: u32 = 12;
    const TRUTH: f64 = 1.3;

    fn normal(random: &mut StdRng) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// The speeds of a side: 2 % of noise in each round, one round in ten slower by 10 %, and so much luck of each
    /// process.
    fn side(random: &mut StdRng, processes: u32, luck: f64) -> Vec<Sample> {
        let lucks: Vec<f64> = (0..processes).map(|_| luck * normal(random)).collect();
        let round = |round: u32| {
            let process = round * processes / ROUNDS;
            let slow = if random.random::<f64>() < 0.1 {
                0.9
            } else {
                1.0
            };
            let log = lucks[process as usize] + 0.02 * normal(random);
            (log.exp() * slow, process)
        };
        (0..ROUNDS).map(round).collect()
    }

    fn paired(random: &mut StdRng, processes: u32, luck: f64) -> Vec<Sample> {
        let (a, b) = (side(random, processes, luck), side(random, processes, luck));
        let both = a.into_iter().zip(b);
        both.map(|((a, process), (b, _))| (TRUTH * a / b, process))
            .collect()
    }

    fn covered(estimate: impl Fn(&mut StdRng) -> Estimate) -> usize {
        let mut random = StdRng::seed_from_u64(11);
        let holds = |estimate: Estimate| estimate.low <= TRUTH && TRUTH <= estimate.high;
        (0..RUNS).filter(|_| holds(estimate(&mut random))).count()
    }

    /// Twelve rounds of six processes, and as many as kept runs have: 95 % less what chance allows in a thousand runs.
    #[test]
    fn intervals_hold_the_truth_where_processes_differ() {
        for processes in [3, 4, 6, 12] {
            for luck in [0.0, 0.03, 0.05] {
                let pairs =
                    covered(|random| ratio(&paired(random, processes, luck), CONFIDENCE).unwrap());
                let runs = covered(|random| {
                    let new: Vec<Sample> = side(random, processes, luck)
                        .into_iter()
                        .map(|(value, process)| (TRUTH * value, process))
                        .collect();
                    unpaired_ratio(&new, &side(random, processes, luck)).unwrap()
                });
                for found in [pairs, runs] {
                    assert!(found >= RUNS * 93 / 100, "{found}: {processes}, {luck}");
                    assert!(
                        found < RUNS,
                        "an interval that always holds the truth says nothing"
                    );
                }
            }
        }
    }

    /// The same rounds, taken as if each had a process of its own: this is what the correction is for.
    #[test]
    fn intervals_that_do_not_know_of_processes_are_too_narrow() {
        let alone = |samples: Vec<Sample>| -> Vec<Sample> {
            let numbered = samples.into_iter().zip(0..);
            numbered
                .map(|((value, _), position)| (value, position))
                .collect()
        };
        let found = covered(|random| ratio(&alone(paired(random, 4, 0.03)), CONFIDENCE).unwrap());
        assert!(found < RUNS * 90 / 100, "{found}");
    }

    /// The correction still leaves enough power: twelve rounds of six equal processes nearly always show a difference of
    /// 10 %.
    #[test]
    fn a_difference_is_still_found() {
        let mut random = StdRng::seed_from_u64(3);
        let reported = (0..100).filter(|_| {
            let samples: Vec<Sample> = paired(&mut random, 6, 0.0)
                .into_iter()
                .map(|(value, process)| (value / TRUTH * 1.10, process))
                .collect();
            ratio(&samples, CONFIDENCE).unwrap().low > 1.0
        });
        assert!(reported.count() >= 90);
    }
}
