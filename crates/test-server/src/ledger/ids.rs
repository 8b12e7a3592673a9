//! Which ids have been seen: those of a round in an array, all others in a bounded set.

use std::collections::HashSet;

/// Most ids remembered that belong to no round.
const MOST_FOREIGN: usize = 1 << 20;

/// The ids of one round, or of the time between rounds (then there are none of its own).
pub(crate) struct Ids {
    first: u64,
    seen: Vec<bool>,
    distinct: u64,
    foreign: HashSet<u64>,
    /// Checksum of the ids seen, each once.
    sum: u32,
}

/// The standing of an id that has just arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sighting {
    pub(crate) foreign: bool,
    pub(crate) repeated: bool,
}

impl Ids {
    /// # Panics
    /// When `count` is more than memory can hold.
    pub(crate) fn new(first: u64, count: u64) -> Ids {
        let count = usize::try_from(count).expect("a round of more ids than memory has bytes");
        Ids {
            first,
            seen: vec![false; count],
            distinct: 0,
            foreign: HashSet::new(),
            sum: 0,
        }
    }

    /// Records an id; its check value is summed up if it is new and belongs to the round.
    pub(crate) fn see(&mut self, id: u64, check_value: u32) -> Sighting {
        let index = usize::try_from(id.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        let Some(seen) = self.seen.get_mut(index) else {
            return Sighting {
                foreign: true,
                repeated: self.see_foreign(id),
            };
        };
        let repeated = std::mem::replace(seen, true);
        if !repeated {
            self.distinct += 1;
            self.sum = self.sum.wrapping_add(check_value);
        }
        Sighting {
            foreign: false,
            repeated,
        }
    }

    fn see_foreign(&mut self, id: u64) -> bool {
        if self.foreign.len() < MOST_FOREIGN {
            !self.foreign.insert(id)
        } else {
            self.foreign.contains(&id)
        }
    }

    /// Removes the check value of an id whose response has none, because no client can know it.
    pub(crate) fn forgive(&mut self, check_value: u32) {
        self.sum = self.sum.wrapping_sub(check_value);
    }

    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn count(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Ids of the round seen.
    pub(crate) fn distinct(&self) -> u64 {
        self.distinct
    }

    /// Ids seen that are not of the round, as far as they are remembered.
    pub(crate) fn distinct_foreign(&self) -> u64 {
        self.foreign.len() as u64
    }

    /// Checksum of all ids of the round, seen or not.
    pub(crate) fn expected_sum(&self, check_value: impl Fn(u64) -> u32) -> u32 {
        let missing = (self.first..).zip(&self.seen).filter(|(_, seen)| !**seen);
        missing.fold(self.sum, |sum, (id, _)| sum.wrapping_add(check_value(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_the_round_repeats_and_foreign_ones_are_distinguished() {
        let mut ids = Ids::new(100, 3);
        let sighting = |foreign, repeated| Sighting { foreign, repeated };
        assert_eq!(ids.see(100, 1), sighting(false, false));
        assert_eq!(ids.see(102, 3), sighting(false, false));
        assert_eq!(ids.see(102, 3), sighting(false, true));
        assert_eq!(ids.see(103, 9), sighting(true, false));
        assert_eq!(ids.see(103, 9), sighting(true, true));
        assert_eq!(ids.see(99, 9), sighting(true, false));
        assert_eq!((ids.distinct(), ids.distinct_foreign()), (2, 2));
        assert_eq!(ids.expected_sum(|id| (id - 99) as u32), 6);
    }

    #[test]
    fn foreign_ids_are_remembered_up_to_a_cap() {
        let mut ids = Ids::new(0, 0);
        for id in 0..MOST_FOREIGN as u64 + 5 {
            assert!(!ids.see(id, 0).repeated);
        }
        assert!(ids.see(0, 0).repeated);
        assert_eq!(ids.distinct_foreign(), MOST_FOREIGN as u64);
    }
}
