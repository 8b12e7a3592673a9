//! Changes between two runs: each cell that both measured, divided by the baseline loader of its own run.

use super::cells::{Cells, speed};
use super::processes::Sample;
use super::ranking::whole;
use super::rows::Row;
use super::stats::{Estimate, Statement};
use super::unpaired::unpaired_ratio;
use crate::ledger::{Document, PlanRecord};
use crate::plan::Cell;
use crate::run::Round;
use crate::spec::Target;

/// Two runs next to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Every cell that both measured, without the baseline loader's own, in the order of rows. Empty when the plans of
    /// the runs differ.
    pub rows: Vec<Change>,
    /// How the plans differ. If they differ, nothing is compared.
    pub unlike: Vec<String>,
    /// Rows of the older run only.
    pub gone: Vec<Row>,
    /// Rows of the newer run only.
    pub added: Vec<Row>,
    /// Rows of `gone` that the plan of the newer run contains too.
    pub failed: Vec<Row>,
}

impl Changes {
    /// Rows that became slower by more than `share`, can no longer be ranked, or are missing although they were
    /// requested.
    pub fn worse(&self, share: f64) -> Vec<&Row> {
        let slower = self.rows.iter().filter(|change| change.is_worse(share));
        let slower = slower.map(|change| &change.new);
        slower.chain(&self.failed).collect()
    }

    /// Whether any row has enough rounds for a statement.
    pub fn says_anything(&self) -> bool {
        let sure = |change: &Change| change.ratio.is_some_and(|it| it.confidence.is_some());
        self.rows.iter().any(sure)
    }
}

/// One cell in two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The row of the older run.
    pub old: Row,
    /// The row of the newer run.
    pub new: Row,
    /// How many times faster the newer is; none when either is rejected or did nothing.
    pub ratio: Option<Estimate>,
    /// Whether each round's speed was taken as a share of the baseline loader's in the same block, which
    /// leaves out what the machine itself changed.
    pub against_loader: bool,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The whole interval is below the range that counts as equivalent.
    Slower,
    /// One of the two rows is rejected, or did nothing.
    Rejected,
    /// The whole interval is above the range that counts as equivalent.
    Faster,
    /// The interval is neither inside nor outside the range that counts as equivalent.
    Unclear,
    /// There are too few rounds for an interval.
    TooFew,
    /// The whole interval is within the range that counts as equivalent.
    Same,
}

impl Direction {
    /// The direction in words.
    pub fn words(self) -> &'static str {
        match self {
            Direction::Slower => "slower",
            Direction::Rejected => "rejected",
            Direction::Faster => "faster",
            Direction::Unclear => "not clear",
            Direction::TooFew => "too few rounds",
            Direction::Same => "equivalent",
        }
    }
}

impl Change {
    /// Whether the whole interval is slower by more than `share` (0.05 for 5 %), or only the newer row is rejected.
    pub fn is_worse(&self, share: f64) -> bool {
        let slower = |ratio: Estimate| ratio.confidence.is_some() && ratio.high < 1.0 - share;
        let broken = self.old.rejected.is_none() && self.new.rejected.is_some();
        broken || self.ratio.is_some_and(slower)
    }

    /// The direction of the change.
    pub fn direction(&self) -> Direction {
        match self.ratio.map(|ratio| ratio.against(1.0)) {
            None => Direction::Rejected,
            Some(Statement::TooFew) => Direction::TooFew,
            Some(Statement::More) => Direction::Faster,
            Some(Statement::Less) => Direction::Slower,
            Some(Statement::Same) => Direction::Same,
            Some(Statement::Unclear) => Direction::Unclear,
        }
    }
}

