//! A sweep as a view: which concurrency to use, by client and size of the response.

use std::collections::BTreeSet;

use super::common::*;
use super::form::*;
use super::warnings::warnings;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;
use crate::plan::{Cell, Load};
use crate::spec::{BASELINE_LOADER, load_words};

/// One client under loads that differ in concurrency alone, or in the rate alone.
struct Group<'a> {
    name: String,
    client: &'a str,
    /// Its position among all: colour and marker follow it, in every chart the same.
    place: usize,
    bytes: usize,
    /// In ascending concurrency or rate.
    rows: Vec<&'a Row>,
    advice: Option<&'a Recommendation>,
}

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
        true => overview(&of(bytes), bytes, &groups),
        false => latency_over_rate(&of(bytes), bytes, run.plan.p99_ms),
    };
    let all = bodies
        .iter()
        .map(|bytes| Chart::Lines(charts(*bytes)))
        .collect();
    let mut sections = vec![
        Section::new("", Media::PAGE, vec![advised(), Block::Charts(all)]),
        Section::new("", Media::PAGE, vec![remaining()]),
        Section::new("", Media::MARKDOWN, vec![sentences()]),
    ];
    for bytes in &bodies {
        let chart = Block::Charts(vec![Chart::Lines(charts(*bytes))]);
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
        finding: finding(&groups).unwrap_or_default(),
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
fn finding(groups: &[Group]) -> Option<String> {
    let smallest = groups.iter().map(|group| group.bytes).min()?;
    let clients = groups
        .iter()
        .filter(|it| it.bytes == smallest && !it.is_baseline_loader());
    let mut rows: Vec<(&str, &Row)> = clients
        .filter_map(|group| Some((group.name.as_str(), group.recommended()?)))
        .collect();
    rows.sort_by(|(_, a), (_, b)| b.requests_per_second.total_cmp(&a.requests_per_second));
    let (name, first) = *rows.first()?;
    let speed = figure(first.requests_per_second);
    let beside = rows.get(1).map_or(String::new(), |(other, row)| {
        let ratio = first.requests_per_second / row.requests_per_second;
        format!(", {} {other}", times(ratio))
    });
    let at = first.load.concurrency;
    Some(format!(
        "{name}: {speed} requests/s at concurrency {at}{beside}"
    ))
}

/// The measured work, in one sentence.
fn job(run: &Document) -> String {
    let target = serde_json::to_value(&run.plan.target).unwrap_or_default();
    match (target["method"].as_str(), target["url"].as_str()) {
        (Some(method), Some(url)) => {
            let others = match target["urls"].as_u64() {
                Some(urls) => format!(" and {} more in turn", plural(urls - 1, "URL")),
                None => String::new(),
            };
            let expect = match target["expect"].as_str() {
                Some(expect) => format!(", success is {expect}"),
                None => String::new(),
            };
            format!("{method} {url}{others}{expect}, as the clients themselves count")
        }
        _ => format!(
            "GET from the lab's own server (delay {}), every response verified",
            run.plan.delay
        ),
    }
}

fn heading(run: &Document, bytes: usize) -> String {
    match &run.plan.delay {
        _ if !run.plan.target.is_test_server() => body_words(bytes),
        hecaton_test_server::Delay::None => format!("{}, no delay", body_words(bytes)),
        delay => format!("{}, delay {delay}", body_words(bytes)),
    }
}

/// By body, then in the order of the plan, the baseline loader last.
fn groups<'a>(run: &Document, findings: &'a Findings) -> Vec<Group<'a>> {
    let order = |client: &str| {
        let planned = run.plan.clients.iter().position(|name| name == client);
        (client == BASELINE_LOADER, planned.unwrap_or(usize::MAX))
    };
    let mut rows: Vec<&Row> = findings.rows.iter().collect();
    let kind = |row: &Row| {
        let load = Load {
            concurrency: row.load.rate.map_or(0, |_| row.load.concurrency),
            body_bytes: 0,
            rate: row.load.rate.map(|rate| rate.of_any_amount()),
            ..row.load
        };
        Cell::new(&row.client, load)
    };
    let key = |row: &Row| (row.load.body_bytes, order(&row.client), kind(row));
    rows.sort_by(|a, b| {
        let then = || across(a).total_cmp(&across(b));
        key(a).cmp(&key(b)).then_with(then)
    });
    let mut kinds: Vec<Cell> = rows.iter().map(|row| kind(row)).collect();
    kinds.sort_by_key(|cell| order(&cell.client));
    kinds.dedup();
    let group = |own: &[&'a Row]| {
        let (row, cell) = (own[0], kind(own[0]));
        let alone = kinds
            .iter()
            .filter(|kind| kind.client == row.client)
            .count()
            == 1;
        let words = load_words(&cell.load, &run.plan.usual())
            .replace("concurrency 0", "")
            .replace("rate poisson:1", "arrivals by chance")
            .replace("rate 1", "even arrivals");
        let words = words.trim_start_matches(", ");
        Group {
            name: match alone || words.is_empty() {
                true => name(&row.client),
                false => format!("{}, {words}", name(&row.client)),
            },
            client: &row.client,
            place: kinds.iter().position(|kind| *kind == cell).unwrap_or(0),
            bytes: row.load.body_bytes,
            rows: own.to_vec(),
            advice: findings
                .recommendations
                .iter()
                .find(|it| own.iter().any(|row| it.cell() == row.cell())),
        }
    };
    rows.chunk_by(|a, b| (a.load.body_bytes, kind(a)) == (b.load.body_bytes, kind(b)))
        .map(group)
        .collect()
}

