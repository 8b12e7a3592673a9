//! Compares many rows with each other at once. Each row gets an interval of its speed, and two rows differ if their
//! intervals do not overlap. All of these statements together are wrong in at most 5 % of experiments.
//!
//! A row's figure in a block is the logarithm of its speed without what the block did to all rows. Its centre is the
//! trimmed mean of these, its error that of Yuen (*The Two-Sample Trimmed t for Unequal Population Variances*,
//! Biometrika 1974). Simulation gives the width of the intervals. It repeats experiments with equal numbers of rows,
//! rounds and processes, equal scatter in each row and no difference between rows. In 95 % of them all intervals
//! overlap (the maximum over all pairs: Westfall and Young, *Resampling-Based Multiple Testing*, 1993).

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::stats::{CONFIDENCE, EQUIVALENT, FEWEST_PAIRS, median, percentile};

/// Experiments without a difference that are simulated to learn how far chance goes.
const SIMULATED: usize = 500;

/// One round in this number is left out at either end.
const TRIMMED: usize = 8;

/// Rows that were measured in the same blocks, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    /// One for each row, as logarithms; empty with too few rounds for a statement.
    intervals: Vec<(f64, f64)>,
}

/// The rounds of a row in a few numbers.
struct Summary {
    centre: f64,
    error: f64,
}

impl Family {
    /// Compares rows, each the logarithms of its speeds, block by block; `invocations` names the process of each block.
    pub fn new(rows: &[Vec<f64>], invocations: &[u32]) -> Family {
        let blocks = invocations.len();
        let usable = |row: &Vec<f64>| row.len() == blocks && row.iter().all(|log| log.is_finite());
        if rows.len() < 2 || blocks < FEWEST_PAIRS || !rows.iter().all(usable) {
            return Family::default();
        }
        let width = width(&scatter(rows), invocations);
        let interval = |row: &Summary| {
            let half = width * row.error + (1.0 + EQUIVALENT).ln() / 2.0;
            (row.centre - half, row.centre + half)
        };
        let summaries = summaries(rows, invocations);
        Family {
            intervals: summaries.iter().map(interval).collect(),
        }
    }

    /// Whether a difference of more than what is called the same is sure; none with too few rounds.
    pub fn apart(&self, one: usize, other: usize) -> Option<bool> {
        let (one, other) = (self.intervals.get(one)?, self.intervals.get(other)?);
        Some(one.1 < other.0 || other.1 < one.0)
    }

    /// Letters for each row, `a` for the fastest; two rows share one exactly when they are not apart. Empty with too
    /// few rounds.
    ///
    /// Rows that all overlap have a point in common, so each letter stands for one point, from the highest down.
    pub fn letters(&self) -> Vec<String> {
        let mut points: Vec<f64> = self.intervals.iter().map(|(low, _)| *low).collect();
        points.sort_unstable_by(|a, b| b.total_cmp(a));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for point in points {
            let met =
                |row: &usize| (self.intervals[*row].0..=self.intervals[*row].1).contains(&point);
            let group: Vec<usize> = (0..self.intervals.len()).filter(met).collect();
            let contains = |last: &mut Vec<usize>| last.iter().all(|row| group.contains(row));
            groups.pop_if(contains);
            let known = |last: &Vec<usize>| group.iter().all(|row| last.contains(row));
            if !groups.last().is_some_and(known) {
                groups.push(group);
            }
        }
        let of_row = |row: usize| {
            let places = 0..groups.len();
            let own = places.filter(|place| groups[*place].contains(&row));
            words(&own.collect::<Vec<_>>())
        };
        (0..self.intervals.len()).map(of_row).collect()
    }

    /// The difference that two typical rows must have to be told apart, as a share; none with too few rounds.
    pub fn resolution(&self) -> Option<f64> {
        let widths = self.intervals.iter().map(|(low, high)| high - low);
        let widths: Vec<f64> = widths.collect();
        Some(median(&widths)?.exp() - 1.0)
    }
}

/// The letters of these positions, which follow one another: `a`, `bc`, or `b–f` for more than three.
fn words(positions: &[usize]) -> String {
    match positions {
        [first, _, _, .., last] => format!("{}–{}", letter(*first), letter(*last)),
        few => few.iter().map(|place| letter(*place)).collect(),
    }
}

/// `a` to `z`, then `A` to `Z`, then `a2` and so on.
fn letter(place: usize) -> String {
    let letters = (b'a'..=b'z').chain(b'A'..=b'Z').map(char::from);
    let letter = letters.cycle().nth(place).unwrap_or('a');
    match place / 52 {
        0 => letter.to_string(),
        again => format!("{letter}{}", again + 1),
    }
}

/// The centre and error of each row. One that scatters less than a typical one, by chance, is treated as a typical one.
fn summaries(rows: &[Vec<f64>], invocations: &[u32]) -> Vec<Summary> {
    let (centred, means) = residuals(rows);
    let inflation = luck_of_processes(&centred, invocations);
    let summary = |(mut row, mean): (Vec<f64>, f64)| {
        let (centre, error) = trimmed(&mut row);
        let centre = mean + centre;
        Summary { centre, error }
    };
    let mut summaries: Vec<Summary> = centred.into_iter().zip(means).map(summary).collect();
    let errors: Vec<f64> = summaries.iter().map(|row| row.error).collect();
    let typical = median(&errors).unwrap_or(0.0);
    for row in &mut summaries {
        row.error = row.error.max(typical) * inflation;
    }
    summaries
}

/// The trimmed mean and its standard error, from the winsorised variance.
fn trimmed(values: &mut [f64]) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let (n, cut) = (values.len(), values.len() / TRIMMED);
    let middle = &values[cut..n - cut];
    let centre = mean(middle);
    let (least, most) = (middle[0], middle[middle.len() - 1]);
    let middle = middle.len() as f64;
    for value in values.iter_mut() {
        *value = value.clamp(least, most);
    }
    (centre, (squares(values) / (middle * (middle - 1.0))).sqrt())
}

