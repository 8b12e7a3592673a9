//! The requests that wait for a host.
//!
//! A request that was sent before comes first, because it is the oldest. While the host is in trouble, it comes last:
//! the fault may be its URL's and not the host's, and another URL shows which.

use std::collections::VecDeque;

/// A request that can wait for a host.
pub trait Waiting {
    /// Whether it is the request for the host's robots.txt, which opens its gate.
    fn opens_gate(&self) -> bool;
}

/// The requests that wait for a host.
#[derive(Debug)]
pub struct Queue<T> {
    /// Requests that were not sent yet, and those that are sent again at once.
    fresh: VecDeque<T>,
    /// Requests that were sent, and are to be sent again after a wait.
    tried: VecDeque<T>,
}

impl<T: Waiting> Queue<T> {
    pub fn new() -> Queue<T> {
        Queue {
            fresh: VecDeque::new(),
            tried: VecDeque::new(),
        }
    }

    pub fn push_back(&mut self, item: T) {
        self.fresh.push_back(item);
    }

    /// Queues one in front of those that were not sent yet. [`take`](Queue::take) may still choose another first.
    pub fn push_front(&mut self, item: T) {
        self.fresh.push_front(item);
    }

    /// Queues one that was sent, behind the others that were.
    pub fn push_tried(&mut self, item: T) {
        self.tried.push_back(item);
    }

    pub fn len(&self) -> usize {
        self.fresh.len() + self.tried.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the request that opens the gate, wherever it is.
    pub fn take_opener(&mut self) -> Option<T> {
        let take = |queue: &mut VecDeque<T>| {
            let place = queue.iter().position(Waiting::opens_gate)?;
            queue.remove(place)
        };
        take(&mut self.fresh).or_else(|| take(&mut self.tried))
    }

    /// The first that was not sent yet, else the first that was.
    pub fn take_first(&mut self) -> Option<T> {
        self.fresh.pop_front().or_else(|| self.tried.pop_front())
    }

    /// The next to be sent to a host that paused or rested so often since its last answer. Without such trouble, all
    /// that were sent come first, then the others in their order. A host in trouble first gets the others. They are
    /// taken from all over the queue, because the URLs that have no answer may be neighbours.
    pub fn take(&mut self, troubles: u32) -> Option<T> {
        if troubles == 0 {
            return self.tried.pop_front().or_else(|| self.fresh.pop_front());
        }
        let index = spread(troubles, self.fresh.len());
        let fresh = self.fresh.swap_remove_front(index);
        fresh.or_else(|| self.tried.pop_front())
    }

    /// Takes all, those that were sent first.
    pub fn drain(&mut self) -> Vec<T> {
        self.tried.drain(..).chain(self.fresh.drain(..)).collect()
    }
}

/// Where in a queue of this length the try of this number is: far from those before it, as multiples of the golden
/// ratio are.
fn spread(times: u32, len: usize) -> usize {
    let place = (f64::from(times) * 0.618_034).fract();
    (place * len as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_comes_first_unless_the_host_is_in_trouble() {
        for (troubles, tried, fresh, expected) in [
            (0, &[8, 9][..], &[0, 1][..], &[8, 9, 0, 1][..]),
            (1, &[8, 9], &[0, 1], &[1, 0, 8, 9]),
            (1, &[8, 9], &[0], &[0, 8, 9]),
            (1, &[8, 9], &[], &[8, 9]),
            (2, &[], &[0], &[0]),
        ] {
            let mut queue = Queue::new();
            fresh.iter().for_each(|item| queue.push_back(*item));
            tried.iter().for_each(|item| queue.push_tried(*item));
            let taken: Vec<u32> = std::iter::from_fn(|| queue.take(troubles)).collect();
            assert_eq!(taken, expected, "{troubles}");
        }
    }

    #[test]
    fn tries_of_a_host_that_is_down_are_far_from_each_other() {
        let places = [1, 2, 3, 4, 5, 6, 7].map(|times| spread(times, 100));
        assert_eq!(places, [61, 23, 85, 47, 9, 70, 32]);
        assert!((0..10_000).all(|times| spread(times, 3) < 3));
    }
}
