//! The payloads that a WARC file has already, as many as fit into little memory: the oldest are forgotten first.

use std::collections::{HashMap, VecDeque};

/// The most payloads that are remembered.
const MOST: usize = 1000;

/// A shorter payload is stored again: a record that refers to another takes about as many bytes.
const SHORTEST: usize = 1024;

/// The record that has a payload.
#[derive(Clone)]
pub(super) struct Stored {
    /// Its file, and where it begins there.
    pub place: (String, u64),
    /// The URL of its response, and when that came.
    pub url: String,
    pub at: String,
}

/// The payloads, by their digests.
#[derive(Default)]
pub(super) struct Payloads {
    known: HashMap<Vec<u8>, Stored>,
    order: VecDeque<Vec<u8>>,
}

impl Payloads {
    /// The record that has a payload with this digest and length, if it is known.
    pub fn find(&self, digest: &[u8], length: usize) -> Option<Stored> {
        let known = self.known.get(digest);
        known.filter(|_| length >= SHORTEST).cloned()
    }

    /// Remembers a record.
    pub fn note(&mut self, digest: &[u8], length: usize, stored: Stored) {
        if length < SHORTEST || self.known.contains_key(digest) {
            return;
        }
        if self.order.len() == MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(digest.to_vec());
        self.known.insert(digest.to_vec(), stored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_too_many_are_forgotten_and_short_ones_are_not_remembered() {
        let mut payloads = Payloads::default();
        let stored = |n: usize| Stored {
            place: ("a.warc.gz".to_owned(), n as u64),
            url: String::new(),
            at: String::new(),
        };
        for n in 0..=MOST {
            payloads.note(&n.to_le_bytes(), SHORTEST, stored(n));
        }
        payloads.note(b"short", SHORTEST - 1, stored(0));
        let find = |digest: &[u8]| {
            let found = payloads.find(digest, SHORTEST);
            found.map(|stored| stored.place.1)
        };
        assert_eq!(find(&0_usize.to_le_bytes()), None);
        assert_eq!(find(&1_usize.to_le_bytes()), Some(1));
        assert_eq!(find(&MOST.to_le_bytes()), Some(MOST as u64));
        assert_eq!((find(b"short"), payloads.order.len()), (None, MOST));
    }
}