/// The residuals of each row, without its own mean and the mean of each block; and the means of the rows.
fn residuals(rows: &[Vec<f64>]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let means: Vec<f64> = rows.iter().map(|row| mean(row)).collect();
    let mut centred = rows.to_vec();
    for block in 0..rows[0].len() {
        let of_rows = rows.iter().zip(&means).map(|(row, mean)| row[block] - mean);
        let of_block = of_rows.sum::<f64>() / rows.len() as f64;
        for (row, mean) in centred.iter_mut().zip(&means) {
            row[block] -= mean + of_block;
        }
    }
    (centred, means)
}

/// The standard deviation of each row's residuals.
fn scatter(rows: &[Vec<f64>]) -> Vec<f64> {
    let deviation = |row: &Vec<f64>| (squares(row) / (row.len() - 1) as f64).sqrt();
    residuals(rows).0.iter().map(deviation).collect()
}

/// The factor by which errors grow because rounds of one process share its luck. It is the root of the variance
/// between processes over that of all rounds, pooled over the rows. It is 1 if processes do not differ.
fn luck_of_processes(residuals: &[Vec<f64>], invocations: &[u32]) -> f64 {
    let processes = invocations.chunk_by(|a, b| a == b).count();
    if processes < 2 || processes == invocations.len() {
        return 1.0;
    }
    let (mut between, mut all) = (0.0, 0.0);
    for row in residuals {
        let mut start = 0;
        for process in invocations.chunk_by(|a, b| a == b) {
            let rounds = &row[start..start + process.len()];
            start += process.len();
            between += rounds.iter().sum::<f64>().powi(2) / rounds.len() as f64;
        }
        all += squares(row);
    }
    let ratio = between / (processes - 1) as f64 / (all / (invocations.len() - 1) as f64);
    ratio.max(1.0).sqrt()
}

/// How many errors an interval reaches to either side so that in 95 % of experiments without a difference all overlap.
fn width(scatter: &[f64], invocations: &[u32]) -> f64 {
    let mut random = StdRng::seed_from_u64(0x1a6);
    let mut rows = vec![vec![0.0; invocations.len()]; scatter.len()];
    let mut widest: Vec<f64> = Vec::with_capacity(SIMULATED);
    for _ in 0..SIMULATED {
        for (row, scatter) in rows.iter_mut().zip(scatter) {
            for rounds in row.chunks_mut(2) {
                for (round, draw) in rounds.iter_mut().zip(normals(&mut random)) {
                    *round = scatter.max(f64::MIN_POSITIVE) * draw;
                }
            }
        }
        widest.push(gap(&summaries(&rows, invocations)));
    }
    widest.sort_unstable_by(f64::total_cmp);
    percentile(&widest, CONFIDENCE).unwrap_or(f64::INFINITY)
}

/// How many errors wide intervals must be for all to overlap.
fn gap(rows: &[Summary]) -> f64 {
    let mut widest: f64 = 0.0;
    for (place, one) in rows.iter().enumerate() {
        for other in &rows[place + 1..] {
            widest = widest.max((one.centre - other.centre).abs() / (one.error + other.error));
        }
    }
    widest
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of the squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Two draws of the standard normal distribution (Box and Muller).
fn normals(random: &mut StdRng) -> [f64; 2] {
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    let radius = (-2.0 * (1.0 - radius).ln()).sqrt();
    let (sine, cosine) = (std::f64::consts::TAU * angle).sin_cos();
    [radius * cosine, radius * sine]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(intervals: &[(f64, f64)]) -> Vec<String> {
        let intervals = intervals.to_vec();
        Family { intervals }.letters()
    }

    #[test]
    fn rows_share_a_letter_exactly_when_their_intervals_meet() {
        assert_eq!(of(&[(2.0, 3.0), (0.0, 1.0)]), ["a", "b"]);
        assert_eq!(of(&[(2.0, 4.0), (1.0, 3.0), (0.0, 1.5)]), ["a", "ab", "b"]);
        assert_eq!(of(&[(4.0, 5.0), (2.0, 3.0), (0.0, 9.0)]), ["a", "b", "ab"]);
        assert_eq!(of(&[]), Vec::<String>::new());
        let ladder: Vec<(f64, f64)> = (0..60).map(|n| (f64::from(-n), f64::from(-n))).collect();
        let mut ladder = ladder;
        ladder.push((-70.0, 0.0));
        let letters = of(&ladder);
        assert_eq!(
            (&*letters[26], &*letters[52], &*letters[60]),
            ("A", "a2", "a–h2")
        );
    }

    proptest! {
        #[test]
        fn letters_say_what_the_intervals_say(ends in proptest::collection::vec((0..12_i32, 0..4_i32), 1..9)) {
            let intervals: Vec<(f64, f64)> =
                ends.iter().map(|(low, width)| (f64::from(*low), f64::from(low + width))).collect();
            let family = Family { intervals };
            let groups = family.letters();
            let positions = |text: &str| -> Vec<char> {
                match text.split_once('–') {
                    Some((from, to)) => (from.chars().next().unwrap()..=to.chars().next().unwrap()).collect(),
                    None => text.chars().collect(),
                }
            };
            for one in 0..groups.len() {
                for other in 0..groups.len() {
                    let (a, b) = (positions(&groups[one]), positions(&groups[other]));
                    let shared = a.iter().any(|letter| b.contains(letter));
                    prop_assert_eq!(shared, one == other || family.apart(one, other) == Some(false));
                }
            }
        }
    }
}
