//! What changed between two runs: each cell that both measured, against the ceiling of its own run.

use hecaton_origin::Delay;

use super::cells::{Cells, speed};
use super::rows::{CEILING, Row};
use super::stats::Estimate;
use super::unpaired::unpaired_ratio;
use crate::plan::Cell;
use crate::run::Round;

/// One cell in two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The row of the older run.
    pub old: Row,
    /// The row of the newer run.
    pub new: Row,
    /// How many times faster the newer is; none when either is rejected or did nothing.
    pub ratio: Option<Estimate>,
    /// Whether each round's speed was taken as a share of the raw loader's in the same block, which
    /// leaves out what the machine itself changed.
    pub against_ceiling: bool,
}

impl Change {
    /// Whether it is slower by more than `share` (0.05 for 5 %), the whole interval of it.
    pub fn is_worse(&self, share: f64) -> bool {
        let slower = |ratio: Estimate| ratio.confidence.is_some() && ratio.high < 1.0 - share;
        let broken = self.old.rejected.is_none() && self.new.rejected.is_some();
        broken || self.ratio.is_some_and(slower)
    }
}

/// Every cell that both runs measured, the ceiling's own left out; in the order of rows.
pub fn changes(old: (&[Round], &Delay), new: (&[Round], &Delay)) -> Vec<Change> {
    let ((before, delay_before), (after, delay_after)) = (old, new);
    let (old_cells, new_cells) = (Cells::new(before), Cells::new(after));
    let old_rows = super::rows::rows(&old_cells, delay_before);
    let new_rows = super::rows::rows(&new_cells, delay_after);
    new_rows
        .into_iter()
        .filter(|row| !row.is_ceiling())
        .filter_map(|new| {
            let old = old_rows
                .iter()
                .find(|old| old.cell() == new.cell())?
                .clone();
            Some(change(old, new, &old_cells, &new_cells))
        })
        .collect()
}

fn change(old: Row, new: Row, old_cells: &Cells, new_cells: &Cells) -> Change {
    let against_ceiling = old.ceiling.is_some() && new.ceiling.is_some();
    let values = |cells: &Cells, cell: &Cell| match against_ceiling {
        true => shares(cells, cell),
        false => cells
            .rounds(cell)
            .iter()
            .map(|round| speed(round))
            .collect(),
    };
    let valid = old.rejected.is_none() && new.rejected.is_none();
    let cell = new.cell();
    let ratio = valid
        .then(|| unpaired_ratio(&values(new_cells, &cell), &values(old_cells, &cell)))
        .flatten();
    Change {
        old,
        new,
        ratio,
        against_ceiling,
    }
}

/// The speed of each round as a share of the raw loader's in the same block.
fn shares(cells: &Cells, cell: &Cell) -> Vec<f64> {
    let ceiling = Cell {
        client: CEILING.into(),
        keepalive: true,
        ..cell.clone()
    };
    let of_block = |block: u32| {
        let found = cells
            .rounds(&ceiling)
            .iter()
            .find(|round| round.block == block)?;
        Some(speed(found))
    };
    let share = |round: &&Round| Some(speed(round) / of_block(round.block)?);
    cells.rounds(cell).iter().filter_map(share).collect()
}
