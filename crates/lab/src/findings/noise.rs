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

/// Whether programs or the machine's host took too much time during a round.
#[derive(Clone, Copy)]
struct Disturbed {
    by_programs: bool,
    by_host: bool,
}

/// Shares of the rounds that others disturbed, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noisy {
    /// By other programs.
    pub programs: f64,
    /// By the machine's host.
    pub host: f64,
    /// By one of them, or both.
    pub either: f64,
}

/// The disturbances of a round; none if they are not known.
fn disturbed(round: &Round, cores: usize) -> Option<Disturbed> {
    let noise = round.noise?;
    let (wall, all) = (round.wall_ns as f64, round.wall_ns as f64 * cores as f64);
    Some(Disturbed {
        by_programs: noise.foreign_ns as f64 - TICK > FOREIGN * all,
        by_host: noise.stolen_ns as f64 > TICK.max(STOLEN * wall),
    })
}

/// Shares of rounds in which others took too much; none where that is not known.
pub fn noisy<'a>(rounds: impl IntoIterator<Item = &'a Round>, cores: usize) -> Option<Noisy> {
    let rounds = rounds.into_iter();
    let known: Vec<Disturbed> = rounds.filter_map(|round| disturbed(round, cores)).collect();
    let share = |is: fn(&Disturbed) -> bool| {
        known.iter().filter(|round| is(round)).count() as f64 / known.len() as f64
    };
    (!known.is_empty()).then(|| Noisy {
        programs: share(|round| round.by_programs),
        host: share(|round| round.by_host),
        either: share(|round| round.by_programs || round.by_host),
    })
}

/// Whether others took too much in every round of a run, so that its curves may be theirs.
pub fn is_all_noise(run: &Document) -> bool {
    noisy(&run.rounds, run.environment.cores).is_some_and(|noisy| noisy.either == 1.0)
}

/// The share of disturbed rounds of one row.
pub fn noisy_row(rounds: &[Round], cell: &Cell, cores: usize) -> Option<f64> {
    let own = rounds.iter().filter(|round| round.cell == *cell);
    noisy(own, cores).map(|noisy| noisy.either)
}
