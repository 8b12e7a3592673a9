//! The findings of a comparison: a pair, keep-alive connections against new ones, or batches one by one and at once.

use serde::Serialize;

use super::cells::Cells;
use super::controls::{Group, of_groups};
use super::rows::Row;
use super::{batches, keepalive, pair, warmth};
use crate::run::Round;
use crate::spec::Comparison;

pub use super::batches::Batch;
pub use super::keepalive::RoundTrip;
pub use super::pair::Pair;

/// A comparison and its verdicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// The findings in sentences, the main one first.
    pub verdict: Vec<String>,
    /// The figures.
    #[serde(flatten)]
    pub what: What,
}

/// The figures of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The result for two sides.
    Pair(Pair),
    /// One entry per round trip, ascending.
    RoundTrips(Vec<RoundTrip>),
    /// One entry per batch size, ascending.
    Batches(Vec<Batch>),
}

/// Finds the verdicts of a comparison; `rows` sum up the same rounds.
pub fn compared(comparison: &Comparison, rounds: &[Round], rows: &[Row]) -> Compared {
    let cells = Cells::new(rounds);
    let (mut verdict, what) = match comparison {
        Comparison::Pair { a, b } => {
            let pair = pair::pair(a, b, rows, &cells);
            let mut verdict = pair::verdict(&pair, a, b, rows);
            if pair.ratio.is_some() {
                let sides = vec![(**a).clone(), (**b).clone()];
                let group = Group::new(sides, &cells);
                verdict.extend(of_groups(&[group], &cells).sentences());
            }
            (verdict, What::Pair(pair))
        }
        Comparison::Keepalive { client } => {
            let trips = keepalive::round_trips(rows, &cells);
            (keepalive::verdict(client, &trips), What::RoundTrips(trips))
        }
        Comparison::SyncAsync { client } => {
            let batches = batches::batches(rows, &cells);
            (batches::verdict(client, &batches), What::Batches(batches))
        }
    };
    if !matches!(comparison, Comparison::SyncAsync { .. }) {
        verdict.extend(warmth::sentence(
            rows.iter().filter(|row| !row.is_baseline_loader()),
        ));
    }
    if rounds.iter().any(|round| round.seen.is_none()) {
        verdict.push(
            "UNVERIFIED: this server has no log, so these are the client's own claims.".into(),
        );
    }
    Compared { verdict, what }
}
