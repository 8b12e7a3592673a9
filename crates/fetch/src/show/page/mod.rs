//! A folder's results on one page that needs nothing else: no script, nothing loaded from elsewhere.
//!
//! `tally` adds records up in flat memory, `timeline` and `histogram` are its parts; `draw` writes SVG, this file and
//! `tables` the rest.

use std::fmt::Write;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::record::Outcome;

mod draw;
mod histogram;
mod tables;
mod tally;
mod text;
mod timeline;

pub use tally::ReportData;

use tally::Part;
use text::{count, milliseconds, noun, share, visible};

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
    let title = visible(&title(tally, missing, name));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { p.soft { "hecaton fetch" } h1 { (title) } (facts(tally, missing)) }
                main {
                    (section("Outcomes over time", draw::timeline(tally)))
                    (section("Latencies by phase", draw::phases(tally)))
                    (section("Hosts", tables::hosts(tally)))
                    (section("What went wrong", tables::failures(tally)))
                    (section("Statuses", tables::statuses(tally)))
                }
            }
        }
    };
    page.into_string() + "\n"
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

fn section(title: &str, inner: Markup) -> Markup {
    html! { @if !inner.0.is_empty() { section { h2 { (title) } (inner) } } }
}

/// The result in figures.
fn facts(tally: &ReportData, missing: u64) -> Markup {
    let all = tally.all() + missing;
    let [good, bad, error] = [Part::Good, Part::Bad, Part::Error].map(|part| tally.part(part));
    let shared = |words: &str, number| format!("{words} ({})", share(number, all));
    let mut items = vec![
        ("bad", bad, shared(&noun("other response", bad), bad)),
        ("error", error, shared("failed", error)),
    ];
    items.extend(OTHERS.map(|it| ("other", tally.outcome(it), it.name().to_owned())));
    items.push(("other", missing, "not done yet".to_owned()));
    items.retain(|(_, number, _)| *number > 0);
    html! {
        ul.facts {
            li { b { (count(all)) } " " (noun("input", all)) }
            li.good { b { (count(good)) } " " (shared("good", good)) }
            @for (class, number, words) in items { li class=(class) { b { (count(number)) } " " (words) } }
        }
        p.soft { (totals(tally)) "." }
    }
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