impl Group<'_> {
    fn is_baseline_loader(&self) -> bool {
        self.client == BASELINE_LOADER
    }

    /// The rows that may be compared.
    fn valid(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .copied()
            .filter(|row| row.rejected.is_none())
    }

    fn recommends(&self, row: &Row) -> bool {
        self.advice
            .is_some_and(|advice| advice.load.concurrency == row.load.concurrency)
    }

    fn recommended(&self) -> Option<&Row> {
        self.rows.iter().copied().find(|row| self.recommends(row))
    }

    fn latencies_of<'b>(&'b self, row: &'b Row) -> super::percentiles::Client<'b> {
        super::percentiles::Client {
            name: &self.name,
            colour: self.colour(),
            row,
        }
    }

    fn colour(&self) -> Colour {
        Colour::of(self.place, self.is_baseline_loader())
    }
}

/// A sentence, with the colour of its client.
fn verdict(sentence: &str, groups: &[Group]) -> Verdict {
    let own = |group: &&Group| {
        sentence
            .strip_prefix(group.client)
            .is_some_and(|rest| rest.starts_with(", "))
    };
    let group = groups.iter().find(own);
    let (subject, words) = sentence.split_at(group.map_or(0, |group| group.client.len()));
    Verdict {
        subject: subject.into(),
        words: words.into(),
        colour: group.map_or(Colour::None, Group::colour),
    }
}

/// The advice: a line for each client and size.
fn advised(run: &Document, groups: &[Group]) -> Table {
    let clients: Vec<&Group> = groups
        .iter()
        .filter(|group| !group.is_baseline_loader())
        .collect();
    let row = |value: fn(&Row) -> String| move |it: &&Group| optional(it.recommended(), value);
    let response = |it: &&Group| match it.bytes {
        0 => "the server's own".into(),
        bytes => format!("{} bytes", count(bytes)),
    };
    #[rustfmt::skip]
    let columns = vec![
        col("client", 0, |it: &&Group| it.name.clone()).words(),
        col("response", 0, response),
        col("use", 0, row(|row| row.load.concurrency.to_string())),
        col("requests\nper s", 0, row(|row| figure(row.requests_per_second))),
        col("speed-\nup", 0, |it: &&Group| speedup(it.advice.and_then(|advice| advice.speedup))).intervals(5),
        col("of\nbaseline", 3, row(|row| optional(row.baseline_loader_ratio, percent))),
        col("CPU\n%", 4, row(|row| figure(row.cpu_percentage))),
        col("p99\nms", 4, row(p99_words)).intervals(9),
        col("rejected", 2, |it: &&Group| match it.rows.len() - it.valid().count() {
            0 => NONE.into(),
            some => format!("{some} of {}", it.rows.len()),
        }),
    ];
    let table = Table::of("What to use", &clients, columns).each(&clients, |line, it| {
        line.language = language(run, it.client);
        line.look = if it.advice.is_none() && run.unfinished.is_none() {
            Look::Rejected
        } else {
            Look::Plain
        };
    });
    table.marks(INTERVAL.0, INTERVAL.1)
}

