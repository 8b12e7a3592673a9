//! Finds what is idle longest among the lists of many origins, without a look at all of them each time.
//!
//! All are sorted by age when the question comes up, and from then on the next answer is the next of that order, until
//! it is used up. What comes back meanwhile is younger than all in it. What was taken meanwhile is passed over.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::time::Instant;

/// The order by age, as it was when it was last made.
pub(super) struct ByAge<K> {
    /// The oldest at the end: since when it has been idle, and its list.
    sorted: Vec<(Instant, K)>,
}

impl<K> Default for ByAge<K> {
    fn default() -> ByAge<K> {
        ByAge { sorted: Vec::new() }
    }
}

impl<K: Clone + Eq + Hash> ByAge<K> {
    /// The list whose first entry is idle longest, and since when. No list is empty, and the old ones stand in front.
    pub fn oldest<T, S: BuildHasher>(
        &mut self,
        lists: &HashMap<K, Vec<T>, S>,
        since: impl Fn(&T) -> Instant,
    ) -> Option<(Instant, K)> {
        if lists.is_empty() {
            self.sorted = Vec::new();
            return None;
        }
        loop {
            if let Some((at, key)) = self.sorted.last() {
                let list = lists.get(key);
                if list.is_some_and(|list| since(&list[0]) == *at) {
                    return Some((*at, key.clone()));
                }
                self.sorted.pop();
            } else {
                let all = lists.iter();
                let all = all.flat_map(|(key, list)| list.iter().map(move |one| (key, one)));
                self.sorted
                    .extend(all.map(|(key, one)| (since(one), key.clone())));
                self.sorted
                    .sort_unstable_by_key(|(at, _)| std::cmp::Reverse(*at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_oldest_of_many_costs_a_few_looks_whatever_comes_and_goes() {
        const LISTS: u64 = 1000;
        const TURNS: u64 = 20_000;
        let (begun, looks) = (Instant::now(), Cell::new(0));
        let since = |at: &Instant| {
            looks.set(looks.get() + 1);
            *at
        };
        let (mut ages, mut lists) = (ByAge::default(), HashMap::new());
        for turn in 0..TURNS {
            let now = begun + Duration::from_millis(turn);
            // Every third comes back to a list that there is, and takes its place.
            let key = match turn % 3 {
                0 => turn.saturating_sub(LISTS / 2),
                _ => turn,
            };
            let list: &mut Vec<Instant> = lists.entry(key).or_default();
            if turn % 6 == 0 {
                list.pop();
            }
            list.push(now);
            if lists.len() as u64 > LISTS {
                let (at, key) = ages.oldest(&lists, since).unwrap();
                assert_eq!(Some(at), lists.values().flatten().min().copied());
                let list = lists.get_mut(&key).unwrap();
                assert_eq!(list.remove(0), at);
                if list.is_empty() {
                    lists.remove(&key);
                }
            }
        }
        assert!(looks.get() < 6 * TURNS, "{} looks", looks.get());
        lists.clear();
        assert_eq!(ages.oldest(&lists, since), None);
    }
}
