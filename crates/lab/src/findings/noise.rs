//! Which rounds others disturbed, and how many of a run or row.

use crate::ledger::Document;
use crate::plan::Cell;
use crate::run::Round;

/// Share of all cores' time that other programs may take in a round before the round counts as disturbed.
const FOREIGN: f64 = 0.025;

/// Share of one core's time that the machine's host may take.
const STOLEN: f64 = 0.02;

/// The kernel counts in ticks of 10 ms: one may belong to the moment before.
const TICK: f64 = 10e6;

/// Share of disturbed rounds above which the whole run is called noisy.
pub const NOISY_RUN: f64 = 0.2;

/// Whether others took too much of the machine during a round; none when that is not known.
fn is_noisy(round: &Round, cores: usize) -> Option<bool> {
    let noise = round.noise?;
    let (wall, all) = (round.wall_ns as f64, round.wall_ns as f64 * cores as f64);
    let foreign = noise.foreign_ns as f64 - TICK > FOREIGN * all;
    let stolen = noise.stolen_ns as f64 > TICK.max(STOLEN * wall);
    Some(foreign || stolen)
}

/// Share of rounds in which others took too much; none where that is not known.
pub fn noisy<'a>(rounds: impl IntoIterator<Item = &'a Round>, cores: usize) -> Option<f64> {
    let disturbed = rounds
        .into_iter()
        .filter_map(|round| is_noisy(round, cores));
    let disturbed: Vec<bool> = disturbed.collect();
    let count = disturbed.iter().filter(|disturbed| **disturbed).count();
    (!disturbed.is_empty()).then(|| count as f64 / disturbed.len() as f64)
}

/// Whether others took too much in every round of a run, so that its curves may be theirs.
pub fn is_all_noise(run: &Document) -> bool {
    noisy(&run.rounds, run.environment.cores) == Some(1.0)
}

/// The share of disturbed rounds of one row.
pub fn noisy_row(rounds: &[Round], cell: &Cell, cores: usize) -> Option<f64> {
    noisy(rounds.iter().filter(|round| round.cell == *cell), cores)
}