/// All figures of a body.
fn table(run: &Document, groups: &[&Group], bytes: usize) -> Table {
    let rows: Vec<(&Group, &Row)> = groups
        .iter()
        .flat_map(|group| group.rows.iter().map(move |row| (*group, *row)))
        .collect();
    #[rustfmt::skip]
    let mut columns = vec![
        col("client", 0, |it: &(&Group, &Row)| it.0.name.clone()).words(),
        col("concur-\nrency", 0, |it: &(&Group, &Row)| it.1.load.concurrency.to_string()),
    ];
    if rows.iter().any(|(_, row)| row.load.rate.is_some()) {
        let rate = |it: &(&Group, &Row)| optional(it.1.load.rate, |rate| rate.to_string());
        columns.push(col("rate", 0, rate));
    }
    columns.extend(figures(|it: &(&Group, &Row)| it.1));
    let advice = |row: &Row| {
        groups
            .iter()
            .any(|group| group.recommends(row) && group.rows.contains(&row))
    };
    columns.extend(standing(|it: &(&Group, &Row)| it.1, advice));
    let line = |line: &mut Line, (group, row): &(&Group, &Row)| {
        line.look = look(row, group.recommends(row));
        line.language = language(run, group.client);
        line.continues = group.rows.first().is_some_and(|first| first != row);
        line.apart = !line.continues;
    };
    let table = Table::of(
        &format!("{}: all figures", body_words(bytes)),
        &rows,
        columns,
    )
    .each(&rows, line);
    let marks = [RECOMMENDED, REJECTED, UNVERIFIED];
    marks
        .into_iter()
        .fold(table, |table, (mark, words)| table.marks(mark, words))
}

/// Requests/s of all clients over concurrency, on the same scale for every body.
fn overview(groups: &[&Group], bytes: usize, all: &[Group]) -> Lines {
    let most = all
        .iter()
        .flat_map(|group| group.valid())
        .map(|row| speed_range(row).1)
        .fold(0.0, f64::max);
    let words: Vec<String> = groups
        .iter()
        .map(|group| format!("{}: {}", group.name, in_words(group)))
        .collect();
    Lines {
        name: format!("all-{bytes}"),
        heading: capital(&body_words(bytes)),
        title: format!(
            "Requests per second over concurrency, {}",
            body_words(bytes)
        ),
        width: 410.0,
        across: axis(groups),
        plots: vec![Plot {
            title: "requests/s".into(),
            height: 220.0,
            most,
            ticks: 5,
            log: true,
            series: groups
                .iter()
                .map(|group| Series {
                    crosses: Vec::new(),
                    ..speeds(group, group.is_baseline_loader())
                })
                .collect(),
        }],
        band: None,
        words: words.join(" "),
    }
}

