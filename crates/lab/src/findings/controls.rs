//! How small a difference a run can show: the scatter of its rows, one client that took part twice, and the reference
//! run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cells::{Cells, seconds};
use super::rows::Row;
use super::rules::rejection;
use super::stats::{Estimate, median, percentile};
use super::ties::Family;
use super::words::{interval, percent, times};
use crate::plan::{Cell, Control, Load};

/// From this spread of the reference run's rounds on, the machine is said to have changed.
const RESTLESS: f64 = 0.1;

/// The results of a run's controls.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Controls {
    /// Differences below this share cannot be detected; none if there is nothing to compare, or too few rounds.
    pub resolution: Option<f64>,
    /// The client that took part twice.
    pub again: Option<Again>,
    /// How far apart the baseline loader's rounds of fixed work are: the slower tenth over the faster tenth, less 1.
    pub reference_run: Option<f64>,
}

/// One client, measured twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Again {
    /// The client.
    pub client: String,
    /// How many times faster the first process was.
    pub ratio: f64,
    /// Ends of the interval.
    pub interval: [f64; 2],
    /// Whether the analysis calls the two different, which is wrong.
    pub apart: bool,
    #[serde(skip)]
    estimate: Estimate,
}

/// Looks at the cells that are compared with each other: those under one load.
pub(super) fn controls(cells: &Cells, rows: &[Row]) -> Controls {
    let groups = under_one_load(cells, rows).into_iter();
    let groups: Vec<Group> = groups.map(|group| Group::new(group, cells)).collect();
    of_groups(&groups, cells)
}

/// The controls of these groups alone.
pub(super) fn of_groups(groups: &[Group], cells: &Cells) -> Controls {
    let again = groups.iter().find_map(|group| group.again(cells));
    let resolutions = groups.iter().filter_map(|group| group.family.resolution());
    let resolution = median(&resolutions.collect::<Vec<_>>());
    Controls {
        resolution: resolution.map(|found| found.max(at_least(again.as_ref()))),
        again,
        reference_run: reference_run(cells),
    }
}

/// Cells that are compared with each other, and behind them the second process of the client that took part twice.
pub(super) struct Group {
    cells: Vec<Cell>,
    twin: Option<Cell>,
    pub(super) family: Family,
}

impl Group {
    pub(super) fn new(cells: Vec<Cell>, all: &Cells) -> Group {
        let is_twin =
            |cell: &&Cell| cell.control == Some(Control::Again) && cells.contains(&first(cell));
        let twin = all.iter().map(|(cell, _)| cell).find(is_twin);
        let honest = |twin: &&Cell| rejection(all.rounds(twin)).is_none();
        let twin = twin.filter(honest).cloned();
        let family = all.family(cells.iter().chain(&twin));
        Group {
            cells,
            twin,
            family,
        }
    }

    fn again(&self, cells: &Cells) -> Option<Again> {
        let twin = self.twin.as_ref()?;
        let first = first(twin);
        let index = self.cells.iter().position(|cell| *cell == first)?;
        let estimate = cells.ratio(&first, twin)?;
        Some(Again {
            ratio: estimate.value,
            interval: [estimate.low, estimate.high],
            apart: self.family.apart(index, self.cells.len())?,
            client: first.client,
            estimate,
        })
    }
}

/// The first process of the client that took part twice.
fn first(twin: &Cell) -> Cell {
    Cell {
        client: twin.first_name().to_owned(),
        control: None,
        load: twin.load,
    }
}

/// Cells of clients whose rows count, by their load.
fn under_one_load(cells: &Cells, rows: &[Row]) -> Vec<Vec<Cell>> {
    let client =
        |row: &&Row| row.rejected.is_none() && !row.is_baseline_loader() && row.speed.is_some();
    let reference = |cell: &Cell| cells.rounds(cell).iter().any(|round| round.reference);
    let mut groups: BTreeMap<Load, Vec<Cell>> = BTreeMap::new();
    for cell in rows.iter().filter(client).map(Row::cell) {
        if !reference(&cell) {
            let load = Load {
                keepalive: true,
                ..cell.load
            };
            groups.entry(load).or_default().push(cell);
        }
    }
    groups.into_values().collect()
}

/// The difference that chance made between a client and itself, where the analysis fell for it.
fn at_least(again: Option<&Again>) -> f64 {
    let wrong = again.filter(|again| again.apart);
    wrong.map_or(0.0, |again| again.ratio.max(1.0 / again.ratio) - 1.0)
}

fn reference_run(cells: &Cells) -> Option<f64> {
    let reference_run = |cell: &Cell| cell.control == Some(Control::ReferenceRun);
    let (_, rounds) = cells.iter().find(|(cell, _)| reference_run(cell))?;
    let mut walls: Vec<f64> = rounds.iter().map(|round| seconds(round.wall_ns)).collect();
    walls.sort_by(f64::total_cmp);
    Some(percentile(&walls, 0.9)? / percentile(&walls, 0.1)? - 1.0)
}

impl Controls {
    /// The results in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(resolution) = self.resolution {
            let share = percent((resolution * 100.0).ceil() / 100.0);
            sentences.push(format!(
                "This run cannot tell differences below {share} from chance."
            ));
        }
        if let Some(again) = &self.again {
            let figures = format!("{} {}", times(again.ratio), interval(&again.estimate));
            let client = &again.client;
            sentences.push(match again.apart {
                false => format!(
                    "As a control, {client} was measured twice; the two differ only by chance: {figures}."
                ),
                true => format!(
                    "As a control, {client} was measured twice, and the two look different ({figures}): do not trust small differences of this run."
                ),
            });
        }
        if let Some(spread) = self.reference_run.filter(|spread| *spread >= RESTLESS) {
            sentences.push(format!(
                "The machine's speed changed during the run: the same work of the baseline loader took up to {} longer in some rounds than in others.",
                percent(spread)
            ));
        }
        sentences
    }
}
