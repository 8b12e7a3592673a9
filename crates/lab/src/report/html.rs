//! One HTML page that needs nothing else: no script to read it, nothing loaded from elsewhere.

use serde_json::Value;

use super::embedded::raw_data;
use super::figures::{overview, panel};
use super::svg::{escape, legend_marker};
use super::view::{Body, COLUMNS, Column, Series, any_unverified, bodies, rejections};
use crate::findings::words::{count, plural};
use crate::findings::{ENOUGH, Findings, Row, SAME_ISH, body_words};
use crate::ledger::Document;

const STYLE: &str = include_str!("page.css");

/// The page stays below this many bytes; the list of rounds is left to `run.json` when it does not fit.
const LARGEST: usize = 200_000;

/// The whole page.
pub fn html(run: &Document, findings: &Findings) -> String {
    let bodies = bodies(run, findings);
    let mut page = head(run);
    page += &summary(run, findings, &bodies);
    for (place, body) in bodies.iter().enumerate() {
        page += &body_section(body, run, place);
    }
    page += &rejected(findings);
    page += &how_to_read(run, findings);
    page += &clients(run);
    page += &environment(run);
    let room = LARGEST.saturating_sub(page.len());
    page + &raw_data(run, findings, room) + "</main></body></html>\n"
}

fn head(run: &Document) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>hecaton sweep, {}</title><style>{STYLE}</style></head><body>",
        escape(&run.environment.date)
    )
}

fn summary(run: &Document, findings: &Findings, bodies: &[Body]) -> String {
    let verdicts: String = findings
        .verdicts
        .iter()
        .map(|verdict| verdict_item(verdict, bodies))
        .collect();
    format!(
        "<header><h1>Which concurrency, and which client?</h1><p class=\"soft\">{}</p></header><main>\
         <ul class=\"verdicts\">{verdicts}</ul><ul class=\"facts\">{}</ul>",
        escape(&job(run)),
        facts(run, findings)
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

fn facts(run: &Document, findings: &Findings) -> String {
    let rows = findings.rows.len();
    let verified = findings.rows.iter().filter(|row| row.verified).count();
    let rejected = rejections(findings).len();
    let mut facts = Vec::new();
    if any_unverified(findings) {
        facts.push((
            "warn",
            "UNVERIFIED: the server kept no ledger, these are the clients' own claims".to_owned(),
        ));
    } else {
        facts.push((
            "good",
            format!(
                "{verified} of {} verified by the origin's ledger",
                plural(rows as u64, "row")
            ),
        ));
    }
    if rejected > 0 {
        facts.push((
            "warn",
            format!("{} rejected", plural(rejected as u64, "row")),
        ));
    }
    facts.push((
        "",
        format!(
            "{} of every row",
            plural(u64::from(run.plan.rounds), "round")
        ),
    ));
    facts.push(("", launches(run.plan.launches)));
    facts.push(("", format!("seed {}", run.plan.seed)));
    facts
        .iter()
        .map(|(class, text)| format!("<li class=\"{class}\">{}</li>", escape(text)))
        .collect()
}

fn launches(n: u32) -> String {
    if n == 1 {
        "1 process of every client".into()
    } else {
        format!("{n} processes of every client")
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
        .map(|series| table(series, body))
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

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

/// The figures behind a client's chart, with what the ledger saw.
fn table(series: &Series, body: &Body) -> String {
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
        "<details><summary>{0}</summary><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{0}\">\
         <table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>",
        escape(&name)
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

fn cell(tag: &str, class: &str, text: &str) -> String {
    let scope = if tag == "th" { " scope=\"col\"" } else { "" };
    let class = if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    };
    format!("<{tag}{class}{scope}>{}</{tag}>", escape(text))
}

fn row_class(series: &Series, row: &Row) -> &'static str {
    match row.rejected {
        Some(_) => "no",
        None if series.recommends(row) => "use",
        None => "",
    }
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
         Differences within {:.0} % are called same-ish. Latencies are of a closed loop: a request waits for nobody \
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

fn environment(run: &Document) -> String {
    let mut command = run.command.clone();
    if !command.contains("--seed") {
        command += &format!(" --seed {}", run.plan.seed);
    }
    let mut pairs = Vec::new();
    let mut machine = serde_json::to_value(&run.environment).unwrap_or_default();
    machine["clients"] = Value::Null;
    flatten("", &machine, &mut pairs);
    let rows: String = pairs
        .iter()
        .map(|(key, value)| {
            format!(
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                escape(key),
                escape(value)
            )
        })
        .collect();
    format!(
        "<section><h2>Measure it again</h2><pre><code>{}</code></pre></section><section><h2>Environment</h2>\
         <table class=\"pairs\"><tbody>{rows}</tbody></table></section>",
        escape(&command)
    )
}

/// Who took part, in which version, and how.
fn clients(run: &Document) -> String {
    if run.environment.clients.is_empty() {
        return String::new();
    }
    let names = [
        "client",
        "version",
        "runtime",
        "engine",
        "in flight by",
        "retries",
    ];
    let head: String = names.iter().map(|name| cell("th", "word", name)).collect();
    let rows: String = run
        .environment
        .clients
        .iter()
        .map(|(name, client)| {
            let models = client.models.join(", ");
            let values = [
                name,
                &client.version,
                &client.runtime,
                &client.engine,
                &models,
                &client.retries,
            ];
            let cells: String = values
                .iter()
                .map(|value| cell("td", "word", value))
                .collect();
            format!("<tr>{cells}</tr>")
        })
        .collect();
    format!(
        "<section><h2>Clients</h2><div class=\"scroll bare\" role=\"region\" tabindex=\"0\" aria-label=\"Clients\">\
         <table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )
}

/// Nested keys as `pinning › client core`; what is not known is left out.
fn flatten(prefix: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('_', " ");
                let path = if prefix.is_empty() {
                    key
                } else {
                    format!("{prefix} › {key}")
                };
                flatten(&path, value, pairs);
            }
            return;
        }
        Value::Null => return,
        Value::Array(items) => items
            .iter()
            .map(|item| {
                item.as_str()
                    .map_or_else(|| item.to_string(), str::to_owned)
            })
            .collect::<Vec<_>>()
            .join(", "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if !text.is_empty() {
        pairs.push((prefix.to_owned(), text));
    }
}
