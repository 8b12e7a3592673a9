//! What a run can resolve, by its own measure: the scatter of its rows, one client that took part twice, and the raw
//! loader's rounds of fixed work.

use std::collections::BTreeMap;

use hecaton_origin::Delay;
use serde::Serialize;

use super::cells::{Cells, seconds};
use super::family::Family;
use super::rows::Row;
use super::rules::rejection;
use super::stats::{Estimate, median, percentile};
use super::words::{interval, percent, times};
use crate::plan::{Cell, Control, Own};

/// From this spread of the canary's rounds on, the machine is said to have changed.
const RESTLESS: f64 = 0.1;

/// What the controls of a run say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Controls {
    /// Differences below this share cannot be told; none where there is nothing to compare, or too few rounds.
    pub resolution: Option<f64>,
    /// The client that took part twice.
    pub again: Option<Again>,
    /// How far apart the raw loader's rounds of fixed work are: the slower tenth over the faster tenth, less 1.
    pub canary: Option<f64>,
}

/// One client, measured twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// Looks at the cells that are compared with each other, group by group; without groups, those under one load are.
pub(super) fn controls(
    cells: &Cells,
    rows: &[Row],
    delay: &Delay,
    groups: Option<&[Cell]>,
) -> Controls {
    let twin = cells
        .iter()
        .map(|(cell, _)| cell)
        .find(|cell| cell.own.control == Some(Control::Again));
    let twin = twin.filter(|twin| rejection(cells.rounds(twin), &twin.wait(*delay)).is_none());
    let groups = match groups {
        Some(group) => vec![valid(rows, cells, |cell| group.contains(cell))],
        None => under_one_load(cells, rows),
    };
    let mut again = None;
    let mut resolutions = Vec::new();
    for mut group in groups {
        let own = twin.filter(|twin| group.contains(&first(twin)));
        group.extend(own.cloned());
        let family = cells.family(group.iter());
        resolutions.extend(family.resolution());
        if let Some(twin) = own {
            again = of_twin(twin, &group, &family, cells);
        }
    }
    Controls {
        resolution: median(&resolutions).map(|found| found.max(at_least(again.as_ref()))),
        again,
        canary: canary(cells),
    }
}

/// The first process of the client that took part twice.
fn first(twin: &Cell) -> Cell {
    Cell {
        client: twin.first_name().to_owned(),
        own: Own {
            control: None,
            ..twin.own
        },
        ..twin.clone()
    }
}

/// Cells of clients whose rows count.
fn valid(rows: &[Row], cells: &Cells, meant: impl Fn(&Cell) -> bool) -> Vec<Cell> {
    let client = |row: &&Row| row.rejected.is_none() && !row.is_ceiling() && row.speed.is_some();
    let found = rows.iter().filter(client).map(Row::cell);
    let measured = |cell: &Cell| cells.rounds(cell).iter().all(|round| !round.reference);
    found.filter(|cell| measured(cell) && meant(cell)).collect()
}

fn under_one_load(cells: &Cells, rows: &[Row]) -> Vec<Vec<Cell>> {
    let mut groups: BTreeMap<(usize, usize, Own), Vec<Cell>> = BTreeMap::new();
    for cell in valid(rows, cells, |_| true) {
        let load = (cell.body_bytes, cell.concurrency, cell.own);
        groups.entry(load).or_default().push(cell);
    }
    groups.into_values().collect()
}

fn of_twin(twin: &Cell, group: &[Cell], family: &Family, cells: &Cells) -> Option<Again> {
    let first = first(twin);
    let place = group.iter().position(|cell| *cell == first)?;
    let estimate = cells.ratio(&first, twin)?;
    Some(Again {
        ratio: estimate.value,
        interval: [estimate.low, estimate.high],
        apart: family.apart(place, group.len() - 1)?,
        client: first.client,
        estimate,
    })
}

/// The difference that chance made between a client and itself, where the analysis fell for it.
fn at_least(again: Option<&Again>) -> f64 {
    let wrong = again.filter(|again| again.apart);
    wrong.map_or(0.0, |again| again.ratio.max(1.0 / again.ratio) - 1.0)
}

fn canary(cells: &Cells) -> Option<f64> {
    let canary = |cell: &Cell| cell.own.control == Some(Control::Canary);
    let (_, rounds) = cells.iter().find(|(cell, _)| canary(cell))?;
    let mut walls: Vec<f64> = rounds.iter().map(|round| seconds(round.wall_ns)).collect();
    walls.sort_by(f64::total_cmp);
    Some(percentile(&walls, 0.9)? / percentile(&walls, 0.1)? - 1.0)
}

impl Controls {
    /// What they say, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(resolution) = self.resolution {
            let share = percent((resolution * 100.0).ceil() / 100.0);
            sentences.push(format!("Differences below {share} cannot be told here."));
        }
        if let Some(again) = &self.again {
            let figures = format!("{} {}", times(again.ratio), interval(&again.estimate));
            let client = &again.client;
            sentences.push(match again.apart {
                false => format!("Chance made {client} {figures} as fast as itself in a second process."),
                true => format!(
                    "{client} seems to be {figures} as fast as itself in a second process: do not trust small differences of this run."
                ),
            });
        }
        if let Some(spread) = self.canary.filter(|spread| *spread >= RESTLESS) {
            sentences.push(format!(
                "The machine changed meanwhile: the same work of the raw loader took up to {} longer in some rounds than in others.",
                percent(spread)
            ));
        }
        sentences
    }
}
