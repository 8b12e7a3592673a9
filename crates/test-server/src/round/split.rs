//! Splits whole responses: at random moments of a round one is sent in two parts, the last bytes a while later. If a
//! client sends its next request in between, it has not waited for the end of the response.

use std::cell::{Cell, RefCell};
use std::time::Duration;

/// The pause before the last bytes.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// The responses of a round that come in two parts.
#[derive(Default)]
pub(crate) struct Splits {
    arrived: Cell<u64>,
    /// The arrivals at which a response is split; the next one is at the end.
    moments: RefCell<Vec<u64>>,
}

impl Splits {
    /// Draws the moments of a new round of `count` requests.
    pub(crate) fn draw(&self, splits: u64, count: u64) {
        let draw = || rand::random_range(0..count.max(1));
        let mut moments: Vec<u64> = (0..splits.min(count)).map(|_| draw()).collect();
        moments.sort_unstable_by(|left, right| right.cmp(left));
        moments.dedup();
        self.moments.replace(moments);
        self.arrived.set(0);
    }

    /// Notes a request of the round, and returns whether its response is split.
    pub(crate) fn is_due(&self) -> bool {
        let mut moments = self.moments.borrow_mut();
        let arrived = self.arrived.replace(self.arrived.get() + 1);
        let due = moments.last() == Some(&arrived);
        if due {
            moments.pop();
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_responses_are_cut_than_were_drawn() {
        let splits = Splits::default();
        let due = |count: u64| (0..count).filter(|_| splits.is_due()).count();
        assert_eq!(due(10), 0);
        splits.draw(8, 1000);
        assert!((1..=8).contains(&due(1000)));
        splits.draw(5, 1);
        assert_eq!(due(10), 1);
        splits.draw(5, 1000);
        splits.draw(0, 0);
        assert_eq!(due(1000), 0);
    }
}
