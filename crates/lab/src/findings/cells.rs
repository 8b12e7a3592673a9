//! The rounds by cell, and pairs of rounds that ran in the same block.

use std::collections::BTreeMap;

use super::processes::Sample;
use super::stats::{Estimate, ratio_of};
use super::ties::Family;
use crate::plan::Cell;
use crate::run::Round;

/// All rounds, grouped by cell.
pub(super) struct Cells<'a> {
    by_cell: BTreeMap<&'a Cell, Vec<&'a Round>>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(rounds: &'a [Round]) -> Self {
        let mut by_cell: BTreeMap<&Cell, Vec<&Round>> = BTreeMap::new();
        for round in rounds {
            by_cell.entry(&round.cell).or_default().push(round);
        }
        Cells { by_cell }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a Cell, &[&'a Round])> {
        let cells = self.by_cell.iter();
        cells.map(|(cell, rounds)| (*cell, rounds.as_slice()))
    }

    /// The rounds of one cell; none when it was not measured.
    pub(super) fn rounds(&self, cell: &Cell) -> &[&'a Round] {
        self.by_cell.get(cell).map_or(&[], Vec::as_slice)
    }

    /// How many times faster `cell` is than `than`, over the blocks that hold both.
    pub(super) fn ratio(&self, cell: &Cell, than: &Cell) -> Option<Estimate> {
        ratio_of(&self.ratios(cell, than, speed), 1)
    }

    /// How many times larger a value of `cell`'s rounds is than of `than`'s, over the blocks that hold both. It is one of
    /// `together` ratios, whose intervals are so wide that all of them hold at once.
    pub(super) fn ratio_among(
        &self,
        together: usize,
        cell: &Cell,
        than: &Cell,
        value: fn(&Round) -> f64,
    ) -> Option<Estimate> {
        ratio_of(&self.ratios(cell, than, value), together)
    }

    /// Compares all of these cells with each other, over the blocks that contain every one of them.
    pub(super) fn family<'c>(&self, cells: impl Iterator<Item = &'c Cell>) -> Family {
        let of_block = |cell: &Cell| -> BTreeMap<u32, (f64, u32)> {
            let rounds = self.rounds(cell).iter();
            rounds
                .map(|round| (round.block, (speed(round).ln(), round.invocation)))
                .collect()
        };
        let rows: Vec<BTreeMap<u32, (f64, u32)>> = cells.map(of_block).collect();
        let Some(first) = rows.first() else {
            return Family::default();
        };
        let in_all = |block: &&u32| rows.iter().all(|row| row.contains_key(*block));
        let blocks: Vec<&u32> = first.keys().filter(in_all).collect();
        let logs =
            |row: &BTreeMap<u32, (f64, u32)>| blocks.iter().map(|block| row[*block].0).collect();
        let invocations: Vec<u32> = blocks.iter().map(|block| first[*block].1).collect();
        Family::new(&rows.iter().map(logs).collect::<Vec<_>>(), &invocations)
    }

    /// The ratio of each block, with the invocation in which it was measured. Each side has one process in an
    /// invocation.
    fn ratios(&self, cell: &Cell, than: &Cell, value: fn(&Round) -> f64) -> Vec<Sample> {
        let those = self.rounds(than).iter();
        let other: BTreeMap<u32, f64> = those.map(|round| (round.block, value(round))).collect();
        let ratio = |round: &&Round| {
            let than = *other.get(&round.block)?;
            Some((value(round) / than, round.invocation))
        };
        self.rounds(cell).iter().filter_map(ratio).collect()
    }
}

/// Requests per second of one round: the successful requests, divided by the time of the whole round.
pub(super) fn speed(round: &Round) -> f64 {
    round.claim.done as f64 / seconds(round.wall_ns)
}

/// CPU seconds of one request: all that the driver used since its last round, divided by all requests that it was told to
/// send meanwhile. Work outside of the rounds is counted, for all clients alike, so that no client gains by doing it there.
pub(super) fn cpu(round: &Round) -> f64 {
    let (cpu_ns, requests) = round.beside.map_or((0, 0), |it| (it.cpu_ns, it.requests));
    let all = seconds(round.cpu_user_ns + round.cpu_system_ns + cpu_ns);
    match round.claim.done {
        0 => f64::NAN,
        done => all / (done + requests) as f64,
    }
}

pub(super) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
