//! The deadline of a request: when it began, and when it must have ended.

use std::time::{Duration, Instant};

use crate::message::attempt::{Attempt, Trace};
use crate::message::failure::{Failure, Kind, Phase};

/// Stands for deadlines that the clock cannot express: thirty years from now.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// When a request began, and when it must have ended.
pub(crate) struct Deadline {
    pub begun: Instant,
    pub limit: Duration,
    pub at: Instant,
}

impl Deadline {
    /// A deadline that begins now.
    pub fn new(limit: Duration) -> Deadline {
        let begun = Instant::now();
        Deadline {
            begun,
            limit,
            at: begun.checked_add(limit).unwrap_or(begun + FAR_AWAY),
        }
    }

    /// The time until the deadline.
    pub fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

impl Trace {
    /// How long to sleep for this wait: not at all after an outcome that the program gave, such as a stub of a test.
    /// The wait still counts: the request has then begun that much earlier, and has that much less time left.
    pub fn skip_if_given(&mut self, wait: Duration) -> Duration {
        if !self.given {
            return wait;
        }
        let Deadline { begun, at, .. } = self.deadline;
        if let (Some(begun), Some(at)) = (begun.checked_sub(wait), at.checked_sub(wait)) {
            (self.deadline.begun, self.deadline.at) = (begun, at);
        }
        Duration::ZERO
    }

    /// This failure, or that of the total deadline if that has passed as well.
    pub fn unless_late(&self, failure: Failure) -> Failure {
        match Instant::now() < self.deadline.at {
            true => failure,
            false => self.used_up(),
        }
    }

    /// The failure of a request that has not ended by its deadline: a time-out of phase `Total`, whose text names the
    /// phase that the request had reached.
    pub fn used_up(&self) -> Failure {
        let attempt = self.attempts.last();
        let reached = attempt.map_or(Phase::Queue, Attempt::reached);
        let detail = format!(
            "the deadline of {:?} passed while {}",
            self.deadline.limit,
            reached.doing()
        );
        Failure::new(Kind::Timeout, Phase::Total, detail)
    }
}
