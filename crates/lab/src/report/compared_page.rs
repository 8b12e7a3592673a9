//! The page of a comparison: what was found, its chart and figures, and how to read them.

use super::compared::{figures, job};
use super::compared_charts::{pair_bars, round_trip_bars, speed_up_lines, time_lines};
use super::page::{cell, facts, head, table_with_foot, whole};
use super::svg::{escape, legend_marker};
use super::truths::{Witnessed, truths};
use super::view::load_words;
use crate::findings::{Compared, Findings, Row, SAME_ISH, What, trust};
use crate::ledger::Document;

/// The whole page.
pub(super) fn html(run: &Document, findings: &Findings, found: &Compared) -> String {
    let question = match &found.what {
        What::Pair(_) => "Which of the two is faster?",
        What::RoundTrips(_) => "What do kept connections save?",
        What::Batches(_) => "One after another, or all at once?",
    };
    let line = format!("{}, {}", job(run), run.environment.date);
    let mut page = head(run, "comparison", question, &line);
    let sentences: String = found
        .verdict
        .iter()
        .map(|sentence| format!("<li class=\"c0\">{}</li>", escape(sentence)))
        .collect();
    page += &format!("<ul class=\"verdicts\">{sentences}</ul>");
    page += &facts(run, &trust(run, findings));
    page += &panels(&charts(&findings.rows, run, found));
    page += &seen(run, findings);
    page += &all_figures(run, findings, found);
    page += &rejected(findings);
    page += &how_to_read();
    whole(page, run, findings)
}

/// One chart of a comparison.
pub(super) struct Chart {
    /// Its name as a file.
    pub(super) name: &'static str,
    title: &'static str,
    /// What is drawn, in the order of colours; none where one series needs no name.
    legend: Vec<&'static str>,
    pub(super) drawing: String,
}

pub(super) fn charts(rows: &[Row], run: &Document, found: &Compared) -> Vec<Chart> {
    let chart = |name, title, legend: &[&'static str], drawing| Chart {
        name,
        title,
        legend: legend.to_vec(),
        drawing,
    };
    match &found.what {
        What::Pair(pair) => {
            let drawing = pair_bars(run, rows, pair);
            vec![chart("pair", "Requests per second", &[], drawing)]
        }
        What::RoundTrips(trips) => {
            let legend = ["a new connection for each request", "kept connections"];
            let title = "A request at each round trip";
            vec![chart("keepalive", title, &legend, round_trip_bars(trips))]
        }
        What::Batches(batches) => {
            let legend = ["one after another", "all at once"];
            let speed_up = speed_up_lines(batches);
            let title = "How many times faster all at once is";
            vec![
                chart("batches", "A whole batch", &legend, time_lines(batches)),
                chart("speed-up", title, &["measured"], speed_up),
            ]
        }
    }
}

fn panels(charts: &[Chart]) -> String {
    let panels: String = charts
        .iter()
        .map(|chart| {
            let (title, keys) = (escape(chart.title), keys(&chart.legend));
            format!("<figure><h2>{title}</h2>{keys}{}</figure>", chart.drawing)
        })
        .collect();
    format!("<section class=\"panels\">{panels}</section>")
}

/// A legend; none where one series needs no name.
fn keys(names: &[&str]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let items: String = names
        .iter()
        .enumerate()
        .map(|(place, name)| format!("<li>{}{}</li>", legend_marker(place, false), escape(name)))
        .collect();
    format!("<ul class=\"legend always\">{items}</ul>")
}

fn all_figures(run: &Document, findings: &Findings, found: &Compared) -> String {
    let figures = figures(run, &findings.rows, found);
    let words = figures.begins_with_words();
    let class = |place: usize| if place == 0 && words { "word" } else { "" };
    let head = |(place, title): (usize, &[&str; 2])| {
        let broken = title.map(escape).join("<br>");
        format!("<th scope=\"col\" class=\"{}\">{broken}</th>", class(place))
    };
    let heads: String = figures.titles.iter().enumerate().map(head).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate();
        let cells: String = cells
            .map(|(place, text)| cell("td", class(place), text))
            .collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = figures.rows.iter().map(line).collect();
    let foot: String = figures.foot.iter().map(line).collect();
    let notes: String = figures
        .notes
        .iter()
        .map(|note| format!("<p class=\"soft\">{}</p>", escape(note)))
        .collect();
    let name = "All figures";
    let table = table_with_foot(name, &heads, &rows, &foot);
    format!("<section><h2>{name}</h2>{table}{notes}</section>")
}

/// What the origin's ledger saw of every setting.
fn seen(run: &Document, findings: &Findings) -> String {
    let several = run.plan.body_bytes.len() > 1;
    let alone = run.plan.clients.len() == 1;
    let line = |row: &Row| {
        let load = load_words(row, several);
        let words = match (alone, row.is_ceiling()) {
            (true, _) => load,
            (false, true) => format!("{} (ceiling), {load}", row.client),
            (false, false) => format!("{}, {load}", row.client),
        };
        Witnessed::of(words, run, [row])
    };
    let lines: Vec<Witnessed> = findings.rows.iter().map(line).collect();
    truths("setting", &lines)
}

fn rejected(findings: &Findings) -> String {
    let items: String = findings
        .rows
        .iter()
        .filter_map(|row| {
            let reason = row.rejected.as_deref()?;
            let place = format!("{}, {}", row.client, load_words(row, false));
            Some(format!(
                "<li><b>{}</b>: {}</li>",
                escape(&place),
                escape(reason)
            ))
        })
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!(
            "<section><h2>Rejected rows</h2><p>Shown, and nothing is said of them.</p>\
             <ul class=\"rejected\">{items}</ul></section>"
        ),
    }
}

fn how_to_read() -> String {
    format!(
        "<section><h2>How to read this</h2><p>All settings are measured in every block, in random order; ratios \
         compare rounds of the same block (Hodges–Lehmann on log-ratios, Wilcoxon signed-rank interval). Brackets and \
         bars are intervals of at least 95 %, or the full range where there are fewer than 6 rounds. Same-ish means \
         that the whole interval lies within ±{:.0} %. A row is rejected when the client's claim and the origin's ledger \
         disagree.</p></section>",
        SAME_ISH * 100.0
    )
}
