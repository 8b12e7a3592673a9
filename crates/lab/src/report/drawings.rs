//! The charts of the page as files of their own.

use super::bars::bars;
use super::figures::overview;
use super::panel::panel;
use super::view::bodies;
use super::{compared_page, judged, ranked};
use crate::findings::Findings;
use crate::ledger::Document;

const STYLE: &str = include_str!("page.css");

/// File names and SVG documents: for each body one chart of all clients, and one of each client alone.
///
/// For a shootout one chart of all that are ranked.
pub fn drawings(run: &Document, findings: &Findings) -> Vec<(String, String)> {
    if let Some(found) = judged(run, findings) {
        let charts = compared_page::charts(&findings.rows, run, &found);
        let named = charts
            .into_iter()
            .map(|chart| (format!("{}.svg", chart.name), standalone(&chart.drawing)));
        return named.collect();
    }
    if let Some(ranking) = ranked(run, findings) {
        let chart = bars(run, &ranking, true);
        return vec![("shootout.svg".into(), standalone(&chart))];
    }
    let mut files = Vec::new();
    for body in bodies(run, findings) {
        let bytes = body.bytes;
        files.push((
            format!("all-{bytes}.svg"),
            standalone(&overview(&body, true, "a")),
        ));
        for series in &body.clients {
            let name = format!("{}-{bytes}.svg", plain(series.client));
            files.push((name, standalone(&panel(series, &body, "p"))));
        }
    }
    files
}

/// A client's name as part of a file's: a document from elsewhere does not choose where that is.
fn plain(name: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    name.chars()
        .map(|c| if kept(c) { c } else { '-' })
        .collect()
}

/// The page's chart with the page's colours, which follow the reader's choice of light and dark there too.
pub(super) fn standalone(chart: &str) -> String {
    let (start, rest) = chart.split_once('>').expect("a chart is an element");
    let ground = "svg{background:var(--bg);font-family:system-ui,sans-serif}";
    format!(
        "{} xmlns=\"http://www.w3.org/2000/svg\"><style>{STYLE}.wide,.narrow{{display:block;max-width:none}}{ground}</style>{rest}\n",
        start
    )
}
