//! Hosts, failures and statuses, as tables.

use std::fmt::Write;

use super::tally::{OfHost, Part, ReportData};
use super::text::{count, escape, milliseconds, share, short};

/// Most hosts on the page.
const MOST_HOSTS: usize = 40;

/// Those with the most inputs, and those with the most failures.
pub(super) fn hosts(tally: &ReportData) -> String {
    let mut all: Vec<(&str, &OfHost)> = tally
        .hosts
        .iter()
        .map(|(name, of)| (name.as_str(), of))
        .collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by(|(a, one), (b, other)| {
        (other.all(), other.failed(), a).cmp(&(one.all(), one.failed(), b))
    });
    let mut html = String::new();
    if all.len() > MOST_HOSTS {
        let _ = write!(
            html,
            "<p class=soft>The {MOST_HOSTS} with the most inputs, of {}.</p>",
            count(all.len() as u64)
        );
    }
    html += &table(&all[..all.len().min(MOST_HOSTS)], &tally.other_hosts);
    if all.len() > MOST_HOSTS {
        all.sort_by(|(a, one), (b, other)| (other.failed(), a).cmp(&(one.failed(), b)));
        let worst: Vec<_> = all
            .into_iter()
            .take(10)
            .filter(|(_, of)| of.failed() > 0)
            .collect();
        if !worst.is_empty() {
            html += "<h3>Most failures</h3>";
            html += &table(&worst, &OfHost::default());
        }
    }
    html
}

fn table(hosts: &[(&str, &OfHost)], others: &OfHost) -> String {
    let mut rows = String::new();
    for (name, of) in hosts {
        row(&mut rows, &escape(&short(name, 80)), of);
    }
    if others.all() > 0 {
        row(&mut rows, "<i>further hosts</i>", others);
    }
    format!(
        "<div class=scroll tabindex=0><table><thead><tr><th class=word>host<th>inputs<th class=wide>what became of them<th>good<th>not good<th>errors<th>mean<th>slowest</tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

fn row(rows: &mut String, name: &str, of: &OfHost) {
    let time = |ms: Option<f64>| ms.map(milliseconds).unwrap_or_default();
    let mut bar = String::new();
    for part in Part::ALL {
        let number = of.parts[part as usize];
        if number > 0 {
            let percent = number as f64 / of.all() as f64 * 100.0;
            let _ = write!(
                bar,
                "<span class={} style=\"width:{percent:.2}%\"></span>",
                part.class()
            );
        }
    }
    let [good, bad, error, _] = of.parts.map(count);
    let _ = write!(
        rows,
        "<tr><td class=word>{name}<td>{}<td class=wide><div class=bar>{bar}</div><td>{good}<td>{bad}<td>{error}<td>{}<td>{}</tr>",
        count(of.all()),
        time(of.mean()),
        time(of.mean().map(|_| of.slowest)),
    );
}

/// Each sort of failure with examples: most frequent first, what was not sent last.
pub(super) fn failures(tally: &ReportData) -> String {
    let mut all: Vec<_> = tally.failures.iter().collect();
    all.sort_by_key(|(_, failures)| (failures.not_sent, std::cmp::Reverse(failures.count)));
    let mut html = String::new();
    for (index, (sort, failures)) in all.into_iter().enumerate() {
        let open = if index < 3 { " open" } else { "" };
        let _ = write!(
            html,
            "<details{open}><summary>{} <span class=soft>{} ({})</span></summary><ul>",
            escape(sort),
            count(failures.count),
            share(failures.count, tally.all())
        );
        for example in &failures.examples {
            let url = if example.url.is_empty() {
                "no URL"
            } else {
                &example.url
            };
            let _ = write!(
                html,
                "<li><code>{}</code> <span class=soft>input {}, line {}</span>",
                escape(url),
                example.n,
                example.line
            );
            if !example.message.is_empty() {
                let _ = write!(html, "<br>{}", escape(&example.message));
            }
            html += "</li>";
        }
        html += "</ul></details>";
    }
    html
}

/// Every status, with a bar.
pub(super) fn statuses(tally: &ReportData) -> String {
    let most = tally.statuses.values().copied().max().unwrap_or_default();
    let all: u64 = tally.statuses.values().sum();
    if most == 0 {
        return String::new();
    }
    let mut rows = String::new();
    for (status, number) in tally.statuses.iter().take(100) {
        let percent = *number as f64 / most as f64 * 100.0;
        let _ = write!(
            rows,
            "<tr><td class=word>{status}<td>{}<td>{}<td class=wide><div class=\"bar bare\"><span class=plain style=\"width:{percent:.2}%\"></span></div></tr>",
            count(*number),
            share(*number, all)
        );
    }
    format!(
        "<div class=scroll tabindex=0><table><thead><tr><th class=word>status<th>responses<th>share<th class=wide></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}
