//! The time that a request has waited for a connection which another request began to open and then gave up.

use std::time::{Duration, Instant};

use crate::message::failure::Phase;

/// A phase of opening a connection, with its begin and its end.
pub(crate) type Interval = (Phase, Instant, Instant);

/// The intervals during which one request waited. They count against its own limits. Otherwise its limits would begin
/// again with each request that gives up.
#[derive(Default)]
pub(crate) struct Elapsed(Vec<(Phase, Duration)>);

impl Elapsed {
    /// The parts of `intervals` after this instant.
    pub fn since(begun: Instant, intervals: &[Interval]) -> Elapsed {
        let part =
            |(phase, from, to): &Interval| (*phase, to.saturating_duration_since(begun.max(*from)));
        Elapsed(intervals.iter().map(part).collect())
    }

    /// The time in this phase.
    pub fn of(&self, phase: Phase) -> Duration {
        let own = self.0.iter().filter(|(known, _)| *known == phase);
        own.map(|(_, time)| *time).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_after_the_begin_counts_and_each_phase_for_itself() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let intervals = [
            (Phase::Resolve, at(0), at(1)),
            (Phase::Connect, at(1), at(4)),
            (Phase::Connect, at(4), at(6)),
            (Phase::Tls, at(6), at(7)),
        ];
        let elapsed = |begun| {
            let elapsed = Elapsed::since(at(begun), &intervals);
            [Phase::Resolve, Phase::Connect, Phase::Tls].map(|phase| elapsed.of(phase).as_secs())
        };
        assert_eq!(elapsed(0), [1, 5, 1]);
        assert_eq!(elapsed(3), [0, 3, 1]);
        assert_eq!(elapsed(9), [0, 0, 0]);
        assert_eq!(Elapsed::default().of(Phase::Connect), Duration::ZERO);
    }
}
