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
        let changes = Table::new(&pair.found);
        let mut table = plain_table(style);
        let titles = changes.columns.iter().map(|column| column.title.join("\n"));
        table.set_header(titles);
        let last = changes.columns.len() - 1;
        for row in changes.rows {
            table.add_row(row);
        }
        lines.push(String::new());
        lines.extend(lines_of(table, last));
    }
    lines.push(String::new());
    lines.push(style.bold("Verdict"));
    for sentence in pair.verdict() {
        lines.extend(wrapped(&sentence, "- ", style));
    }
    lines.join("\n") + "\n"
}
