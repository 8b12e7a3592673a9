//! A sweep as a view: which concurrency to use, by client and size of the response.

mod charts;
mod groups;
mod tables;

use std::collections::BTreeSet;

use super::common::*;
use super::form::*;
use super::warnings::warnings;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;
use charts::{latency_over_rate, overview, panel, percentiles};
use groups::{Group, groups};
use tables::{advised, table};

/// The whole view; a run that did not end recommends nothing.
pub(super) fn view(run: &Document, findings: &Findings) -> View {
    let groups = groups(run, findings);
    let bodies: BTreeSet<usize> = groups.iter().map(|group| group.bytes).collect();
    let of = |bytes: usize| {
        groups
            .iter()
            .filter(move |group| group.bytes == bytes)
            .collect::<Vec<_>>()
    };
    let all: Vec<Verdict> = findings
        .verdicts
        .iter()
        .map(|it| verdict(it, &groups))
        .collect();
    let (general, of_clients): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|it| it.subject.is_empty());
    let sentences = || verdicts(run, || Block::Verdicts(all.clone()));
    let remaining = || verdicts(run, || Block::Verdicts(general.clone()));
    let at_rates = &findings.rates;
    let advised = || match at_rates.is_empty() {
        true => Block::Table(advised(run, &groups)),
        false => Block::Table(super::rates::table(run, at_rates)),
    };
    let charts = |bytes| match at_rates.is_empty() {
        true => overview(run, &of(bytes), bytes, &groups),
        false => {
            let budget = run.plan.budget.p99_ms;
            Some(Chart::Lines(latency_over_rate(&of(bytes), bytes, budget)))
        }
    };
    let all = bodies.iter().filter_map(|bytes| charts(*bytes)).collect();
    let mut sections = vec![
        Section::new("", Media::PAGE, vec![advised(), Block::Charts(all)]),
        Section::new("", Media::PAGE, vec![remaining()]),
        Section::new("", Media::MARKDOWN, vec![sentences()]),
    ];
    for bytes in &bodies {
        let chart = Block::Charts(charts(*bytes).into_iter().collect());
        let blocks = vec![Block::Table(table(run, &of(*bytes), *bytes)), chart];
        sections.push(Section::new(heading(run, *bytes), Media::TEXT, blocks));
    }
    sections.push(Section::new(
        "Verdict",
        Media::TERMINAL,
        vec![advised(), sentences()],
    ));
    let lines = groups.iter().map(|group| {
        let title = format!("{}, {}", group.name, body_words(group.bytes));
        Witnessed::of(title, run, group.rows.iter().copied())
    });
    sections.extend(seen("client and body", &lines.collect::<Vec<_>>()));
    sections.extend(rejected_rows(findings));
    sections.extend(warnings(run, findings.rows.iter()));
    if run.unfinished.is_none() && !of_clients.is_empty() {
        let said = vec![Block::Verdicts(of_clients)];
        sections.push(Section::new("Each client in words", Media::PAGE, said).folded());
    }
    let latencies: Vec<Chart> = bodies
        .iter()
        .flat_map(|bytes| percentiles(&of(*bytes), *bytes))
        .collect();
    if !latencies.is_empty() {
        let charts = vec![Block::Charts(latencies)];
        sections.push(Section::new("Latency from p50 to p99.9", Media::PAGE, charts).folded());
    }
    let panels = groups.iter().map(|group| Chart::Lines(panel(group)));
    let panels = vec![Block::Charts(panels.collect())];
    sections
        .push(Section::new("Each client: CPU, latency and memory", Media::PAGE, panels).folded());
    for bytes in &bodies {
        let title = format!("{}: all figures", capital(&body_words(*bytes)));
        let table = Block::Table(table(run, &of(*bytes), *bytes));
        sections.push(Section::new(title, Media::PAGE, vec![table]).folded());
    }
    sections.extend(left_out(run));
    sections.extend(ending(run, how_to_read(run)));
    View {
        finding: match at_rates.is_empty() {
            true => finding(run, &groups).unwrap_or_default(),
            false => super::rates::finding(run, at_rates).unwrap_or_default(),
        },
        question: match at_rates.is_empty() {
            true => "Which concurrency, and which client?",
            false => "Which rate does each client keep?",
        },
        job: job(run),
        sections,
        ..of_run(run, findings)
    }
}

