//! Counts over time in a few hundred slots, whose width grows with what they span.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most slots between the first and the last.
const MOST: i64 = 240;

/// A moment, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    /// From RFC 3339.
    pub(super) fn parse(text: &str) -> Option<Moment> {
        let time = humantime::parse_rfc3339(text).ok()?;
        let since = time.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok().map(Moment)
    }

    /// To the second.
    pub(super) fn shown(self) -> String {
        let since = Duration::from_millis(u64::try_from(self.0).unwrap_or_default());
        let time: SystemTime = UNIX_EPOCH + since;
        humantime::format_rfc3339_seconds(time)
            .to_string()
            .replace('T', " ")
            .replace('Z', " UTC")
    }

    pub(super) fn as_seconds(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl std::ops::Sub for Moment {
    type Output = Moment;

    fn sub(self, other: Moment) -> Moment {
        Moment(self.0 - other.0)
    }
}

/// Counts of `N` sorts over time.
#[derive(Clone, Debug)]
pub(super) struct Timeline<const N: usize> {
    /// In milliseconds.
    width: i64,
    slots: BTreeMap<i64, [u64; N]>,
    pub(super) span: Option<(Moment, Moment)>,
}

impl<const N: usize> Default for Timeline<N> {
    fn default() -> Timeline<N> {
        Timeline {
            width: 100,
            slots: BTreeMap::new(),
            span: None,
        }
    }
}

impl<const N: usize> Timeline<N> {
    pub(super) fn add(&mut self, at: Moment, sort: usize) {
        self.span = Some(match self.span {
            Some((from, to)) => (from.min(at), to.max(at)),
            None => (at, at),
        });
        self.slots
            .entry(at.0.div_euclid(self.width))
            .or_insert([0; N])[sort] += 1;
        while let (Some((first, _)), Some((last, _))) =
            (self.slots.first_key_value(), self.slots.last_key_value())
            && last - first >= MOST
        {
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.width *= 2;
        let slots = std::mem::take(&mut self.slots);
        for (slot, counts) in slots {
            let merged = self.slots.entry(slot.div_euclid(2)).or_insert([0; N]);
            merged
                .iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
    }

    /// The width of a slot, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.width as f64 / 1000.0
    }

    /// Every slot from the first to the last, also those in which nothing was.
    pub(super) fn slots(&self) -> Vec<[u64; N]> {
        let (Some((first, _)), Some((last, _))) =
            (self.slots.first_key_value(), self.slots.last_key_value())
        else {
            return Vec::new();
        };
        (*first..=*last)
            .map(|slot| self.slots.get(&slot).copied().unwrap_or([0; N]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_slots_stay_few(times in proptest::collection::vec((0..4_000_000_000_000_i64, 0..2_usize), 1..300)) {
            let mut timeline = Timeline::<2>::default();
            times.iter().for_each(|(at, sort)| timeline.add(Moment(*at), *sort));
            let slots = timeline.slots();
            prop_assert!(slots.len() <= MOST as usize);
            let sum: u64 = slots.iter().flatten().sum();
            prop_assert_eq!(sum, times.len() as u64);
        }
    }

    #[test]
    fn moments_are_read_and_shown() {
        let moment = Moment::parse("2026-11-22T08:00:00.5Z").unwrap();
        assert_eq!(moment.shown(), "2026-11-22 08:00:00 UTC");
        assert_eq!(Moment::parse("yesterday"), None);
    }
}
