//! Runs side by side in a terminal: what was, what is, and how sure the difference is.

use super::{Beside, Table};
use crate::report::style::Style;
use crate::report::terminal::{lines_of, plain_table, wrapped};

/// A table and its verdict for each pair of runs, as text with a line break at the end.
pub fn terminal(pairs: &[Beside], style: &Style) -> String {
    let all: Vec<String> = pairs.iter().map(|pair| one(pair, style)).collect();
    style.plain(all.join("\n"))
}

fn one(pair: &Beside, style: &Style) -> String {
    let mut lines = vec![
        format!("before: {}", pair.old.0),
        format!("after:  {}", pair.new.0),
    ];
    if !pair.found.rows.is_empty() {
        lines.push(String::new());
        lines.extend(fitting(Table::new(&pair.found), style));
    }
    lines.push(String::new());
    lines.push(style.bold("Verdict"));
    for sentence in pair.verdict() {
        lines.extend(wrapped(&sentence, "- ", style));
    }
    lines.join("\n") + "\n"
}

/// The table; without both speeds, and then without the intervals, where there is no room for them.
fn fitting(mut changes: Table, style: &Style) -> Vec<String> {
    let fits = |lines: &[String]| lines.iter().all(|line| line.chars().count() <= style.width);
    let mut lines = table_lines(&changes, style);
    while !fits(&lines) && changes.leave_out("requests/s") {
        lines = table_lines(&changes, style);
    }
    if !fits(&lines) {
        changes.leave_out_intervals();
        lines = table_lines(&changes, style);
    }
    lines
}

fn table_lines(changes: &Table, style: &Style) -> Vec<String> {
    let mut table = plain_table(style);
    let titles = changes.columns.iter().map(|column| column.title.join("\n"));
    table.set_header(titles);
    for row in &changes.rows {
        table.add_row(row);
    }
    lines_of(table, changes.columns.len() - 1)
}
