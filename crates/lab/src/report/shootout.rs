//! A shootout in a terminal: all clients sorted, letters for who cannot be told apart, the rejected below.

use super::entries::{
    COLUMNS, Column, TUNED_WORDS, any_letters, is_tuned, job, name, ratio_words, reason,
    reference_words, verdict,
};
use super::style::Style;
use super::terminal::{lines_of, plain_table, wrapped};
use crate::findings::words::figure;
use crate::findings::{Entry, Ranking};
use crate::ledger::Document;

/// Everything found, as text with a line break at the end.
pub fn shootout(run: &Document, ranking: &Ranking, style: &Style) -> String {
    let mut lines = vec![String::new()];
    let job = wrapped(&job(run), "", style);
    lines.extend(job.iter().map(|line| style.bold(line.trim_start())));
    lines.push(String::new());
    lines.extend(table(run, ranking, style));
    lines.push(String::new());
    lines.push(style.bold("Verdict"));
    for sentence in verdict(run, ranking) {
        lines.extend(wrapped(&sentence, "- ", style));
    }
    lines.extend(rejected(run, ranking, style));
    lines.extend(left_out(run, style));
    style.plain(lines.join("\n") + "\n")
}

fn table(run: &Document, ranking: &Ranking, style: &Style) -> Vec<String> {
    let names = |entries: &[Entry]| -> Vec<String> {
        entries.iter().map(|entry| name(run, entry)).collect()
    };
    let (ranked, outside) = (names(&ranking.ranked), names(&ranking.outside));
    let lengths = ranked
        .iter()
        .chain(&outside)
        .map(|name| name.chars().count());
    let columns = columns_that_fit(ranking, lengths.max().unwrap_or(6).max(6) + 6, style.width);
    let mut table = plain_table(style);
    let titles = columns.iter().map(|column| column.title.join("\n"));
    table.set_header(
        std::iter::once("client".to_owned())
            .chain(titles)
            .chain([String::new()]),
    );
    let mut add = |name: &String, entry: &Entry, mark: String| {
        let cells = columns.iter().map(|column| (column.value)(entry));
        table.add_row(std::iter::once(name.clone()).chain(cells).chain([mark]));
    };
    for (name, entry) in ranked.iter().zip(&ranking.ranked) {
        add(name, entry, entry.letters.clone());
    }
    for (name, entry) in outside.iter().zip(&ranking.outside) {
        add(name, entry, String::new());
    }
    let mut lines = lines_of(table, columns.len() + 1);
    lines.extend(notes(run, ranking, style));
    lines
}

/// What the marks mean, and what no column has to say when it is the same for all.
fn notes(run: &Document, ranking: &Ranking, style: &Style) -> Vec<String> {
    let mut notes = Vec::new();
    if any_letters(ranking) {
        notes.push("clients that share a letter cannot be told apart".to_owned());
    }
    let baseline = run.plan.baseline.as_deref().unwrap_or_default();
    notes.push(
        match ranking
            .ranked
            .iter()
            .any(|entry| entry.row.client == baseline)
        {
            true => format!("the baseline is {baseline}"),
            false => {
                format!("the baseline, {baseline}, was rejected, so there are no ratios to it")
            }
        },
    );
    notes.extend(ratio_words(ranking));
    if ranking.ranked.iter().any(|entry| is_tuned(run, entry)) {
        notes.push(TUNED_WORDS.to_owned());
    }
    notes.extend(reference_words(ranking));
    if !ranking.ranked.is_empty() {
        notes.push(
            "by the ledger, all of them: no error, no duplicate, as many in flight as asked".into(),
        );
    }
    notes
        .iter()
        .flat_map(|note| wrapped(note, "", style))
        .collect()
}

/// Leaves out the least important columns, the last of them first, until the rest fit.
fn columns_that_fit(ranking: &Ranking, used: usize, width: usize) -> Vec<&'static Column> {
    let entries = || ranking.ranked.iter().chain(&ranking.outside);
    let widest = |column: &Column| {
        let titles = column.title.iter().map(|line| line.chars().count());
        let values = entries().map(|entry| (column.value)(entry).chars().count());
        titles.chain(values).max().unwrap_or(0) + 2
    };
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    while used + columns.iter().map(|column| widest(column)).sum::<usize>() > width {
        let least = columns.iter().map(|column| column.rank).max();
        let last = columns
            .iter()
            .rposition(|column| column.rank > 0 && Some(column.rank) == least);
        match last {
            Some(place) => columns.remove(place),
            None => break,
        };
    }
    columns
}

fn rejected(run: &Document, ranking: &Ranking, style: &Style) -> Vec<String> {
    if ranking.rejected.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.warn("Rejected: shown, not ranked")];
    for entry in &ranking.rejected {
        let speed = figure(entry.row.requests_per_second);
        let text = format!(
            "{}, {speed} requests/s: {}",
            entry.row.client,
            reason(run, entry)
        );
        lines.extend(wrapped(&text, "- ", style));
    }
    lines
}

fn left_out(run: &Document, style: &Style) -> Vec<String> {
    if run.left_out.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.bold("Left out")];
    for why in &run.left_out {
        lines.extend(wrapped(why, "- ", style));
    }
    lines
}
