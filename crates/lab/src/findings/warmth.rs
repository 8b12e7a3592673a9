//! Whether a row's processes were warm: what a request costs in the first round of a process, against its last.

use std::collections::BTreeMap;

use super::cells::speed;
use super::rows::Row;
use super::stats::median;
use super::words::{figure, listed};
use crate::run::Round;

/// A row was warming if the first round of its processes costs this many times the CPU of the last one, as the median
/// of all processes.
const DEARER: f64 = 1.15;

/// It must also cost this many times as much in each of most processes.
const DEARER_EACH: f64 = 1.1;

/// The share of processes that counts as most of them.
const MOST: f64 = 0.75;

/// Rows that a sentence names; the list of warnings names all.
const SHOWN: usize = 3;

/// Fewest processes of a row that can show it.
const PROCESSES: usize = 3;

/// The factor by which a process must be cheaper after its last round than in its cheapest round. It is higher than the
/// one between rounds, because there is only one look after the last round.
const CHEAPER_LATER: f64 = 1.5;

/// A row whose processes were still getting faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warming {
    /// Requests per second, median: of the first round of each process, or, if only the tries after the last round were
    /// faster, of all rounds.
    pub first: f64,
    /// Requests per second: of the last round of each process, median, or of the tries after the last round.
    pub steady: f64,
}

/// How a row was warming, by its rounds or else by the tries after the last one; none if neither shows it.
pub(super) fn warming(rounds: &[&Round]) -> Option<Warming> {
    in_the_rounds(rounds).or_else(|| after_the_rounds(rounds))
}

/// Compares the tries after the last round with the rounds: a process that gets cheaper in one step after that round
/// looks as even in its rounds as a warm one.
fn after_the_rounds(rounds: &[&Round]) -> Option<Warming> {
    let later = rounds.iter().find_map(|round| round.later)?;
    let cheapest = rounds.iter().map(|round| cost(round)).reduce(f64::min)?;
    let cost_later = later.cpu_ns as f64 / later.count as f64;
    let speeds: Vec<f64> = rounds.iter().map(|round| speed(round)).collect();
    let steady = later.count as f64 / (later.wall_ns as f64 / 1e9);
    (cheapest >= CHEAPER_LATER * cost_later).then_some(Warming {
        first: median(&speeds)?,
        steady,
    })
}

/// Compares the first round of each process with its last; none if no process had several rounds.
fn in_the_rounds(rounds: &[&Round]) -> Option<Warming> {
    let mut processes: BTreeMap<u32, Vec<&Round>> = BTreeMap::new();
    for round in rounds {
        processes.entry(round.invocation).or_default().push(round);
    }
    let ends = processes.values().filter_map(|rounds| {
        let first = rounds.iter().min_by_key(|round| round.block)?;
        let last = rounds.iter().max_by_key(|round| round.block)?;
        (first.block < last.block).then_some((*first, *last))
    });
    let ends: Vec<(&Round, &Round)> = ends.collect();
    let ratios: Vec<f64> = ends
        .iter()
        .map(|(first, last)| cost(first) / cost(last))
        .collect();
    let dearer = ratios.iter().filter(|ratio| **ratio >= DEARER_EACH).count();
    let most = ends.len() >= PROCESSES && dearer as f64 >= MOST * ends.len() as f64;
    if !most || median(&ratios)? < DEARER {
        return None;
    }
    let of = |end: fn(&(&Round, &Round)) -> f64| median(&ends.iter().map(end).collect::<Vec<_>>());
    Some(Warming {
        first: of(|ends| speed(ends.0))?,
        steady: of(|ends| speed(ends.1))?,
    })
}

/// CPU nanoseconds of a request.
fn cost(round: &Round) -> f64 {
    (round.cpu_user_ns + round.cpu_system_ns) as f64 / round.claim.done as f64
}

/// Which rows were still warming, in a sentence; none where all were warm.
pub(super) fn sentence<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let one = |row: &Row| {
        let warming = row.warming?;
        let (first, steady) = (figure(warming.first), figure(warming.steady));
        Some(format!(
            "{} at concurrency {} ({first} requests/s at first, {steady} at last)",
            row.client, row.load.concurrency
        ))
    };
    let named: Vec<String> = rows.filter_map(one).collect();
    if named.is_empty() {
        return None;
    }
    let more = named.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    let shown = named.iter().take(SHOWN).chain(&more);
    let names: Vec<&str> = shown.map(String::as_str).collect();
    Some(format!(
        "Still warming up, so that the figures mix cold rounds with warm ones: {}.",
        listed(&names)
    ))
}