/// p99 of all clients over the rate; p50 where no row has enough latencies for p99. The budget is a line of its own.
fn latency_over_rate(groups: &[&Group], bytes: usize, budget_ms: Option<f64>) -> Lines {
    let rows = || groups.iter().flat_map(|group| group.valid());
    let (title, latency): (_, fn(&Row) -> Option<f64>) =
        match rows().any(|row| row.p99_ms.is_some()) {
            true => ("p99 in ms", |row| row.p99_ms),
            false => ("p50 in ms", |row| row.p50_ms),
        };
    let point = |row: &Row| {
        let y = latency(row)?;
        let range = match (row.p99_low_ms, row.p99_high_ms) {
            (Some(low), Some(high)) => (low, high),
            _ => (y, y),
        };
        let hint = format!("{}: {title} {}", at(row), small(y));
        Some(Point {
            x: across(row),
            y,
            range,
            hint,
        })
    };
    let mut series: Vec<Series> = groups
        .iter()
        .map(|group| Series {
            name: group.name.clone(),
            colour: group.colour(),
            stroke: Stroke::Line,
            points: group.valid().filter_map(point).collect(),
            crosses: Vec::new(),
        })
        .collect();
    let grid = grid(groups);
    if let (Some(budget), Some(first), Some(last)) = (budget_ms, grid.first(), grid.last()) {
        let ends = [*first, *last].map(|x| Point {
            x,
            y: budget,
            range: (budget, budget),
            hint: String::new(),
        });
        series.push(Series {
            name: format!("budget of {} ms", figure(budget)),
            stroke: Stroke::Bound,
            points: ends.into(),
            ..Series::default()
        });
    }
    let words: Vec<String> = groups
        .iter()
        .map(|group| format!("{}: {}", group.name, in_words(group)))
        .collect();
    Lines {
        name: format!("all-{bytes}"),
        heading: capital(&body_words(bytes)),
        title: format!("Latency over the rate, {}", body_words(bytes)),
        width: 410.0,
        across: axis(groups),
        plots: vec![Plot {
            title: title.into(),
            height: 220.0,
            most: 0.0,
            ticks: 5,
            log: true,
            series,
        }],
        band: None,
        words: words.join(" "),
    }
}

/// The latencies of all clients: at their recommended concurrencies, or at each rate of the run.
fn percentiles<'a>(groups: &[&'a Group<'a>], bytes: usize) -> Vec<Chart> {
    let rates: BTreeSet<_> = groups
        .iter()
        .flat_map(|group| group.valid())
        .filter_map(|row| row.load.rate)
        .collect();
    if rates.is_empty() {
        let advised = groups
            .iter()
            .filter_map(|group| Some(group.latencies_of(group.recommended()?)));
        let heading = format!("{}, at the recommended concurrency", body_words(bytes));
        let chart = super::percentiles::chart(
            format!("percentiles-{bytes}"),
            heading,
            &advised.collect::<Vec<_>>(),
        );
        return chart.into_iter().collect();
    }
    let at_rate = |rate| {
        let rows = |group: &&'a Group<'a>| {
            let row = group.valid().find(|row| row.load.rate == Some(rate))?;
            Some(group.latencies_of(row))
        };
        let clients: Vec<_> = groups.iter().filter_map(rows).collect();
        let name = rate.to_string().replace(['%', ':'], "-");
        let heading = format!("{}, rate {rate}", body_words(bytes));
        super::percentiles::chart(format!("percentiles-{bytes}-{name}"), heading, &clients)
    };
    rates.into_iter().filter_map(at_rate).collect()
}

/// Where a row stands in charts: its rate, or its concurrency in the closed loop.
fn across(row: &Row) -> f64 {
    row.due_per_second.unwrap_or(row.load.concurrency as f64)
}

/// The same in words.
fn at(row: &Row) -> String {
    match row.due_per_second {
        Some(rate) => format!("{} requests/s", figure(rate)),
        None => format!("concurrency {}", row.load.concurrency),
    }
}

/// Every concurrency or rate at which a client was measured.
fn grid(groups: &[&Group]) -> Vec<f64> {
    let mut grid: Vec<f64> = groups
        .iter()
        .flat_map(|group| &group.rows)
        .map(|row| across(row))
        .collect();
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    grid
}

fn axis(groups: &[&Group]) -> Across {
    let grid = grid(groups);
    let mut rows = groups.iter().flat_map(|group| &group.rows);
    let (title, labels) = match rows.any(|row| row.load.rate.is_some()) {
        true => (
            "requests due per second",
            grid.iter().map(|at| count(at.round() as u64)).collect(),
        ),
        false => ("concurrency", Vec::new()),
    };
    Across {
        title,
        labels,
        grid,
        log: true,
    }
}

fn speeds(group: &Group, bound: bool) -> Series {
    let point = |row: &Row| Point {
        x: across(row),
        y: row.requests_per_second,
        range: speed_range(row),
        hint: format!("{}: {}", at(row), speed_words(row)),
    };
    Series {
        name: group.name.clone(),
        colour: group.colour(),
        stroke: if bound { Stroke::Bound } else { Stroke::Line },
        points: group.valid().map(point).collect(),
        crosses: group
            .rows
            .iter()
            .filter(|row| row.rejected.is_some())
            .map(|row| point(row))
            .collect(),
    }
}

