//! Shows what was found: [`view`] and its like build one form from findings, and each medium renders that form.

mod again;
mod bars;
mod bench;
mod braille;
mod changed;
mod common;
mod compare;
mod csv;
mod form;
mod html;
mod index;
mod json;
mod lines;
mod markdown;
mod scale;
mod shootout;
mod style;
mod svg;
mod sweep;
mod terminal;

pub use crate::findings::{Beside, beside};
pub use bench::{Part, bench};
pub use changed::changed;
pub use form::View;
pub use index::index;
pub use json::{BenchDocument, FullDocument, JudgedGoal, PartDocument, document};
pub use style::Style;

use serde_json::Value;

use crate::findings::{Compared, Findings, Ranking, compared, ranking};
use crate::ledger::Document;
use form::{Block, Chart};

/// A run: a sweep by concurrency, a shootout by rank, a comparison by what is compared.
pub fn view(run: &Document, findings: &Findings) -> View {
    let findings = &advised(run, findings);
    match (judged(run, findings), ranked(run, findings)) {
        (Some(found), _) => compare::view(run, findings, &found),
        (None, Some(ranking)) => shootout::view(run, findings, &ranking),
        (None, None) => sweep::view(run, findings),
    }
}

impl View {
    /// As text for a terminal, with a line break at the end.
    pub fn terminal(&self, style: &Style) -> String {
        terminal::terminal(self, style)
    }

    /// As Markdown, to paste into an issue or a post.
    pub fn markdown(&self) -> String {
        markdown::markdown(self)
    }

    /// As one page that needs nothing else.
    pub fn html(&self) -> String {
        html::html(self)
    }

    /// Its rows for a spreadsheet; of batches there are only their averages.
    pub fn csv(&self) -> String {
        self.csv.clone().unwrap_or_else(|| csv::csv(&self.records))
    }

    /// CSV that a kind of run has of its own.
    pub fn own_csv(&self) -> Option<&str> {
        self.csv.as_deref()
    }

    /// For machines, where there is no document of a run: what was compared, and its rows.
    pub fn json(&self) -> Value {
        self.data
            .first()
            .map(|(value, _)| value.clone())
            .unwrap_or_default()
    }

    /// Its charts as files, by name.
    pub fn drawings(&self) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = Vec::new();
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        let charts = blocks.filter_map(|block| match block {
            Block::Charts(charts) => Some(charts),
            _ => None,
        });
        for chart in charts.flatten() {
            let (name, drawing) = match chart {
                Chart::Lines(chart) => (&chart.name, lines::lines(chart, "a")),
                Chart::Bars(chart) => (&chart.name, bars::bars(chart, true, "a")),
            };
            let name = format!("{}.svg", plain(name));
            if files.iter().all(|(known, _)| *known != name) {
                files.push((name, svg::standalone(&drawing)));
            }
        }
        files
    }
}

/// The name of a chart as that of a file: a document from elsewhere does not choose where that is.
fn plain(name: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    name.chars()
        .map(|c| if kept(c) { c } else { '-' })
        .collect()
}

/// The findings; without recommendations where the run did not end.
fn advised(run: &Document, findings: &Findings) -> Findings {
    let mut findings = findings.clone();
    if run.unfinished.is_some() {
        findings.recommendations.clear();
        findings.verdicts.clear();
    }
    findings
}

/// The ranking of a shootout; none for a run of another kind.
fn ranked(run: &Document, findings: &Findings) -> Option<Ranking> {
    let baseline = run.plan.baseline.as_deref()?;
    let cores = run.environment.cores;
    Some(ranking(
        &run.rounds,
        &run.starts,
        &findings.rows,
        baseline,
        cores,
    ))
}

/// What a comparison found; none for a run of another kind.
fn judged(run: &Document, findings: &Findings) -> Option<Compared> {
    let comparison = run.plan.comparison.as_ref()?;
    let cores = run.environment.cores;
    Some(compared(comparison, &run.rounds, &findings.rows, cores))
}
