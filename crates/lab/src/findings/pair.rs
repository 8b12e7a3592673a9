//! Two sides in the same blocks: how many times faster one is, and what it costs.

use serde::Serialize;

use super::cells::{Cells, cpu};
use super::rows::{Row, row_of};
use super::stats::{Estimate, Statement};
use super::words::{interval, times};
use crate::plan::Cell;
use crate::spec::side_words;

/// Two sides, compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Names of A and B, with the settings in which they differ.
    pub names: [String; 2],
    /// How many times faster A is; none when a side was rejected or did nothing.
    pub ratio: Option<Estimate>,
    /// CPU time of a request of A as a multiple of B's; none as above.
    pub cpu_ratio: Option<Estimate>,
}

pub(super) fn pair(a: &Cell, b: &Cell, rows: &[Row], cells: &Cells) -> Pair {
    let valid = [a, b]
        .into_iter()
        .all(|side| row_of(side, rows).is_some_and(|row| row.rejected.is_none()));
    Pair {
        names: [name(a, b), name(b, a)],
        ratio: valid.then(|| cells.ratio(a, b)).flatten(),
        cpu_ratio: valid.then(|| cells.ratio_among(1, a, b, cpu)).flatten(),
    }
}

/// A side's client, with what is set otherwise than for the other side.
fn name(side: &Cell, other: &Cell) -> String {
    let settings = side_words(&side.load, &other.load);
    match settings.is_empty() {
        true => side.client.clone(),
        false => format!("{} ({})", side.client, settings.join(", ")),
    }
}

pub(super) fn verdict(pair: &Pair, a: &Cell, b: &Cell, rows: &[Row]) -> Vec<String> {
    let [first, second] = &pair.names;
    let Some(ratio) = pair.ratio else {
        return vec![nothing(pair, [a, b], rows)];
    };
    let mut sentences = vec![sentence(first, second, &ratio)];
    if let Some(cpu) = pair.cpu_ratio {
        sentences.push(format!(
            "{first} uses {} {} the CPU time of {second} for a request.",
            times(cpu.value),
            interval(&cpu)
        ));
    }
    let limit = |side: &Cell| {
        let server = row_of(side, rows)?.server?;
        Some(format!("Of {}, {}.", side.client, server.limit()?))
    };
    sentences.extend([a, b].into_iter().find_map(limit));
    sentences
}

fn sentence(first: &str, second: &str, ratio: &Estimate) -> String {
    let figures = format!("{} {}", times(ratio.value), interval(ratio));
    match ratio.against(1.0) {
        Statement::More | Statement::Less => format!("{first} is {figures} as fast as {second}."),
        Statement::Same => format!("{first} and {second} are equivalent: {figures}."),
        Statement::Unclear => format!(
            "{first} and {second} are not clearly different: {figures}; more --rounds would decide."
        ),
        Statement::TooFew => format!(
            "{first} was {figures} as fast as {second}; six rounds or more would say so with 95 % confidence."
        ),
    }
}

/// Why there is no ratio.
fn nothing(pair: &Pair, sides: [&Cell; 2], rows: &[Row]) -> String {
    for (name, side) in pair.names.iter().zip(sides) {
        let row = row_of(side, rows);
        if let Some(reason) = row.and_then(|row| row.rejected.as_deref()) {
            return format!("Nothing can be said: {name} is rejected: {reason}.");
        }
    }
    "Nothing can be said: a round ended without a single request done.".into()
}
