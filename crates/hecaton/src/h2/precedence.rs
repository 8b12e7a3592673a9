//! Whether a change of the peer's settings waits until requests have left that have their streams already.
//!
//! `h2` reads before it writes, and does not send what exceeds a limit that it has just read. Requests that got their
//! streams under the previous limit would be held back on this connection, perhaps for ever, while another connection
//! would take them. They cannot be taken back, because `h2` sends even a request that was given up once its stream is
//! allowed. So they go first, as if the change had come a moment later.

use super::observed::Observed;

/// How much may wait behind a change of settings. The peer may write no more before it reads.
const MOST_HELD: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Precedence {
    /// The turn in which settings were held back last, and how far requests had left by then.
    since: Option<(u32, u32)>,
    /// Whether the socket accepts no more bytes.
    pub blocked: bool,
}

impl Precedence {
    /// Whether settings wait for requests; `held`: how many bytes wait with them. They do not wait for a request that
    /// did not leave in a whole turn though the socket accepts bytes.
    pub fn holds(&mut self, held: usize, observed: &Observed) -> bool {
        let left = observed.unsent_behind().filter(|_| held <= MOST_HELD);
        let turn = observed.turn();
        self.since = match (left, self.since) {
            (None, _) => None,
            (Some(_), Some((last, then))) if last == turn => Some((last, then)),
            (Some(left), Some((_, then))) if left == then && !self.blocked => None,
            (Some(left), _) => Some((turn, left)),
        };
        self.since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decisions in these turns; each says how far requests have left by then.
    fn holds(turns: &[u32], last_request: u32, blocked: bool) -> Vec<bool> {
        let observed = Observed::default();
        observed.opened(last_request, false);
        let mut precedence = Precedence {
            blocked,
            ..Precedence::default()
        };
        let decide = |left: &u32| {
            observed.begin_turn();
            observed.departs(*left);
            let first = precedence.holds(0, &observed);
            assert_eq!(first, precedence.holds(0, &observed), "within one turn");
            first
        };
        turns.iter().map(decide).collect()
    }

    #[test]
    fn settings_wait_until_requests_have_left_or_cannot_leave() {
        assert_eq!(holds(&[5], 5, false), [false]);
        assert_eq!(holds(&[1, 5], 5, false), [true, false]);
        assert_eq!(holds(&[1, 3, 5], 5, false), [true, true, false]);
        assert_eq!(holds(&[1, 3, 3, 3], 5, true), [true, true, true, true]);
    }

    #[test]
    fn settings_do_not_wait_for_a_request_that_does_not_leave() {
        let observed = Observed::default();
        observed.opened(3, false);
        let mut precedence = Precedence::default();
        observed.begin_turn();
        assert!(precedence.holds(0, &observed));
        observed.begin_turn();
        assert!(!precedence.holds(0, &observed));
    }

    #[test]
    fn no_more_than_a_mebibyte_waits() {
        let observed = Observed::default();
        observed.opened(3, false);
        assert!(Precedence::default().holds(MOST_HELD, &observed));
        assert!(!Precedence::default().holds(MOST_HELD + 1, &observed));
    }
}
