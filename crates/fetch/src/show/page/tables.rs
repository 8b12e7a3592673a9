//! Hosts, failures and statuses, as tables.

use maud::{Markup, html};

use super::tally::{OfHost, Part, ReportData};
use super::text::{count, milliseconds, share, short, visible};

/// Most hosts on the page.
const MOST_HOSTS: usize = 40;

/// Those with the most inputs, and those with the most failures.
pub(super) fn hosts(tally: &ReportData) -> Markup {
    let mut all: Vec<(&String, &OfHost)> = tally.hosts.iter().collect();
    let number = all.len();
    if number == 0 {
        return Markup::default();
    }
    all.sort_by(|(a, one), (b, other)| {
        (other.all(), other.failed(), a).cmp(&(one.all(), one.failed(), b))
    });
    let most = table(&all[..number.min(MOST_HOSTS)], &tally.other_hosts);
    if number <= MOST_HOSTS {
        return most;
    }
    all.sort_by(|(a, one), (b, other)| (other.failed(), a).cmp(&(one.failed(), b)));
    all.truncate(10);
    all.retain(|(_, of)| of.failed() > 0);
    html! {
        p.soft { "The " (MOST_HOSTS) " with the most inputs, of " (count(number as u64)) "." }
        (most)
        @if !all.is_empty() { h3 { "Most failures" } (table(&all, &OfHost::default())) }
    }
}

fn table(hosts: &[(&String, &OfHost)], others: &OfHost) -> Markup {
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th.word { "host" } th { "inputs" } th.wide { "what became of them" }
                th { "good" } th { "not good" } th { "errors" } th { "mean" } th { "slowest" }
            } }
            tbody {
                @for (name, of) in hosts { (row(html! { (visible(&short(name, 80))) }, of)) }
                @if others.all() > 0 { (row(html! { i { "further hosts" } }, others)) }
            }
        } }
    }
}

fn row(name: Markup, of: &OfHost) -> Markup {
    let time = |ms: Option<f64>| ms.map(milliseconds).unwrap_or_default();
    let [good, bad, error, _] = of.parts.map(count);
    html! {
        tr {
            td.word { (name) } td { (count(of.all())) }
            td.wide { div.bar {
                @for (part, number) in Part::ALL.into_iter().zip(of.parts) {
                    @if number > 0 { (bar(part.class(), number, of.all())) }
                }
            } }
            td { (good) } td { (bad) } td { (error) }
            td { (time(of.mean())) } td { (time(of.mean().map(|_| of.slowest))) }
        }
    }
}

/// A part of a bar, as wide as its share of the whole.
fn bar(class: &str, part: u64, whole: u64) -> Markup {
    let percent = part as f64 / whole as f64 * 100.0;
    html! { span class=(class) style=(format_args!("width:{percent:.2}%")) {} }
}

/// Each sort of failure with examples: most frequent first, what was not sent last.
pub(super) fn failures(tally: &ReportData) -> Markup {
    let mut all: Vec<_> = tally.failures.iter().collect();
    all.sort_by_key(|(_, failures)| (failures.not_sent, std::cmp::Reverse(failures.count)));
    html! {
        @for (index, (sort, failures)) in all.into_iter().enumerate() {
            details open[index < 3] {
                summary {
                    (visible(sort)) " "
                    span.soft { (count(failures.count)) " (" (share(failures.count, tally.all())) ")" }
                }
                ul { @for example in &failures.examples { li {
                    code { @if example.url.is_empty() { "no URL" } @else { (visible(&example.url)) } } " "
                    span.soft { "input " (example.n) ", line " (example.line) }
                    @if !example.message.is_empty() { br; (visible(&example.message)) }
                } } }
            }
        }
    }
}

/// Every status, with a bar.
pub(super) fn statuses(tally: &ReportData) -> Markup {
    let most = tally.statuses.values().copied().max().unwrap_or_default();
    let all: u64 = tally.statuses.values().sum();
    html! {
        @if most > 0 {
            div.scroll tabindex="0" { table {
                thead { tr { th.word { "status" } th { "responses" } th { "share" } th.wide {} } }
                tbody { @for (status, number) in tally.statuses.iter().take(100) { tr {
                    td.word { (status) } td { (count(*number)) } td { (share(*number, all)) }
                    td.wide { div.bar.bare { (bar("plain", *number, most)) } }
                } } }
            } }
        }
    }
}
