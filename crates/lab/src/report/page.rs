//! What every page has: its head, marks of trust, tables that can be sorted, who took part, and where.

use serde_json::Value;

use super::embedded::raw_data;
use super::svg::escape;
use crate::findings::words::{figure, percent, plural, times};
use crate::findings::{Findings, NOISY_RUN, Room, Server, Trust};
use crate::ledger::Document;

const STYLE: &str = include_str!("page.css");

/// The only script that runs: it sorts tables.
const SCRIPT: &str = include_str!("page.js");

/// SHA-256 of [`SCRIPT`], so that the page runs nothing else (CSP 3, §6.7.2.3); tests/report/check.py compares them.
const SCRIPT_HASH: &str = "+KgjmUOpXAVnxJY0FhyAw3UQL7KSjAdXnBgbjfV/crk=";

/// The page stays below this many bytes; the list of rounds is left to `run.json` when it does not fit.
const LARGEST: usize = 200_000;

/// Everything before the page's own content: the question, then what was measured.
pub(super) fn head(run: &Document, kind: &str, question: &str, job: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{SCRIPT_HASH}'\">\
         <title>hecaton {kind}, {}</title><style>{STYLE}</style></head><body>\
         <header><h1>{question}</h1><p class=\"soft\">{}</p></header><main>",
        escape(&run.environment.date),
        escape(job)
    )
}

/// The whole page: its own content, then who took part and where, how to measure it again, the data, the script.
pub(super) fn whole(page: String, run: &Document, findings: &Findings) -> String {
    let page = page + &clients(run) + &environment(run);
    ending(page, |room| raw_data(run, findings, room))
}

/// A page with its data, for which there is some room, and its script.
pub(super) fn ending(page: String, data: impl FnOnce(usize) -> String) -> String {
    let end = format!("</main><script>{SCRIPT}</script></body></html>\n");
    let room = LARGEST.saturating_sub(page.len() + end.len());
    page + &data(room) + &end
}

/// What speaks for the figures and what against, each in words of its own.
pub(super) fn facts(run: &Document, trust: &Trust) -> String {
    let mut facts = vec![verified(trust)];
    if trust.rejected > 0 {
        let rows = plural(trust.rejected as u64, "row");
        facts.push(("warn", format!("{rows} rejected")));
    }
    let unknown = ("", "server headroom not measured".to_owned());
    facts.push(trust.room.map_or(unknown, headroom));
    facts.extend(trust.server.iter().flat_map(server));
    facts.extend(trust.noisy.map(noise));
    let rounds = plural(u64::from(run.plan.rounds), "round");
    facts.push(("", format!("{rounds} of every row")));
    facts.push(("", launches(run.plan.launches)));
    facts.push(("", format!("seed {}", run.plan.seed)));
    let items: String = facts
        .iter()
        .map(|(class, text)| format!("<li class=\"{class}\">{}</li>", escape(text)))
        .collect();
    format!("<ul class=\"facts\">{items}</ul>")
}

fn verified(trust: &Trust) -> (&'static str, String) {
    if trust.unwitnessed {
        let words = "UNVERIFIED: the server kept no ledger, these are the clients' own claims";
        return ("warn", words.into());
    }
    let rows = plural(trust.rows as u64, "row");
    let words = format!(
        "{} of {rows} verified by the origin's ledger",
        trust.verified
    );
    ("good", words)
}

fn headroom(room: Room) -> (&'static str, String) {
    let (class, words) = match room {
        Room::Waiting => return ("", "waiting is the limit, not the server".into()),
        Room::Times(room) if room >= Room::ENOUGH => {
            ("good", format!("server headroom {}", times(room)))
        }
        Room::Times(room) if room >= Room::LITTLE => {
            ("", format!("some server headroom, {}", times(room)))
        }
        Room::Times(room) => (
            "warn",
            format!(
                "little server headroom, {}: the server may be the limit",
                times(room)
            ),
        ),
    };
    (class, words)
}

/// What the origin itself had to do, beside the ceiling.
fn server(server: &Server) -> [(&'static str, String); 2] {
    let busy = format!("server busy {} of a core", percent(server.busy));
    let late = format!(
        "99\u{a0}% of answers at most {} ms late",
        figure(server.late_ms)
    );
    [
        match server.busy >= Server::BUSY {
            true => ("warn", format!("{busy}: it may be the limit")),
            false => ("", busy),
        },
        match server.is_late() {
            true => (
                "warn",
                format!("{late}: part of the latencies is the server’s"),
            ),
            false => ("", late),
        },
    ]
}

fn noise(share: f64) -> (&'static str, String) {
    if share > NOISY_RUN {
        return (
            "warn",
            format!(
                "NOISY: other programs ran in {} of the rounds",
                percent(share)
            ),
        );
    }
    match share > 0.0 {
        true => (
            "",
            format!("other programs ran in {} of the rounds", percent(share)),
        ),
        false => ("good", "no noise from other programs".into()),
    }
}

fn launches(n: u32) -> String {
    if n == 1 {
        "1 process of every client".into()
    } else {
        format!("{n} processes of every client")
    }
}

pub(super) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

pub(super) fn cell(tag: &str, class: &str, text: &str) -> String {
    let scope = if tag == "th" { " scope=\"col\"" } else { "" };
    let class = if class.is_empty() {
        String::new()
    } else {
        format!(" class=\"{class}\"")
    };
    format!("<{tag}{class}{scope}>{}</{tag}>", escape(text))
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
        "language",
        "used as",
        "version",
        "runtime",
        "engine",
        "in flight by",
        "retries",
    ];
    let heads: String = names.iter().map(|name| cell("th", "word", name)).collect();
    let rows: String = run
        .environment
        .clients
        .iter()
        .map(|(name, client)| {
            let models = client.models.join(", ");
            let values: [&str; 8] = [
                name,
                client.language.as_deref().unwrap_or("–"),
                client.approach.map_or("–", |approach| approach.words()),
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
        "<section><h2>Clients</h2>{}</section>",
        table("Clients", &heads, &rows)
    )
}

/// Nested keys as `pinning › client core`; what is not known is left out.
pub(super) fn flatten(prefix: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
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

/// A table that can be sorted, in a box that scrolls when it is too wide; `name` says what it is.
pub(super) fn table(name: &str, heads: &str, rows: &str) -> String {
    table_with_foot(name, heads, rows, "")
}

/// The same with rows that stay at its end, however it is sorted.
pub(super) fn table_with_foot(name: &str, heads: &str, rows: &str, foot: &str) -> String {
    let foot = match foot {
        "" => String::new(),
        rows => format!("<tfoot>{rows}</tfoot>"),
    };
    format!(
        "<div class=\"scroll bare\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table class=\"sort\"><thead><tr>{heads}\
         </tr></thead><tbody>{rows}</tbody>{foot}</table></div>",
        escape(name)
    )
}
