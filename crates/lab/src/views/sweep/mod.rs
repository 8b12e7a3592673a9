//! A sweep as a view: which concurrency to use, by client and size of the response.

mod charts;
mod groups;
mod tables;

use std::collections::BTreeSet;

use super::common::*;
use super::form::*;
use super::warnings::warnings;
use crate::findings::stats::Statement;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;
use charts::{latency_over_rate, overview, panel, percentiles};
use groups::{Group, groups};
use tables::{advised, table};

/// The whole view; a run that did not end recommends nothing.
pub(super) fn view(run: &Document, findings: &Findings) -> View {
    let groups = groups(run, findings);
    let sweep = Sweep::new(run, findings, &groups);
    let at_rates = &findings.rates;
    let mut sections = sweep.summary();
    sections.extend(sweep.seen());
    sections.extend(rejected_rows(NOT_RANKED, findings));
    sections.extend(warnings(run, findings.rows.iter()));
    sections.extend(sweep.in_words());
    sections.extend(sweep.all_charts());
    sections.extend(sweep.all_figures());
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

/// The contents of the view's sections.
struct Sweep<'a> {
    run: &'a Document,
    rates: &'a [AtRate],
    groups: &'a [Group<'a>],
    /// Sizes of the responses.
    bodies: BTreeSet<usize>,
    verdicts: Vec<Verdict>,
}

impl<'a> Sweep<'a> {
    fn new(run: &'a Document, findings: &'a Findings, groups: &'a [Group<'a>]) -> Sweep<'a> {
        let verdicts = findings.verdicts.iter();
        Sweep {
            run,
            rates: &findings.rates,
            groups,
            bodies: groups.iter().map(|group| group.bytes).collect(),
            verdicts: verdicts.map(|it| verdict(it, groups)).collect(),
        }
    }

    fn of(&self, bytes: usize) -> Vec<&'a Group<'a>> {
        let all = self.groups.iter();
        all.filter(|group| group.bytes == bytes).collect()
    }

    fn sentences(&self) -> Block {
        verdicts(self.run, || Block::Verdicts(self.verdicts.clone()))
    }

    fn advised(&self) -> Block {
        match self.rates.is_empty() {
            true => Block::Table(advised(self.run, self.groups)),
            false => Block::Table(super::rates::table(self.run, self.rates)),
        }
    }

    /// All clients in one chart: their speeds, or their latencies at rates.
    fn chart(&self, bytes: usize) -> Option<Chart> {
        let groups = self.of(bytes);
        match self.rates.is_empty() {
            true => overview(self.run, &groups, bytes, self.groups),
            false => {
                let budget = self.run.plan.budget.p99_ms;
                Some(Chart::Lines(latency_over_rate(&groups, bytes, budget)))
            }
        }
    }

    fn table(&self, bytes: usize) -> Block {
        Block::Table(table(self.run, &self.of(bytes), bytes))
    }

    /// What each medium says first.
    fn summary(&self) -> Vec<Section> {
        let charts = self.bodies.iter().filter_map(|bytes| self.chart(*bytes));
        let charts = Block::Charts(charts.collect());
        let general = self.verdicts.iter().filter(|it| it.subject.is_empty());
        let general = || Block::Verdicts(general.cloned().collect());
        // A table of rates has a line for each; a chart shows at once who exceeds the budget.
        let first = match self.rates.is_empty() {
            true => vec![self.advised(), charts],
            false => vec![charts, self.advised()],
        };
        let mut sections = vec![
            Section::new("", Media::PAGE, first),
            Section::new("", Media::PAGE, vec![verdicts(self.run, general)]),
            Section::new("", Media::MARKDOWN, vec![self.sentences()]),
        ];
        for bytes in &self.bodies {
            let chart = Block::Charts(self.chart(*bytes).into_iter().collect());
            let blocks = vec![self.table(*bytes), chart];
            sections.push(Section::new(heading(self.run, *bytes), Media::TEXT, blocks));
        }
        let blocks = vec![self.advised(), self.sentences()];
        sections.push(Section::new("Verdict", Media::TERMINAL, blocks));
        sections
    }

    fn seen(&self) -> Vec<Section> {
        let lines = self.groups.iter().map(|group| {
            let title = format!("{}, {}", group.name, body_words(group.bytes));
            Witnessed::of(title, self.run, group.rows.iter().copied())
        });
        seen("client and body", &lines.collect::<Vec<_>>())
    }

    /// The sentences about single clients; none if the run did not end.
    fn in_words(&self) -> Option<Section> {
        let of_clients = self.verdicts.iter().filter(|it| !it.subject.is_empty());
        let of_clients: Vec<Verdict> = of_clients.cloned().collect();
        let says = self.run.unfinished.is_none() && !of_clients.is_empty();
        let blocks = vec![Block::Verdicts(of_clients)];
        says.then(|| Section::new("Each client in words", Media::PAGE, blocks).folded())
    }

    /// Percentiles of all clients, and the panels of each.
    fn all_charts(&self) -> Vec<Section> {
        let bodies = self.bodies.iter();
        let latencies = bodies.flat_map(|bytes| percentiles(&self.of(*bytes), *bytes));
        let latencies: Vec<Chart> = latencies.collect();
        let panels = self.groups.iter().map(|group| Chart::Lines(panel(group)));
        let folded = |title: &str, charts| {
            Section::new(title, Media::PAGE, vec![Block::Charts(charts)]).folded()
        };
        let mut sections = Vec::new();
        if !latencies.is_empty() {
            sections.push(folded("Latency from p50 to p99.9", latencies));
        }
        let title = "Each client: CPU, latency and memory";
        sections.push(folded(title, panels.collect()));
        sections
    }

    fn all_figures(&self) -> impl Iterator<Item = Section> {
        self.bodies.iter().map(|bytes| {
            let title = format!("{}: all figures", capital(&body_words(*bytes)));
            Section::new(title, Media::PAGE, vec![self.table(*bytes)]).folded()
        })
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
        let paired = ratio(&run.rounds, &first.cell(), &row.cell());
        let medians = first.requests_per_second / row.requests_per_second;
        let how = match paired.as_ref().map(|found| found.against(1.0)) {
            Some(Statement::Same) => ", as fast as".to_owned(),
            Some(Statement::Unclear) => "; it cannot be told apart from".to_owned(),
            _ => {
                let faster = paired.map_or(medians, |found| found.value);
                format!(", {} as fast as", times(faster))
            }
        };
        format!("{how} {}", subject(other))
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
                (_, Some(all)) => format!(" and {} more in turn", plural(all - 1, "request")),
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
        _ => {
            let trusted = run.rounds.iter().any(|round| round.trusted);
            let verified = if trusted {
                ""
            } else {
                ", every response verified"
            };
            let delay = delay_words(&run.plan.delay);
            format!("GET from the lab's own server ({delay}){verified}")
        }
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
            " This service's access log confirms how many requests arrived and their statuses, but nothing about bodies and latencies."
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
