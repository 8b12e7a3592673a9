//! Two builds of one client under one load: which is faster and which is cheaper, or that they are not told apart.

use super::cells::{Cells, cpu, speed};
use super::goals::{Judgement, not_judged};
use super::rows::Row;
use super::stats::{Estimate, Statement};
use super::words::{plural, times};
use crate::run::Round;

/// Words of every sentence about builds that may be equal.
const NOT_APART: &str = "not told apart";

/// A measure that is compared, and the words for a clear difference.
struct Measure {
    name: &'static str,
    value: fn(&Round) -> f64,
    more: &'static str,
    less: &'static str,
    /// What is worse.
    worse: Statement,
}

const MEASURES: [Measure; 2] = [
    Measure {
        name: "requests/s",
        value: speed,
        more: "faster",
        less: "slower",
        worse: Statement::Less,
    },
    Measure {
        name: "CPU time a request",
        value: cpu,
        more: "costs more",
        less: "costs less",
        worse: Statement::More,
    },
];

/// The judgements of one of `loads` loads. All judgements of a run together name a difference between equal builds in
/// at most one run of twenty.
pub(super) fn judged(
    what: &str,
    rows: [&Row; 2],
    loads: usize,
    cells: &Cells<'_>,
) -> Vec<Judgement> {
    let [own, other] = rows.map(Row::cell);
    let together = loads * MEASURES.len();
    let judge = |measure: &Measure| {
        let what = format!("{what}, {}", measure.name);
        match cells.ratio_among(together, &own, &other, measure.value) {
            Some(found) => judgement(what, &found, measure),
            None => not_judged(what, 1.0, "a round ended without a single request done"),
        }
    };
    MEASURES.iter().map(judge).collect()
}

fn judgement(what: String, found: &Estimate, measure: &Measure) -> Judgement {
    let statement = found.against(1.0);
    let said = match statement {
        Statement::More => measure.more.into(),
        Statement::Less => measure.less.into(),
        Statement::Same => format!("{NOT_APART}, equivalent (within ±2 %)"),
        Statement::Unclear => format!("{NOT_APART}, more --rounds may help"),
        Statement::TooFew => {
            let rounds = plural(found.samples as u64, "round");
            format!("{NOT_APART}, {rounds} are too few")
        }
    };
    let met = statement != measure.worse;
    let words = format!("{} {}: {said}", times(found.value), width(found));
    Judgement::of(what, found.value, 1.0, met, &words).with(found, statement)
}

/// The interval, with its confidence: it is wider than those of the tables.
fn width(found: &Estimate) -> String {
    let (low, high) = (times(found.low), times(found.high));
    let (low, high) = (low.trim_end_matches('×'), high.trim_end_matches('×'));
    match found.confidence {
        Some(confidence) => format!("[{low}–{high} at {:.1} %]", confidence * 100.0),
        None => format!("(range {low}–{high})"),
    }
}
