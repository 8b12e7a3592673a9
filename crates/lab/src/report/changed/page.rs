//! The page of runs side by side: what changed, each change with its interval, and what else is not the same.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Beside, Column, Table, chart, data};
use crate::findings::words::percent;
use crate::findings::{Change, Direction, SAME_ISH, judge, trust};
use crate::ledger::Document;
use crate::report::embedded::changes_data;
use crate::report::page::{cell, ending, flatten, head, table};
use crate::report::svg::escape;

/// The whole page; `pairs` are not empty.
pub fn html(pairs: &[Beside]) -> String {
    let runs = runs(pairs);
    let Some((_, newest)) = runs.last() else {
        return String::new();
    };
    let job = format!("{} runs, the first next to each of the others", runs.len());
    let mut page = head(newest, "changes", "What changed?", &job);
    for (place, pair) in pairs.iter().enumerate() {
        page += &section(pair, place, pairs.len() > 1);
    }
    page += &table_of_runs(&runs);
    page += &otherwise(&runs);
    page += &how_to_read();
    ending(page, |room| changes_data(data::json(pairs), room))
}

/// Every run with its name, the first first.
fn runs<'a>(pairs: &'a [Beside]) -> Vec<(&'a str, &'a Document)> {
    let first = pairs.first().map(|pair| pair.old);
    let others = pairs.iter().map(|pair| pair.new);
    first.into_iter().chain(others).collect()
}

/// One pair: its verdict first, then the chart, then every row.
fn section(pair: &Beside, place: usize, several: bool) -> String {
    let title = match several {
        true => format!(
            "<h2>{} after {}</h2>",
            escape(pair.new.0),
            escape(pair.old.0)
        ),
        false => String::new(),
    };
    let class = |place: usize| match (place, worst(pair)) {
        (0, Some(Direction::Slower | Direction::Rejected)) => " class=\"c1\"",
        (0, _) => " class=\"c0\"",
        _ => "",
    };
    let items: String = pair
        .verdict()
        .iter()
        .enumerate()
        .map(|(place, sentence)| format!("<li{}>{}</li>", class(place), escape(sentence)))
        .collect();
    let mut section = format!("<section>{title}<ul class=\"verdicts\">{items}</ul>");
    if pair.draws() {
        section += &figure(pair, place);
    }
    if !pair.found.rows.is_empty() {
        section += &format!("<h2>All changes</h2>{}", changes(pair));
    }
    section + "</section>"
}

fn worst(pair: &Beside) -> Option<Direction> {
    pair.found.rows.iter().map(Change::direction).min()
}

fn figure(pair: &Beside, place: usize) -> String {
    let left_out = match chart::left_out(pair) {
        0 => String::new(),
        n => format!(" {n} smaller changes are in the table alone."),
    };
    format!(
        "<h2>After ÷ before</h2><figure>{}{}<figcaption>Requests per second; the line is the interval, the band what is called \
         the same. Squares are slower, triangles faster, circles neither.{left_out}</figcaption></figure>",
        chart::ratios(pair, true, &format!("w{place}")),
        chart::ratios(pair, false, &format!("n{place}")),
    )
}

/// The table of changes.
fn changes(pair: &Beside) -> String {
    let Table { columns, rows } = Table::new(&pair.found);
    let class = |place: usize| if columns[place].words { "word" } else { "" };
    let head = |(place, column): (usize, &Column)| {
        let title = column.title("<br>");
        format!("<th scope=\"col\" class=\"{}\">{title}</th>", class(place))
    };
    let heads: String = columns.iter().enumerate().map(head).collect();
    let line = |(row, change): (&Vec<String>, &Change)| {
        let cells = row.iter().enumerate();
        let cells: String = cells
            .map(|(place, text)| cell("td", class(place), text))
            .collect();
        let look = match change.direction() {
            Direction::Slower | Direction::Rejected => "no",
            _ => "",
        };
        format!("<tr class=\"{look}\">{cells}</tr>")
    };
    let rows: String = rows.iter().zip(&pair.found.rows).map(line).collect();
    table("All changes", &heads, &rows)
}

