//! The findings as Markdown: verdicts, then a table for every body size; to paste into an issue or a post.

use super::compared::{figures, job, judged};
use super::view::{Body, COLUMNS, bodies, rejections};
use super::{entries, ranked};
use crate::findings::{Compared, Findings, Ranking, body_words, noise_words};
use crate::ledger::Document;

/// Everything found, with the command that repeats it: a sweep's by body size, a shootout's by rank.
pub fn markdown(run: &Document, findings: &Findings) -> String {
    if let Some(ranking) = ranked(run, findings) {
        return shootout(run, &ranking);
    }
    if let Some(found) = judged(run, findings) {
        return comparison(run, findings, &found);
    }
    let mut text = format!("`{}`, {}\n", run.command, run.environment.date);
    for verdict in findings
        .verdicts
        .iter()
        .chain(&noise_words(&run.rounds, run.environment.cores))
    {
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

/// A shootout: its verdict, all that are ranked, who is not and why.
fn shootout(run: &Document, ranking: &Ranking) -> String {
    let mut text = format!(
        "`{}`, {}\n\n{}\n",
        run.command,
        run.environment.date,
        entries::job(run)
    );
    for sentence in entries::verdict(run, ranking) {
        text += &format!("\n- {}", escaped(&sentence));
    }
    let titles = entries::COLUMNS
        .iter()
        .map(|column| column.title().replace('\n', " "));
    let titles: Vec<String> = titles.collect();
    text += &format!(
        "\n\n| client | {} |\n| --- |{}\n",
        titles.join(" | "),
        " ---: |".repeat(titles.len())
    );
    for entry in ranking.ranked.iter().chain(&ranking.outside) {
        let cells: Vec<String> = entries::COLUMNS
            .iter()
            .map(|column| (column.value)(entry))
            .collect();
        let name = escaped(&entries::name(run, entry)).replace('*', "\\*");
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    if ranking
        .ranked
        .iter()
        .any(|entry| entries::is_tuned(run, entry))
    {
        text += &format!("\n\\{}\n", entries::TUNED_WORDS);
    }
    if let Some(words) = entries::reference_words(ranking) {
        text += &format!("\n{}\n", escaped(&words));
    }
    for entry in &ranking.rejected {
        text += &format!(
            "\n- rejected: {}: {}\n",
            escaped(&entry.row.client),
            escaped(&entries::reason(run, entry))
        );
    }
    for why in &run.left_out {
        text += &format!("\n- left out: {}\n", escaped(why));
    }
    text
}

/// A comparison: what was found, and its figures.
fn comparison(run: &Document, findings: &Findings, found: &Compared) -> String {
    let mut text = format!(
        "`{}`, {}\n\n{}\n",
        run.command,
        run.environment.date,
        job(run)
    );
    for sentence in &found.verdict {
        text += &format!("\n- {}", escaped(sentence));
    }
    let figures = figures(run, &findings.rows, found);
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let titles = figures.titles.iter().map(|title| match title {
        [first, second] if first.ends_with('-') => first.trim_end_matches('-').to_owned() + second,
        parts => parts.join(" ").trim().to_owned(),
    });
    text += "\n\n";
    text += &line(titles.collect());
    text += &format!("| --- |{}\n", " ---: |".repeat(figures.titles.len() - 1));
    for row in figures.rows.iter().chain(&figures.foot) {
        text += &line(row.iter().map(|cell| escaped(cell)).collect());
    }
    for note in figures.notes {
        text += &format!("\n{note}\n");
    }
    text
}

/// A bar would end the cell of a table.
pub(super) fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