/// Compares a run with an older one.
pub fn changes(old: &Document, new: &Document) -> Changes {
    let unlike = differences(&old.plan, &new.plan);
    if !unlike.is_empty() {
        return Changes {
            unlike,
            ..Changes::default()
        };
    }
    let (old_cells, new_cells) = (Cells::new(&old.rounds), Cells::new(&new.rounds));
    let (old_rows, new_rows) = (rows(&old_cells, old), rows(&new_cells, new));
    // The usual loads of the two runs differ at most in the requests of a round: longer rounds have more of them.
    let key = |row: &Row| {
        let usual = [&old.plan, &new.plan].map(|plan| plan.usual());
        let load = usual
            .into_iter()
            .fold(row.load, |load, usual| load.beyond(&usual));
        Cell::new(&row.client, load)
    };
    let only = |rows: &[Row], others: &[Row]| -> Vec<Row> {
        let lacks = |row: &&Row| others.iter().all(|other| key(other) != key(row));
        rows.iter().filter(lacks).cloned().collect()
    };
    let (gone, added) = (only(&old_rows, &new_rows), only(&new_rows, &old_rows));
    let requested = |row: &&Row| new.plan.plans(&row.cell());
    let failed = gone.iter().filter(requested).cloned().collect();
    let both = new_rows.into_iter().filter_map(|row| {
        let before = old_rows.iter().find(|old| key(old) == key(&row))?;
        Some(change(before.clone(), row, &old_cells, &new_cells))
    });
    Changes {
        rows: both.collect(),
        gone,
        added,
        failed,
        ..Changes::default()
    }
}

/// The rows of clients, without load generators. A row is rejected when its client broke during the run.
fn rows(cells: &Cells, run: &Document) -> Vec<Row> {
    let rows = super::rows::rows(cells, &run.plan.usual());
    let reference = |row: &Row| cells.rounds(&row.cell()).iter().any(|it| it.reference);
    let clients = rows.iter().filter(|row| !row.is_baseline_loader());
    let clients = clients.filter(|row| !reference(row));
    clients.map(|row| whole(row, cells)).collect()
}

/// Differences between the plans that concern all cells, in words. A difference in one cell alone is part of its load.
fn differences(old: &PlanRecord, new: &PlanRecord) -> Vec<String> {
    let target = |plan: &PlanRecord| match &plan.target {
        Target::TestServer => "the lab's own server".to_owned(),
        Target::Foreign { method, url, .. } => format!("{method} {url}"),
    };
    let on = |tls: bool| if tls { "on" } else { "off" };
    let job = |plan: &PlanRecord| plan.job.name().to_owned();
    let both = [
        ("delay", old.delay.to_string(), new.delay.to_string()),
        ("TLS", on(old.tls).into(), on(new.tls).into()),
        ("job", job(old), job(new)),
        ("target", target(old), target(new)),
    ];
    let unlike = both.into_iter().filter(|(_, old, new)| old != new);
    unlike
        .map(|(what, old, new)| format!("{what} {old} before, {new} after"))
        .collect()
}

fn change(old: Row, new: Row, old_cells: &Cells, new_cells: &Cells) -> Change {
    let against_loader = old.baseline_loader.is_some() && new.baseline_loader.is_some();
    let speeds = |cells: &Cells, cell: &Cell| {
        let rounds = cells.rounds(cell).iter();
        rounds.map(|it| (speed(it), it.invocation)).collect()
    };
    let values = if against_loader { shares } else { speeds };
    let valid = old.rejected.is_none() && new.rejected.is_none();
    let ratio = || {
        let before = values(old_cells, &old.cell());
        unpaired_ratio(&values(new_cells, &new.cell()), &before)
    };
    Change {
        ratio: valid.then(ratio).flatten(),
        old,
        new,
        against_loader,
    }
}

/// The speed of each round as a share of the baseline loader's in the same block.
fn shares(cells: &Cells, cell: &Cell) -> Vec<Sample> {
    let loader = cell.loader();
    let of_block = |block: u32| {
        let mut rounds = cells.rounds(&loader).iter();
        rounds
            .find(|round| round.block == block)
            .map(|it| speed(it))
    };
    let share = |round: &&Round| Some((speed(round) / of_block(round.block)?, round.invocation));
    cells.rounds(cell).iter().filter_map(share).collect()
}
