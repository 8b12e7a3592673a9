//! Shows what was found: as one JSON document, in a terminal, and as one HTML page.

mod chart;
mod comparison;
mod csv;
mod drawings;
mod embedded;
mod figures;
mod html;
mod json;
mod markdown;
mod scale;
mod shootout;
mod side_by_side;
mod style;
mod svg;
mod terminal;
mod view;

pub use comparison::{comparison, heading, list};
pub use csv::csv;
pub use drawings::drawings;
pub use html::html;
pub use json::{BenchDocument, FullDocument, JudgedGoal, PartDocument, document};
pub use markdown::markdown;
pub use side_by_side::side_by_side;
pub use style::Style;
pub use terminal::terminal;

use crate::findings::{Ranking, judge, ranking};
use crate::ledger::Document;

/// A run as its command shows it in a terminal: a sweep's by concurrency, a shootout's by rank.
pub fn shown(run: &Document, style: &Style) -> String {
    match ranked(run) {
        Some(ranking) => shootout::shootout(run, &ranking, style),
        None => terminal(run, &judge(&run.rounds, &run.plan.delay), style),
    }
}

/// The ranking of a shootout; none for a run of another kind.
fn ranked(run: &Document) -> Option<Ranking> {
    let baseline = run.plan.baseline.as_deref()?;
    let findings = judge(&run.rounds, &run.plan.delay);
    Some(ranking(
        &run.rounds,
        &run.starts,
        &findings.rows,
        baseline,
        run.environment.cores,
    ))
}