/// The fastest recommendation of the smallest body, beside the next client's.
fn finding(run: &Document, groups: &[Group]) -> Option<String> {
    let smallest = groups.iter().map(|group| group.bytes).min()?;
    let clients = groups
        .iter()
        .filter(|it| it.bytes == smallest && !it.is_baseline_loader());
    let mut rows: Vec<(&Group, &Row)> = clients
        .filter_map(|group| Some((group, group.recommended()?)))
        .collect();
    rows.sort_by(|(_, a), (_, b)| b.requests_per_second.total_cmp(&a.requests_per_second));
    let ((group, first), others) = rows.split_first()?;
    let name = subject(group);
    let speed = figure(first.requests_per_second);
    let mut others = others.iter();
    let beside = others.find(|(other, _)| is_next(run, group.client, other.client));
    let beside = beside.map_or(String::new(), |(other, row)| {
        let ratio = first.requests_per_second / row.requests_per_second;
        format!(", {} as fast as {}", times(ratio), subject(other))
    });
    let at = count(first.load.concurrency as u64);
    Some(format!(
        "{name}: {speed} requests/s at concurrency {at}{beside}"
    ))
}

/// The measured work, in one sentence.
fn job(run: &Document) -> String {
    let target = serde_json::to_value(&run.plan.target).unwrap_or_default();
    match (target["method"].as_str(), target["url"].as_str()) {
        (Some(method), Some(url)) => {
            let others = match (target["urls"].as_u64(), target["requests_in_turn"].as_u64()) {
                (Some(urls), _) => format!(" and {} more in turn", plural(urls - 1, "URL")),
                (_, Some(all)) => format!(
                    " and {} more in turn{}",
                    plural(all - 1, "request"),
                    elsewhere(&target)
                ),
                _ => String::new(),
            };
            let expect = match target["expect"].as_str() {
                Some(expect) => format!(", success is {expect}"),
                None => String::new(),
            };
            let by = match target["id_field"].as_str() {
                Some(_) => "the numbers confirmed by the service's access log",
                None => "as the clients themselves count",
            };
            format!("{method} {url}{others}{expect}, {by}")
        }
        _ => format!(
            "GET from the lab's own server ({}), every response verified",
            delay_words(&run.plan.delay)
        ),
    }
}

/// Requests of a HAR file that took no part.
fn elsewhere(target: &serde_json::Value) -> String {
    match target["other_origins"].as_u64() {
        Some(others) => format!(" ({} of other origins left out)", count(others)),
        None => String::new(),
    }
}

fn heading(run: &Document, bytes: usize) -> String {
    match &run.plan.delay {
        _ if !run.plan.target.is_test_server() => body_words(bytes),
        delay => format!("{}, {}", body_words(bytes), delay_words(delay)),
    }
}

/// The name of a client in a sentence, with its settings in parentheses.
fn subject(group: &Group) -> String {
    let words = group.name.strip_prefix(group.client);
    match words.and_then(|words| words.strip_prefix(", ")) {
        Some(words) => format!("{} ({words})", group.client),
        None => group.client.to_owned(),
    }
}

/// A sentence, with the colour of its client.
fn verdict(sentence: &str, groups: &[Group]) -> Verdict {
    let found = groups.iter().find_map(|group| {
        let words = sentence.strip_prefix(&subject(group))?;
        words.starts_with(", ").then_some((group, words))
    });
    let words = found.map_or(sentence, |(_, words)| words);
    Verdict {
        subject: sentence[..sentence.len() - words.len()].into(),
        words: words.into(),
        colour: found.map_or(Colour::None, |(group, _)| group.colour()),
    }
}

fn how_to_read(run: &Document) -> String {
    let interval = match run.rounds.iter().map(|round| round.block).max() {
        Some(last) if last + 1 < stats::FEWEST_PAIRS as u32 => {
            format!("{} {}", RANGE.0, RANGE.1)
        }
        _ => "Bars and brackets are 95 % confidence intervals".into(),
    };
    let latencies = match run.rounds.iter().any(|round| round.per_second.is_some()) {
        true => {
            "Latencies count from when a request was due, whether or not earlier ones had ended."
        }
        false => {
            "Latencies are of a closed loop: a new request is sent only when an earlier one has ended."
        }
    };
    let is_logged = run.rounds.iter().any(|round| round.logged.is_some());
    let unverified = match (run.plan.target.is_test_server(), is_logged) {
        (true, _) => "",
        (false, true) => {
            " This service's access log confirms how many requests came and their statuses, and says nothing of bodies and latencies."
        }
        (false, false) => " This server has no log, so nothing was checked.",
    };
    let within = match run.plan.budget.limits() {
        true => format!(" that keeps {}", limit_words(&run.plan.budget)),
        false => String::new(),
    };
    format!(
        "Rounds of all clients are interleaved in random order; ratios compare rounds of the same block (Hodges–Lehmann on \
         log-ratios, Wilcoxon signed-rank interval). {interval}. The recommended concurrency is the smallest that is not \
         shown to be below {} of the fastest{within}. Equivalent means that the whole interval lies within ±{:.0} %. {latencies} The baseline loader is the lab's own driver, \
         which does no more than it must. A row is rejected when the client's claim and the server's log disagree.{unverified}",
        run.plan.budget.enough(),
        EQUIVALENT * 100.0
    )
}