/// What speaks for each run and what against.
fn table_of_runs(runs: &[(&str, &Document)]) -> String {
    let names = [
        "run",
        "date",
        "rounds",
        "verified",
        "noisy rounds",
        "command",
    ];
    let class = |place: usize| if matches!(place, 2 | 4) { "" } else { "word" };
    let heads: String = names
        .iter()
        .enumerate()
        .map(|(place, name)| cell("th", class(place), name))
        .collect();
    let line = |(name, run): &(&str, &Document)| {
        let findings = judge(&run.rounds, &run.plan.delay);
        let trust = trust(run, &findings);
        let values = [
            (*name).to_owned(),
            run.environment.date.clone(),
            run.plan.rounds.to_string(),
            format!("{} of {} rows", trust.verified, trust.rows),
            trust.noisy.map_or_else(|| "–".to_owned(), percent),
            run.command.clone(),
        ];
        let cells = values.iter().enumerate();
        let cells: String = cells
            .map(|(place, text)| cell("td", class(place), text))
            .collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = runs.iter().map(line).collect();
    format!(
        "<section><h2>The runs</h2>{}</section>",
        table("The runs", &heads, &rows)
    )
}

/// What the runs do not have in common: machine, versions, plan.
fn otherwise(runs: &[(&str, &Document)]) -> String {
    let facts: Vec<BTreeMap<String, String>> = runs.iter().map(|(_, run)| facts_of(run)).collect();
    let mut keys: Vec<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    keys.sort();
    keys.dedup();
    let differs = |key: &&&String| {
        let value = |facts: &BTreeMap<String, String>| facts.get(**key).cloned();
        let mut values = facts.iter().map(value);
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let line = |key: &String| {
        let values = facts
            .iter()
            .map(|facts| facts.get(key).map_or("–", String::as_str));
        let cells: String = values.map(|value| cell("td", "word", value)).collect();
        format!("<tr>{}{cells}</tr>", cell("td", "word", key))
    };
    let rows: String = keys.iter().filter(differs).map(|key| line(key)).collect();
    if rows.is_empty() {
        return "<section><h2>What else is not the same</h2><p>Nothing that is known of the machine, the versions and the \
                plans.</p></section>"
            .into();
    }
    let names = std::iter::once("what").chain(runs.iter().map(|(name, _)| *name));
    let heads: String = names.map(|name| cell("th", "word", name)).collect();
    let name = "What else is not the same";
    format!(
        "<section><h2>{name}</h2>{}</section>",
        table(name, &heads, &rows)
    )
}

/// What is known of a run's machine, versions and plan; dates are another table's.
fn facts_of(run: &Document) -> BTreeMap<String, String> {
    let mut pairs = Vec::new();
    for (prefix, value) in [
        ("", serde_json::to_value(&run.environment)),
        ("plan", serde_json::to_value(&run.plan)),
    ] {
        flatten(prefix, &value.unwrap_or(Value::Null), &mut pairs);
    }
    pairs.retain(|(key, _)| key != "date");
    pairs.into_iter().collect()
}

fn how_to_read() -> String {
    format!(
        "<section><h2>How to read this</h2><p>The runs were made at different times, so no rounds are paired: a change is the \
         Hodges–Lehmann shift of the logarithms of all their rounds, with the interval of the rank-sum test (Mann, Whitney and \
         Wilcoxon) of at least 95 %. Where both runs have a ceiling, each round counts as its share of the ceiling’s round in \
         the same block, which leaves out what the machine itself changed. Same-ish means that the whole interval lies within ±{:.0} %. \
         With fewer than four rounds on each side nothing is called.</p></section>",
        SAME_ISH * 100.0
    )
}
