//! One client beside the others in a terminal: a table for every body size, the fastest first at each concurrency.

use super::style::Style;
use super::terminal::{lines_of, plain_table, rejected, wrapped};
use super::view::{COLUMNS, Column, bodies, widest};
use crate::findings::stats::{Estimate, FEWEST_PAIRS};
use crate::findings::words::{interval, plural, times};
use crate::findings::{Findings, Row, body_words, ratio};
use crate::ledger::Document;

/// Stands in place of a ratio where there is none.
const NONE: &str = "–";

/// Columns that a comparison can do without, the most wanted first.
const OPTIONAL: [[&str; 2]; 5] = [
    ["peak", "MB"],
    ["of the", "ceiling"],
    ["CPU ms", "/ req."],
    ["p50", "ms"],
    ["p99", "ms"],
];

/// Tables of all rows, with the speed of `subject` divided by each one's, as text with a line break at the end.
pub fn comparison(run: &Document, findings: &Findings, subject: &str, style: &Style) -> String {
    let mut lines = Vec::new();
    for body in bodies(run, findings) {
        let mut rows: Vec<&Row> = body.clients.iter().flat_map(|s| s.rows.clone()).collect();
        rows.sort_by(|a, b| {
            let rank = |row: &Row| (row.concurrency, row.rejected.is_some());
            rank(a)
                .cmp(&rank(b))
                .then(b.requests_per_second.total_cmp(&a.requests_per_second))
        });
        lines.push(format!("  {}", style.bold(&body_words(body.bytes))));
        lines.extend(table(&rows, run, subject, style));
        lines.push(format!("  {}", meaning(run)));
        if rows.iter().any(|row| !row.keepalive) {
            lines.push("  * a new connection for each request".into());
        }
        lines.push(String::new());
    }
    lines.extend(rejected(findings, style));
    style.plain(lines.join("\n") + "\n")
}

/// What the brackets are.
fn meaning(run: &Document) -> String {
    if run.plan.rounds as usize >= FEWEST_PAIRS {
        return "[ ] holds the truth in 95 of 100 cases".into();
    }
    let rounds = plural(run.plan.rounds.into(), "round");
    format!("[ ] is the range of {rounds}, too few for a statement")
}

/// A line that stands above what belongs together.
pub fn heading(title: &str, style: &Style) -> String {
    style.plain(format!("\n{}\n\n", style.bold(title)))
}

/// Sentences under a title, as text with a line break at the end; nothing when there are none.
pub fn list(title: &str, sentences: &[&str], style: &Style) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let mut lines = vec![String::new(), style.bold(title)];
    for sentence in sentences {
        lines.extend(wrapped(sentence, "- ", style));
    }
    style.plain(lines.join("\n") + "\n")
}

fn table(rows: &[&Row], run: &Document, subject: &str, style: &Style) -> Vec<String> {
    let title = format!("{subject}\n÷ this");
    let first: Vec<String> = rows.iter().map(|row| name(row)).collect();
    let ratios: Vec<String> = rows
        .iter()
        .map(|row| against(row, rows, run, subject))
        .collect();
    let used = 2 + width(&first) + width(&ratios).max(subject.len() + 2);
    let columns = columns(rows, used, style.width);
    let mut table = plain_table(style);
    let names = columns.iter().map(|column| column.name.join("\n"));
    table.set_header(
        std::iter::once("client".to_owned())
            .chain(names)
            .chain([title]),
    );
    for (index, row) in rows.iter().enumerate() {
        if index > 0 && rows[index - 1].concurrency != row.concurrency {
            table.add_row([""]);
        }
        let cells = columns.iter().map(|column| (column.value)(row));
        let name = std::iter::once(first[index].clone());
        table.add_row(name.chain(cells).chain([ratios[index].clone()]));
    }
    lines_of(table, columns.len() + 1)
}

fn width(texts: &[String]) -> usize {
    let widths = texts.iter().map(|text| text.chars().count());
    widths.max().unwrap_or(0) + 2
}

/// The columns that are needed, and of the others as many as fit, in the order of every view.
fn columns(rows: &[&Row], used: usize, room: usize) -> Vec<&'static Column> {
    // A part without a ceiling has no share of it.
    let says = |column: &Column| rows.iter().any(|row| (column.value)(row) != NONE);
    let needed = |column: &&Column| matches!(column.name[0], "concur-" | "requests");
    let mut chosen: Vec<&Column> = COLUMNS.iter().filter(needed).collect();
    let mut used = used
        + chosen
            .iter()
            .map(|column| widest(column, rows))
            .sum::<usize>();
    for name in OPTIONAL {
        let Some(column) = COLUMNS
            .iter()
            .find(|column| column.name == name && says(column))
        else {
            continue;
        };
        used += widest(column, rows);
        if used > room {
            break;
        }
        chosen.push(column);
    }
    let kept = |column: &&Column| chosen.iter().any(|kept| kept.name == column.name);
    COLUMNS.iter().filter(kept).collect()
}

/// How many times faster the subject is than a row, in the subject's row at the same load.
fn against(row: &Row, rows: &[&Row], run: &Document, subject: &str) -> String {
    let own = |other: &&&Row| {
        other.client == subject && other.concurrency == row.concurrency && other.keepalive
    };
    let Some(own) = rows.iter().find(own).filter(|own| own.cell() != row.cell()) else {
        return NONE.into();
    };
    if let Some(row) = [own, &row].into_iter().find(|row| row.rejected.is_some()) {
        return format!("{} rejected", row.client);
    }
    ratio(&run.rounds, &own.cell(), &row.cell()).map_or_else(
        || NONE.into(),
        |found| format!("{} {}", times(found.value), brackets(&found)),
    )
}

/// The interval, or the range where there are too few rounds for one; what it is stands below the table.
fn brackets(found: &Estimate) -> String {
    let always = Estimate {
        confidence: Some(0.0),
        ..*found
    };
    interval(&always)
}

fn name(row: &Row) -> String {
    if row.keepalive {
        return row.client.clone();
    }
    format!("{} *", row.client)
}
