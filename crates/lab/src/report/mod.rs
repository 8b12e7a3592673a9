//! Shows what was found: as one JSON document, in a terminal, and as one HTML page.

mod bars;
pub mod changed;
mod chart;
mod compared;
mod compared_charts;
mod compared_page;
mod comparison;
mod csv;
mod drawings;
mod embedded;
mod entries;
mod figures;
mod html;
mod json;
mod markdown;
mod page;
mod panel;
mod scale;
mod shootout;
mod shootout_page;
mod style;
mod svg;
mod terminal;
mod truths;
mod view;

pub use compared::{batches_csv, judged};
pub use comparison::{comparison, heading, list};
pub use csv::csv;
pub use drawings::drawings;
pub use html::html;
pub use json::{BenchDocument, FullDocument, JudgedGoal, PartDocument, document};
pub use markdown::markdown;
pub use style::Style;
pub use terminal::terminal;

use crate::findings::{Findings, Ranking, judge, ranking};
use crate::ledger::Document;

/// A run as its command shows it in a terminal: a sweep's by concurrency, a shootout's by rank, a comparison's by what
/// is compared.
pub fn shown(run: &Document, style: &Style) -> String {
    let findings = judge(&run.rounds, &run.plan.delay);
    if let Some(found) = judged(run, &findings) {
        return compared::terminal(run, &findings.rows, &found, style);
    }
    match ranked(run, &findings) {
        Some(ranking) => shootout::shootout(run, &ranking, style),
        None => terminal(run, &findings, style),
    }
}

/// The ranking of a shootout; none for a run of another kind.
fn ranked(run: &Document, findings: &Findings) -> Option<Ranking> {
    let baseline = run.plan.baseline.as_deref()?;
    Some(ranking(
        &run.rounds,
        &run.starts,
        &findings.rows,
        baseline,
        run.environment.cores,
    ))
}
