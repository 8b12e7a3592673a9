//! What the ledger saw of a row, beside what was asked: the table that decides whom to believe.

use super::Row;
use crate::run::Round;

/// Counts over all measured rounds of a row, and its proofs where that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Requests asked for.
    pub asked: u64,
    /// Different requests that arrived.
    pub arrived: u64,
    /// Requests that arrived again, proofs included.
    pub again: u64,
    /// Requests that nobody had asked for.
    pub foreign: u64,
    /// Requests that the driver says failed.
    pub failed: u64,
    /// Connections opened while the rounds were measured; those of the proofs were there before.
    pub opened: u64,
    /// Most connections that a round used.
    pub connections: u64,
    /// Most requests in flight together, proofs included.
    pub in_flight: u64,
}

/// Adds up the rounds of a row; none when there was no ledger.
pub fn truth(rounds: &[Round], row: &Row) -> Option<Truth> {
    let cell = row.cell();
    let mut truth = Truth::default();
    for round in rounds.iter().filter(|round| round.cell == cell) {
        let seen = round.seen.as_ref()?;
        truth.asked += round.count;
        truth.arrived += seen.distinct;
        truth.foreign += seen.foreign;
        truth.failed += round.claim.errors;
        truth.opened += seen.connections_opened;
        truth.connections = truth.connections.max(seen.connections_used);
        for page in round.proof.iter().chain([seen]) {
            truth.again += page.duplicates;
            truth.in_flight = truth.in_flight.max(page.peak_in_flight);
        }
    }
    Some(truth)
}
