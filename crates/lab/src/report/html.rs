//! One HTML page that needs nothing else: no script to read it, nothing loaded from elsewhere.

use super::figures::overview;
use super::page::{capital, cell, facts, head, table, whole};
use super::panel::panel;
use super::svg::{escape, legend_marker};
use super::truths::{Witnessed, truths};
use super::view::{Body, COLUMNS, Column, Series, bodies, rejections};
use super::{compared_page, judged, ranked, shootout_page};
use crate::findings::words::count;
use crate::findings::{ENOUGH, Findings, Row, SAME_ISH, body_words, trust};
use crate::ledger::Document;

/// The whole page: a sweep's by concurrency, a shootout's by rank.
pub fn html(run: &Document, findings: &Findings) -> String {
    if let Some(found) = judged(run, findings) {
        return compared_page::html(run, findings, &found);
    }
    if let Some(ranking) = ranked(run, findings) {
        return shootout_page::html(run, findings, &ranking);
    }
    let bodies = bodies(run, findings);
    let mut page = head(
        run,
        "sweep",
        "Which concurrency, and which client?",
        &job(run),
    );
    page += &summary(run, findings, &bodies);
    for (place, body) in bodies.iter().enumerate() {
        page += &body_section(body, run, place);
    }
    page += &seen(run, &bodies);
    page += &rejected(findings);
    page += &how_to_read(run, findings);
    whole(page, run, findings)
}

fn summary(run: &Document, findings: &Findings, bodies: &[Body]) -> String {
    let verdicts: String = findings
        .verdicts
        .iter()
        .map(|verdict| verdict_item(verdict, bodies))
        .collect();
    format!(
        "<ul class=\"verdicts\">{verdicts}</ul>{}",
        facts(run, &trust(run, findings))
    )
}

/// What was measured, in one sentence.
fn job(run: &Document) -> String {
    let target = serde_json::to_value(&run.plan.target).unwrap_or_default();
    match (target["method"].as_str(), target["url"].as_str()) {
        (Some(method), Some(url)) => {
            format!("{method} {url}, closed loop, {}", run.environment.date)
        }
        _ => format!(
            "GET from the lab's own origin (delay {}), closed loop, every answer verified, {}",
            run.plan.delay, run.environment.date
        ),
    }
}

fn verdict_item(verdict: &str, bodies: &[Body]) -> String {
    let clients = || bodies.iter().flat_map(|body| &body.clients);
    let of = clients().find(|series| {
        verdict
            .strip_prefix(series.client)
            .is_some_and(|rest| rest.starts_with(", "))
    });
    match of {
        Some(series) => format!(
            "<li class=\"c{}\"><strong>{}</strong>{}</li>",
            series.place % 6,
            escape(series.client),
            escape(&verdict[series.client.len()..])
        ),
        None => format!("<li>{}</li>", escape(verdict)),
    }
}

fn body_section(body: &Body, run: &Document, place: usize) -> String {
    let legend: String = body.clients.iter().map(legend_item).collect();
    let delay = if run.plan.target.is_origin() {
        format!(", delay {}", run.plan.delay)
    } else {
        String::new()
    };
    let mut section = format!(
        "<section><h2>{}{}</h2><figure><ul class=\"legend\">{legend}</ul>{}{}\
         <figcaption>Requests per second over concurrency, median and interval over rounds.</figcaption></figure>\
         <div class=\"panels\">",
        escape(&capital(&body_words(body.bytes))),
        escape(&delay),
        overview(body, true, &format!("w{place}")),
        overview(body, false, &format!("n{place}")),
    );
    for (index, series) in body.clients.iter().enumerate() {
        section += &format!(
            "<figure><h3>{}</h3>{}</figure>",
            escape(&series.name()),
            panel(series, body, &format!("p{place}x{index}"))
        );
    }
    section += "</div>";
    section += &body
        .clients
        .iter()
        .map(|series| figures(series, body))
        .collect::<String>();
    section + "</section>"
}

