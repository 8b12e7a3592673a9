//! The findings as Markdown: verdicts, then a table for every body size; to paste into an issue or a post.

use super::view::{Body, COLUMNS, bodies, rejections};
use crate::findings::{Findings, body_words};
use crate::ledger::Document;

/// Everything found, with the command that repeats it.
pub fn markdown(run: &Document, findings: &Findings) -> String {
    let mut text = format!("`{}`, {}\n", run.command, run.environment.date);
    for verdict in &findings.verdicts {
        text += &format!("\n- {}", escaped(verdict));
    }
    text += "\n";
    for body in bodies(run, findings) {
        text += &format!(
            "\n**{}, delay {}**\n\n",
            body_words(body.bytes),
            run.plan.delay
        );
        text += &table(&body);
    }
    for (row, reason) in rejections(findings) {
        text += &format!(
            "\n- rejected: {} at concurrency {}: {}\n",
            row.client,
            row.concurrency,
            escaped(reason)
        );
    }
    text
}

fn table(body: &Body) -> String {
    let titles = COLUMNS
        .iter()
        .map(|column| column.title().replace('\n', " "));
    let titles: Vec<String> = std::iter::once("client".to_owned()).chain(titles).collect();
    let mut text = format!(
        "| {} |\n| --- |{}\n",
        titles.join(" | "),
        " ---: |".repeat(COLUMNS.len())
    );
    for series in &body.clients {
        for row in &series.rows {
            let mark = match &row.rejected {
                Some(_) => " ✗",
                None if series.recommends(row) => " ◀",
                None => "",
            };
            let cells: Vec<String> = COLUMNS.iter().map(|column| (column.value)(row)).collect();
            text += &format!(
                "| {}{mark} | {} |\n",
                escaped(&series.name()),
                cells.join(" | ")
            );
        }
    }
    text
}

/// A bar would end the cell of a table.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
