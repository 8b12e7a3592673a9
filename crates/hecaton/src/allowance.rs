//! The time that a request is allowed.

use std::time::{Duration, Instant};

use crate::attempt::Attempt;
use crate::error::{Failure, Kind, Phase};

/// Stands for deadlines that the clock can not express: thirty years from now.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// When a request began, and when it must have ended.
#[derive(Clone, Copy)]
pub(crate) struct Allowance {
    pub begun: Instant,
    pub limit: Duration,
    pub deadline: Instant,
}

impl Allowance {
    /// From now on.
    pub fn new(limit: Duration) -> Allowance {
        let begun = Instant::now();
        Allowance {
            begun,
            limit,
            deadline: begun.checked_add(limit).unwrap_or(begun + FAR_AWAY),
        }
    }

    /// The time until the deadline.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// What is told of a failure: if the deadline has passed as well, that goes first.
    pub fn told(&self, failure: Failure, attempt: Option<&Attempt>) -> Failure {
        match Instant::now() < self.deadline {
            true => failure,
            false => self.used_up(attempt),
        }
    }

    /// The failure of a request that has not ended by then.
    pub fn used_up(&self, attempt: Option<&Attempt>) -> Failure {
        let reached = attempt.map_or(Phase::Queue, |attempt| attempt.phase);
        let detail = format!(
            "the deadline of {:?} passed while {}",
            self.limit,
            reached.doing()
        );
        Failure::new(Kind::Timeout, Phase::Total, detail)
    }
}