fn legend_item(series: &Series) -> String {
    format!(
        "<li>{}{}</li>",
        legend_marker(series.place, series.is_ceiling()),
        escape(&series.name())
    )
}

/// The figures behind a client's chart, with what the ledger saw.
fn figures(series: &Series, body: &Body) -> String {
    let name = format!("{}, {}: all figures", series.name(), body_words(body.bytes));
    let mut head: String = COLUMNS.iter().map(column_head).collect();
    head += &cell("th", "", "errors");
    head += &cell("th", "", "duplicates");
    head += &cell("th", "word", "ledger");
    let rows: String = series
        .rows
        .iter()
        .map(|row| {
            let mut cells: String = COLUMNS
                .iter()
                .map(|column| cell("td", "", &(column.value)(row)))
                .collect();
            cells += &cell("td", "", &count(row.errors));
            cells += &cell("td", "", &row.duplicates.map_or_else(|| "–".into(), count));
            cells += &cell("td", "word", ledger_words(row));
            format!("<tr class=\"{}\">{cells}</tr>", row_class(series, row))
        })
        .collect();
    format!(
        "<details><summary>{}</summary>{}</details>",
        escape(&name),
        table(&name, &head, &rows)
    )
}

/// A name of two words stands in two lines.
fn column_head(column: &Column) -> String {
    let lines = column.title().split('\n').map(escape).collect::<Vec<_>>();
    format!("<th scope=\"col\">{}</th>", lines.join("<br>"))
}

fn ledger_words(row: &Row) -> &'static str {
    match (&row.rejected, row.verified) {
        (Some(_), _) => "rejected",
        (None, true) => "agrees",
        (None, false) => "unverified",
    }
}

fn row_class(series: &Series, row: &Row) -> &'static str {
    match row.rejected {
        Some(_) => "no",
        None if series.recommends(row) => "use",
        None => "",
    }
}

/// What the origin's ledger saw of every client at every body, all concurrencies together.
fn seen(run: &Document, bodies: &[Body]) -> String {
    let lines: Vec<Witnessed> = bodies
        .iter()
        .flat_map(|body| body.clients.iter().map(move |series| (body, series)))
        .map(|(body, series)| {
            let name = format!("{}, {}", series.name(), body_words(body.bytes));
            Witnessed::of(name, run, series.rows.iter().copied())
        })
        .collect();
    truths("client and body", &lines)
}

fn rejected(findings: &Findings) -> String {
    let items: String = rejections(findings)
        .iter()
        .map(|(row, reason)| {
            let place = format!(
                "{}, {}, concurrency {}",
                row.client,
                body_words(row.body_bytes),
                row.concurrency
            );
            format!("<li><b>{}</b>: {}</li>", escape(&place), escape(reason))
        })
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>Rejected rows</h2><p>Shown, never ranked.</p><ul class=\"rejected\">{items}</ul></section>"
    )
}

fn how_to_read(run: &Document, findings: &Findings) -> String {
    let short = findings
        .rows
        .iter()
        .any(|row| row.speed.is_some_and(|speed| speed.confidence.is_none()));
    let interval = if short {
        "With fewer than 6 rounds no 95 % interval exists: the bars and brackets of such rows are the full range seen."
    } else {
        "Bars and brackets are intervals of at least 95 %."
    };
    format!(
        "<section><h2>How to read this</h2><p>Rounds of all clients are interleaved in random order; ratios compare \
         rounds of the same block (Hodges–Lehmann on log-ratios, Wilcoxon signed-rank interval). {interval} \
         The recommended concurrency is the smallest whose ratio to the fastest has a lower bound of at least {ENOUGH}. \
         Same-ish means that the whole interval lies within ±{:.0} %. Latencies are of a closed loop: a request waits for nobody \
         before it is sent. The ceiling is the lab's raw loader, which does no more than it must. \
         A row is rejected when the client's claim and the origin's ledger disagree. {}</p></section>",
        SAME_ISH * 100.0,
        if run.plan.target.is_origin() {
            ""
        } else {
            "This server kept no ledger, so nothing was checked."
        }
    )
}
