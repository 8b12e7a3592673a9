//! The server's log of a row, beside what was planned. The log decides whom to believe.

use super::rows::Row;
use crate::run::Round;

/// Counts over all measured rounds of a row. Probes count only where a field says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Requests of the plan.
    pub planned: u64,
    /// Different requests that arrived.
    pub arrived: u64,
    /// Requests that arrived again, probes included.
    pub again: u64,
    /// Requests that were not planned.
    pub foreign: u64,
    /// Requests that the driver says failed.
    pub failed: u64,
    /// Those of them that timed out, as far as the driver's words for failures tell.
    pub timed_out: u64,
    /// Connections opened while the rounds were measured; those of the probes were there before.
    pub opened: u64,
    /// Most connections that a round used.
    pub connections: u64,
    /// Requests that should have been in flight together.
    pub concurrency: u64,
    /// Most requests in flight together, probes included.
    pub in_flight: u64,
}

impl Truth {
    /// The counts of both together.
    #[must_use]
    pub fn and(self, other: Truth) -> Truth {
        Truth {
            planned: self.planned + other.planned,
            arrived: self.arrived + other.arrived,
            again: self.again + other.again,
            foreign: self.foreign + other.foreign,
            failed: self.failed.saturating_add(other.failed),
            timed_out: self.timed_out.saturating_add(other.timed_out),
            opened: self.opened + other.opened,
            connections: self.connections.max(other.connections),
            concurrency: self.concurrency.max(other.concurrency),
            in_flight: self.in_flight.max(other.in_flight),
        }
    }
}

/// Adds up the rounds of a row; none when there was no log.
pub fn truth(rounds: &[Round], row: &Row) -> Option<Truth> {
    let cell = row.cell();
    let own = rounds.iter().filter(|round| round.cell == cell);
    let mut all = own.map(of_round);
    all.try_fold(Truth::default(), |all, round| Some(all.and(round?)))
}

fn of_round(round: &Round) -> Option<Truth> {
    let seen = round.seen.as_ref()?;
    let intervals = || round.probe.iter().chain([seen]);
    let late = |(kind, count): (&String, &u64)| is_timeout(kind).then_some(*count);
    Some(Truth {
        planned: round.count,
        arrived: seen.distinct,
        again: intervals().map(|interval| interval.duplicates).sum(),
        foreign: seen.foreign,
        failed: round.claim.errors,
        timed_out: round
            .claim
            .errors_by
            .iter()
            .filter_map(late)
            .fold(0, u64::saturating_add),
        opened: seen.connections_opened,
        connections: seen.connections_used,
        concurrency: round.cell.load.concurrency as u64,
        in_flight: intervals()
            .map(|interval| interval.peak_in_flight)
            .max()
            .unwrap_or_default(),
    })
}

/// Whether a driver's word for a failure means a time-out, as `Net::ReadTimeout` and `ETIMEDOUT` do.
fn is_timeout(kind: &str) -> bool {
    let letters = kind.chars().filter(|c| c.is_alphabetic());
    let word: String = letters.flat_map(char::to_lowercase).collect();
    word.contains("timeout") || word.contains("timedout") || word.contains("deadlineexceeded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_time_out_are_known() {
        for kind in [
            "Net::ReadTimeout",
            "ETIMEDOUT",
            "operation_timedout",
            "timed out",
            "context deadline exceeded",
        ] {
            assert!(is_timeout(kind), "{kind}");
        }
        assert!(!is_timeout("ECONNREFUSED") && !is_timeout("status 500"));
    }
}
