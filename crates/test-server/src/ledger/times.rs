//! Times counted in buckets: exact up to 255 µs, above that to eight significant bits.

use std::fmt;
use std::time::Duration;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bits of a time that its bucket keeps.
const BITS: u32 = 8;
/// Buckets of one microsecond each, before they grow.
const EXACT: usize = 1 << BITS;
/// Buckets of each doubling after that.
const STEPS: usize = EXACT / 2;

/// How many times were counted in which bucket. As JSON: pairs of a bucket's lower end in microseconds and its count.
/// Lists of single times are read as well.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Times {
    counts: Vec<u64>,
    total: u64,
}

impl Times {
    /// Nothing counted.
    pub fn new() -> Times {
        Times::default()
    }

    /// Counts one time.
    pub fn record(&mut self, time: Duration) {
        self.add(u32::try_from(time.as_micros()).unwrap_or(u32::MAX), 1);
    }

    /// Counts a time in microseconds `count` times.
    pub fn add(&mut self, us: u32, count: u64) {
        let bucket = bucket(us);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(count);
        self.total = self.total.saturating_add(count);
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Times) {
        other.iter().for_each(|(us, count)| self.add(us, count));
    }

    /// These times, each at least as long as that of the same rank in `floor`, counted from the longest.
    pub fn raised_to(&self, floor: &Times) -> Times {
        let mut own: Vec<(u32, u64)> = self.iter().collect();
        let mut least: Vec<(u32, u64)> = floor.iter().collect();
        let mut raised = Times::new();
        while let Some((us, count)) = own.pop() {
            let (at_least, those) = least.pop().unwrap_or((0, count));
            let both = count.min(those);
            raised.add(us.max(at_least), both);
            own.extend((count > both).then_some((us, count - both)));
            least.extend((those > both).then_some((at_least, those - both)));
        }
        raised
    }

    /// How many were counted.
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The lower end of each bucket in microseconds and its count, ascending, without empty ones.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        let counts = self.counts.iter().enumerate();
        let filled = counts.filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (lower(bucket), *count))
    }

    /// How many are in the bucket of a time, or above it.
    pub fn at_least(&self, us: u32) -> u64 {
        let counts = self.counts.iter().skip(bucket(us));
        counts.fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The quantile of the given share in microseconds, interpolated between the two nearest times. Each time is the
    /// middle of its bucket. None without any times.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = share.clamp(0.0, 1.0) * self.total.saturating_sub(1) as f64;
        let (low, high) = (
            self.ranked(rank.floor() as u64)?,
            self.ranked(rank.ceil() as u64)?,
        );
        Some(low + (high - low) * rank.fract())
    }

    /// The time of a rank, from 0.
    fn ranked(&self, rank: u64) -> Option<f64> {
        let mut before = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            before = u64::saturating_add(before, *count);
            if before > rank {
                return Some(middle(bucket));
            }
        }
        None
    }

    /// The mean in microseconds; none without any.
    pub fn mean(&self) -> Option<f64> {
        let counts = self.counts.iter().enumerate();
        let sum: f64 = counts
            .map(|(bucket, &count)| middle(bucket) * count as f64)
            .sum();
        (!self.is_empty()).then(|| sum / self.total as f64)
    }
}

impl FromIterator<u32> for Times {
    fn from_iter<I: IntoIterator<Item = u32>>(times: I) -> Times {
        let mut counted = Times::new();
        times.into_iter().for_each(|us| counted.add(us, 1));
        counted
    }
}

impl fmt::Debug for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Times, D::Error> {
        deserializer.deserialize_seq(Reader)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Times {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Times".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Times counted in buckets: pairs of a bucket's lower end in microseconds and its count. \
                A number alone is one time.",
            "type": "array",
            "items": {
                "type": ["integer", "array"],
                "minimum": 0,
                "items": { "type": "integer", "minimum": 0 },
                "minItems": 2,
                "maxItems": 2,
            },
        })
    }
}

struct Reader;

/// One element of a list: a time, or a time and its count.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a time is a whole number of microseconds, alone or in a pair with its count"
)]
enum Entry {
    Once(u32),
    Often(u32, u64),
}

impl<'de> Visitor<'de> for Reader {
    type Value = Times;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of times in microseconds, each alone or with its count")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Times, A::Error> {
        let mut times = Times::new();
        while let Some(entry) = list.next_element()? {
            match entry {
                Entry::Once(us) => times.add(us, 1),
                Entry::Often(us, count) => times.add(us, count),
            }
        }
        Ok(times)
    }
}

fn bucket(us: u32) -> usize {
    let shift = (u32::BITS - us.leading_zeros()).saturating_sub(BITS);
    match shift {
        0 => us as usize,
        _ => EXACT + (shift as usize - 1) * STEPS + (us >> shift) as usize - STEPS,
    }
}

fn lower(bucket: usize) -> u32 {
    let Some(above) = bucket.checked_sub(EXACT) else {
        return bucket as u32;
    };
    ((above % STEPS + STEPS) as u32) << (above / STEPS + 1)
}

fn middle(bucket: usize) -> f64 {
    let width = bucket
        .checked_sub(EXACT)
        .map_or(1.0, |above| (2u64 << (above / STEPS)) as f64);
    f64::from(lower(bucket)) + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_the_bucket_that_begins_at_or_just_before_it() {
        let near = |n: u32| [n.saturating_sub(1), n, n.saturating_add(1)];
        for us in (0..32)
            .flat_map(|bit| near(1 << bit))
            .chain([u32::MAX, 1000, 123_456])
        {
            let begins = lower(bucket(us));
            assert!(begins <= us && us - begins <= us / 128, "{us}: {begins}");
            assert!(bucket(us) == 0 || lower(bucket(us) - 1) < begins);
        }
    }

    #[test]
    fn quantiles_and_counts_are_those_of_the_times() {
        let times: Times = (1..=100).collect();
        assert_eq!((times.len(), times.at_least(91)), (100, 10));
        assert_eq!(
            (times.quantile(0.0), times.quantile(1.0)),
            (Some(1.0), Some(100.0))
        );
        assert_eq!(
            (times.mean(), times.quantile(0.5)),
            (Some(50.5), Some(50.5))
        );
        assert_eq!(Times::new().quantile(0.5), None);
    }

    #[test]
    fn times_are_raised_rank_by_rank_from_the_longest() {
        let of = |pairs: &[(u32, u64)]| {
            let mut times = Times::new();
            pairs.iter().for_each(|(us, count)| times.add(*us, *count));
            times
        };
        let claimed = of(&[(10, 97), (200, 3)]);
        let floor = of(&[(5, 90), (20, 5), (240, 1)]);
        let raised = of(&[(10, 94), (20, 3), (200, 2), (240, 1)]);
        assert_eq!(claimed.raised_to(&floor), raised);
        assert_eq!(claimed.raised_to(&Times::new()), claimed);
        assert_eq!(Times::new().raised_to(&floor), Times::new());
    }

    #[test]
    fn single_times_and_pairs_are_read_alike() {
        let read = |text: &str| serde_json::from_str::<Times>(text).unwrap();
        assert_eq!(read("[412,398,412]"), read("[[398,1],[412,2]]"));
        let times = read("[[398,1],[412,2]]");
        assert_eq!(serde_json::to_string(&times).unwrap(), "[[398,1],[412,2]]");
        assert!(serde_json::from_str::<Times>("[-1]").is_err());
    }
}
