//! Runs side by side as Markdown: a verdict and a table for each pair.

use super::{Beside, Column, Table};
use crate::report::markdown::escaped;

/// Everything found, to paste into an issue or a post.
pub fn markdown(pairs: &[Beside]) -> String {
    pairs.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn one(pair: &Beside) -> String {
    let mut text = String::new();
    for (word, (name, run)) in [("before", pair.old), ("after", pair.new)] {
        text += &format!(
            "- {word}: {}, `{}`, {}\n",
            escaped(name),
            run.command,
            run.environment.date
        );
    }
    for sentence in pair.verdict() {
        text += &format!("\n{}\n", escaped(&sentence));
    }
    if pair.found.rows.is_empty() {
        return text;
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let Table { columns, rows } = Table::new(&pair.found);
    let side = |column: &Column| if column.words { "---" } else { "---:" };
    text += "\n";
    text += &line(columns.iter().map(|column| column.title(" ")).collect());
    text += &line(columns.iter().map(|column| side(column).into()).collect());
    for row in rows {
        text += &line(row.iter().map(|cell| escaped(cell)).collect());
    }
    text
}
