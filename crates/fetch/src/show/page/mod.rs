//! A folder's results on one page that needs nothing else: no script, nothing loaded from elsewhere.
//!
//! `tally` adds records up in flat memory, `timeline` and `histogram` are its parts; `draw` writes SVG, this file the
//! rest.

use std::fmt::Write;

use crate::record::Outcome;

mod draw;
mod histogram;
mod tables;
mod tally;
mod text;
mod timeline;

pub use tally::ReportData;

use tally::Part;
use text::{count, escape, milliseconds, noun, share};

const STYLE: &str = include_str!("page.css");

/// The outcomes that are neither a response nor an error.
const OTHERS: [Outcome; 6] = [
    Outcome::Unchanged,
    Outcome::Onward,
    Outcome::Unreached,
    Outcome::Skipped,
    Outcome::Unknown,
    Outcome::Invalid,
];

/// The page. The name is any text, such as the folder's name; the result stands behind it. `missing` inputs of the job
/// have no record yet.
pub fn html(tally: &ReportData, missing: u64, name: &str) -> String {
    let title = &title(tally, missing, name);
    let mut page = head(title);
    let _ = write!(
        page,
        "<header><p class=soft>hecaton fetch</p><h1>{}</h1>{}</header><main>",
        escape(title),
        facts(tally, missing)
    );
    section(&mut page, "Outcomes over time", &draw::timeline(tally));
    section(&mut page, "Latencies by phase", &draw::phases(tally));
    section(&mut page, "Hosts", &tables::hosts(tally));
    section(&mut page, "What went wrong", &tables::failures(tally));
    section(&mut page, "Statuses", &tables::statuses(tally));
    page += "</main></html>\n";
    page
}

fn title(tally: &ReportData, missing: u64, name: &str) -> String {
    let (good, all) = (tally.part(Part::Good), tally.all() + missing);
    match all {
        0 => name.to_owned(),
        _ => format!(
            "{name}: {} of {} {} good",
            count(good),
            count(all),
            noun("input", all)
        ),
    }
}

fn head(title: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{}</title><style>{STYLE}</style>",
        escape(title)
    )
}

fn section(page: &mut String, title: &str, inner: &str) {
    if !inner.is_empty() {
        let _ = write!(page, "<section><h2>{title}</h2>{inner}</section>");
    }
}

/// The result in figures.
fn facts(tally: &ReportData, missing: u64) -> String {
    let all = tally.all() + missing;
    let mut items = format!("<li><b>{}</b> {}</li>", count(all), noun("input", all));
    let good = tally.part(Part::Good);
    item(
        &mut items,
        "good",
        good,
        &format!("good ({})", share(good, all)),
    );
    for part in [Part::Bad, Part::Error] {
        let number = tally.part(part);
        let words = match part {
            Part::Error => "failed".to_owned(),
            _ => noun("other response", number),
        };
        let words = format!("{words} ({})", share(number, all));
        item_if_any(&mut items, part.class(), number, &words);
    }
    for outcome in OTHERS {
        item_if_any(&mut items, "other", tally.outcome(outcome), outcome.name());
    }
    item_if_any(&mut items, "other", missing, "not done yet");
    let line = totals(tally);
    format!("<ul class=facts>{items}</ul><p class=soft>{line}.</p>")
}

fn item_if_any(items: &mut String, class: &str, number: u64, words: &str) {
    if number > 0 {
        item(items, class, number, words);
    }
}

fn item(items: &mut String, class: &str, number: u64, words: &str) {
    let number = count(number);
    let _ = write!(items, "<li class={class}><b>{number}</b> {words}</li>");
}

/// How much came, when, and how fast.
fn totals(tally: &ReportData) -> String {
    let mut line = format!("{} of bodies", text::bytes(tally.bytes()));
    if let Some((from, to)) = tally.span() {
        let seconds = (to - from).as_seconds();
        let _ = write!(line, ", from {} to {}", from.shown(), to.shown());
        if seconds >= 1.0 {
            let rate = text::rate(tally.requests() as f64 / seconds);
            let _ = write!(line, ", {rate} requests a second");
        }
    }
    if let Some(median) = tally.total_time().quantile(0.5) {
        let _ = write!(line, ", half of them within {}", milliseconds(median));
    }
    line
}

#[cfg(test)]
mod tests;
