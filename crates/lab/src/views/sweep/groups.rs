//! The rows of a sweep by client: those that differ in concurrency alone, or in the rate alone.

use super::super::common::*;
use super::super::form::*;
use super::super::percentiles;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;
use crate::plan::{Cell, Load};
use crate::spec::{BASELINE_LOADER, load_words};

/// One client under loads that differ in concurrency alone, or in the rate alone.
pub(super) struct Group<'a> {
    pub(super) name: String,
    pub(super) client: &'a str,
    /// Its position among all: colour and marker follow it, in every chart the same.
    pub(super) place: usize,
    pub(super) bytes: usize,
    /// In ascending concurrency or rate.
    pub(super) rows: Vec<&'a Row>,
    pub(super) advice: Option<&'a Recommendation>,
}

/// By body, then the fastest first and the baseline loader last; at rates in the order of the plan.
pub(super) fn groups<'a>(run: &Document, findings: &'a Findings) -> Vec<Group<'a>> {
    let order = |client: &str| {
        let planned = run.plan.clients.iter().position(|name| name == client);
        (client == BASELINE_LOADER, planned.unwrap_or(usize::MAX))
    };
    let mut rows: Vec<&Row> = findings.rows.iter().collect();
    let key = |row: &Row| (row.load.body_bytes, order(&row.client), kind(row));
    rows.sort_by(|a, b| {
        let then = || across(a).total_cmp(&across(b));
        key(a).cmp(&key(b)).then_with(then)
    });
    let mut kinds: Vec<Cell> = rows.iter().map(|row| kind(row)).collect();
    kinds.sort_by_key(|cell| order(&cell.client));
    kinds.dedup();
    let advice = |own: &[&Row]| {
        let mut advice = findings.recommendations.iter();
        advice.find(|it| own.iter().any(|row| it.cell() == row.cell()))
    };
    let group = |own: &[&'a Row]| Group {
        name: name_among(&kinds, &kind(own[0]), run),
        client: &own[0].client,
        place: kinds.iter().position(|it| *it == kind(own[0])).unwrap_or(0),
        bytes: own[0].load.body_bytes,
        rows: own.to_vec(),
        advice: advice(own),
    };
    let same = |a: &&Row, b: &&Row| (a.load.body_bytes, kind(a)) == (b.load.body_bytes, kind(b));
    let mut groups: Vec<Group> = rows.chunk_by(same).map(group).collect();
    groups.sort_by(|a, b| {
        let rank = |group: &Group| (group.bytes, group.is_baseline_loader());
        let speed = || b.speed().total_cmp(&a.speed());
        rank(a).cmp(&rank(b)).then_with(speed)
    });
    groups
}

/// The client and the load that the rows of a group share. Their bodies, concurrencies and rates differ.
fn kind(row: &Row) -> Cell {
    let load = Load {
        concurrency: row.load.rate.map_or(0, |_| row.load.concurrency),
        body_bytes: 0,
        rate: row.load.rate.map(|rate| rate.of_any_amount()),
        ..row.load
    };
    Cell::new(&row.client, load)
}

/// The name of a client, with its load if it was measured under several kinds of them.
fn name_among(kinds: &[Cell], own: &Cell, run: &Document) -> String {
    let several = kinds.iter().filter(|kind| kind.client == own.client);
    let words = load_words(&own.load, &run.plan.usual())
        .replace("concurrency 0", "")
        .replace("rate poisson:1", "arrivals by chance")
        .replace("rate 1", "even arrivals");
    let words = words.trim_start_matches(", ");
    match several.count() == 1 || words.is_empty() {
        true => name(&own.client),
        false => format!("{}, {words}", name(&own.client)),
    }
}

impl Group<'_> {
    pub(super) fn is_baseline_loader(&self) -> bool {
        self.client == BASELINE_LOADER
    }

    /// The rows that may be compared.
    pub(super) fn valid(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .copied()
            .filter(|row| row.rejected.is_none())
    }

    pub(super) fn recommends(&self, row: &Row) -> bool {
        self.advice
            .is_some_and(|advice| advice.load.concurrency == row.load.concurrency)
    }

    pub(super) fn recommended(&self) -> Option<&Row> {
        self.rows.iter().copied().find(|row| self.recommends(row))
    }

    /// What it is ranked by: its recommended speed, or else its highest. Rates are not speeds.
    fn speed(&self) -> f64 {
        let speeds = self.recommended().or_else(|| self.valid().max_by(faster));
        let speeds = speeds.filter(|row| row.load.rate.is_none());
        speeds.map_or(0.0, |row| row.requests_per_second)
    }

    pub(super) fn latencies_of<'b>(&'b self, row: &'b Row) -> percentiles::Client<'b> {
        percentiles::Client {
            name: &self.name,
            colour: self.colour(),
            row,
        }
    }

    pub(super) fn colour(&self) -> Colour {
        Colour::of(self.place, self.is_baseline_loader())
    }
}

fn faster(a: &&Row, b: &&Row) -> std::cmp::Ordering {
    a.requests_per_second.total_cmp(&b.requests_per_second)
}

/// Where a row stands in charts: its rate, or its concurrency in the closed loop.
pub(super) fn across(row: &Row) -> f64 {
    row.due_per_second.unwrap_or(row.load.concurrency as f64)
}

/// The same in words.
pub(super) fn at(row: &Row) -> String {
    match row.due_per_second {
        Some(rate) => format!("{} requests/s", figure(rate)),
        None => format!("concurrency {}", row.load.concurrency),
    }
}

/// Every concurrency or rate at which a client was measured.
pub(super) fn grid(groups: &[&Group]) -> Vec<f64> {
    let mut grid: Vec<f64> = groups
        .iter()
        .flat_map(|group| &group.rows)
        .map(|row| across(row))
        .collect();
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    grid
}