/// The plots of one client, below one another.
fn panel(group: &Group) -> Lines {
    let series = |stroke, value: fn(&Row) -> Option<f64>| {
        let point = |row: &Row| {
            let y = value(row)?;
            let hint = match stroke {
                Stroke::Marks => format!("{}: CPU {} %", at(row), figure(y)),
                _ => String::new(),
            };
            Some(Point {
                x: across(row),
                y,
                range: (y, y),
                hint,
            })
        };
        Series {
            name: String::new(),
            colour: group.colour(),
            stroke,
            points: group.valid().filter_map(point).collect(),
            crosses: Vec::new(),
        }
    };
    let plot = |title: &str, height, most, series| Plot {
        title: title.into(),
        height,
        most,
        ticks: 1,
        log: false,
        series,
    };
    let latency = match group.valid().any(|row| row.p50_ms.or(row.p99_ms).is_some()) {
        true => "latency in ms: p50 as a line, p99 dashed",
        false => "latency: the driver reports none",
    };
    let use_it = |row: &Row| {
        (
            row.load.concurrency as f64,
            format!(
                "use {}: {} requests/s",
                row.load.concurrency,
                figure(row.requests_per_second)
            ),
        )
    };
    Lines {
        name: format!("{}-{}", group.name.replace(" loader", ""), group.bytes),
        heading: format!("{}, {}", group.name, body_words(group.bytes)),
        title: format!(
            "{}, {}: requests per second, CPU, latency and memory",
            group.name,
            body_words(group.bytes)
        ),
        width: 410.0,
        across: axis(&[group]),
        plots: vec![
            Plot {
                ticks: 4,
                ..plot("requests/s", 170.0, 0.0, vec![speeds(group, false)])
            },
            plot(
                "CPU % of one core",
                66.0,
                100.0,
                vec![series(Stroke::Marks, |row| Some(row.cpu_percentage))],
            ),
            plot(
                latency,
                72.0,
                0.0,
                vec![
                    series(Stroke::Dashed, |row| row.p99_ms),
                    series(Stroke::Line, |row| row.p50_ms),
                ],
            ),
            plot(
                "peak memory in MB",
                62.0,
                0.0,
                vec![series(Stroke::Line, |row| Some(row.peak_rss_mb))],
            ),
        ],
        band: group.recommended().map(use_it),
        words: in_words(group),
    }
}

/// A chart's content in words, for readers who cannot see it.
fn in_words(group: &Group) -> String {
    let fastest = group
        .valid()
        .max_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
    let Some(fastest) = fastest else {
        return "every row was rejected.".into();
    };
    if fastest.load.rate.is_some() {
        let each = group.valid().map(|row| {
            let p99 = optional(row.p99_ms, |p99| format!("p99 {} ms", small(p99)));
            format!(
                "at {} p50 {} ms, {p99}",
                at(row),
                optional(row.p50_ms, small)
            )
        });
        return each.collect::<Vec<_>>().join("; ") + ".";
    }
    let speed = figure(fastest.requests_per_second);
    let mut words = format!(
        "fastest at concurrency {} with {speed} requests/s",
        fastest.load.concurrency
    );
    if let Some(advice) = group.advice {
        words += &format!("; recommended concurrency {}", advice.load.concurrency);
        let speedup = advice
            .speedup
            .map(|found| format!(", {} the speed at concurrency 1", times(found.value)));
        words += &speedup.unwrap_or_default();
    }
    words + "."
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
    let unverified = match run.plan.target.is_test_server() {
        true => "",
        false => " This server has no log, so nothing was checked.",
    };
    format!(
        "Rounds of all clients are interleaved in random order; ratios compare rounds of the same block (Hodges–Lehmann on \
         log-ratios, Wilcoxon signed-rank interval). {interval}. The recommended concurrency is the smallest that is not \
         shown to be below {ENOUGH} of the fastest. Equivalent means that the whole interval lies within ±{:.0} %. {latencies} The baseline loader is the lab's own driver, \
         which does no more than it must. A row is rejected when the client's claim and the server's log disagree.{unverified}",
        EQUIVALENT * 100.0
    )
}
