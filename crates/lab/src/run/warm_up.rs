//! When a new process is warm: once the CPU time of a request falls no more, or the patience for it ends.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Tries of a warm-up without end: as many as fit into the requested warm-up.
const TRIES: u32 = 4;

/// How many times the requested warm-up a process may take until its CPU time of a request is flat.
const MOST: u32 = 8;

/// Two tries that need this share of the CPU time of the two before are no cheaper.
const FLAT: f64 = 0.95;

/// One of a process's tries after its last round: the middle one of the last half. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Later {
    /// Its requests.
    pub count: u64,
    /// How long it took.
    pub wall_ns: u64,
    /// CPU time of the driver's processes.
    pub cpu_ns: u64,
}

impl Later {
    /// So many times the requested warm-up a process stays busy after its last round.
    pub(crate) const LENGTH: u32 = 4;

    /// It continues until it has sent as many requests again as before, but no longer than so many times the warm-up.
    pub(crate) const LONGEST: u32 = 64;
}

/// The tries so far.
#[derive(Debug, Default)]
pub(super) struct WarmUp {
    requested: Duration,
    spent: Duration,
    /// CPU seconds of a request, try by try.
    costs: Vec<f64>,
}

impl WarmUp {
    /// A warm-up that lasts at least as long as requested.
    pub(super) fn new(requested: Duration) -> WarmUp {
        WarmUp {
            requested,
            ..WarmUp::default()
        }
    }

    /// How long the next try should last.
    pub(super) fn try_length(&self) -> Duration {
        self.requested / TRIES
    }

    /// Notes a try: how long it took, and the CPU time of one request.
    pub(super) fn note(&mut self, wall: Duration, cost: f64) {
        self.spent += wall;
        self.costs.push(cost);
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        let long_enough = self.spent >= self.requested && self.is_flat();
        long_enough || self.spent >= MOST * self.requested
    }

    /// Of two tries each the cheaper counts, for what disturbs one makes it dearer, never cheaper.
    fn is_flat(&self) -> bool {
        let [.., a, b, c, d] = self.costs.as_slice() else {
            return false;
        };
        c.min(*d) >= FLAT * a.min(*b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries until it is over, of a process whose requests cost so much.
    fn tries(cost: impl Fn(usize) -> f64) -> usize {
        let mut warm_up = WarmUp::new(Duration::from_millis(400));
        let mut tries = 0;
        while !warm_up.is_over() {
            warm_up.note(warm_up.try_length(), cost(tries));
            tries += 1;
        }
        tries
    }

    #[test]
    fn a_process_that_is_warm_at_once_takes_no_longer_than_requested() {
        assert_eq!(tries(|_| 1.0), 4);
        let disturbed = |round| if round == 2 { 1.5 } else { 1.0 };
        assert_eq!(
            tries(disturbed),
            4,
            "one slow try is not taken for a cold one"
        );
    }

    #[test]
    fn a_process_that_gets_cheaper_is_waited_for_but_not_for_ever() {
        let compiled = |round: usize| {
            if round < 9 {
                3.0 - 0.2 * round as f64
            } else {
                1.0
            }
        };
        assert!((11..=13).contains(&tries(compiled)), "{}", tries(compiled));
        assert_eq!(tries(|round| 0.9f64.powi(round as i32)), 32);
    }
}
