//! Draws views: one renderer for each medium. The content of a view is built in `views`.

mod bars;
mod braille;
mod csv;
mod geometry;
mod html;
mod index;
mod json;
mod lines;
mod markdown;
mod scale;
mod style;
mod svg;
mod terminal;

pub use crate::findings::{Beside, beside};
pub use crate::views::{Part, View, bench, changed, view};
pub use html::STYLE;
pub use index::{Entry, What, index};
pub use json::{BenchDocument, FullDocument, JudgedGoal, PartDocument, document};
pub use style::Style;
pub use terminal::wrapped;

use serde_json::Value;

use crate::views::form::{Block, Chart};

impl View {
    /// As text for a terminal, with a line break at the end.
    pub fn terminal(&self, style: &Style) -> String {
        terminal::terminal(self, style)
    }

    /// As Markdown, to paste into an issue or a post.
    pub fn markdown(&self) -> String {
        markdown::markdown(self)
    }

    /// Makes the page link to `home` as the project's home.
    pub fn at_home(self, home: impl Into<String>) -> View {
        View {
            home: Some(home.into()),
            ..self
        }
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
    pub fn json(&self) -> &Value {
        &self.json
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
                Chart::Lines(chart) => {
                    let wide = lines::wide(chart, "a");
                    let drawing = wide.unwrap_or_else(|| lines::lines(chart, "a"));
                    (&chart.name, drawing)
                }
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
    let allowed = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    name.chars()
        .map(|c| if allowed(c) { c } else { '-' })
        .collect()
}
