//! The charts of a sweep: all clients over concurrency or rate, their latencies, and the figures of each client.

use std::collections::BTreeSet;

use super::super::common::*;
use super::super::form::*;
use super::super::percentiles as latencies;
use super::groups::{Group, across, at, grid};
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;

/// Requests/s of all clients over concurrency, on the same scale for every body. One concurrency has bars instead, and
/// one client at one concurrency no chart: the table says as much.
pub(super) fn overview(
    run: &Document,
    groups: &[&Group],
    bytes: usize,
    all: &[Group],
) -> Option<Chart> {
    if let [concurrency] = grid(groups)[..] {
        let bars = bars(run, groups, bytes, concurrency);
        return (bars.groups[0].bars.len() > 1).then_some(Chart::Bars(bars));
    }
    let valid = all.iter().flat_map(|group| group.valid());
    let title = format!(
        "Requests per second over concurrency, {}",
        body_words(bytes)
    );
    let series = groups.iter().map(|group| Series {
        crosses: Vec::new(),
        ..speeds(group, group.is_baseline_loader())
    });
    let plot = Plot {
        most: valid.map(|row| speed_range(row).1).fold(0.0, f64::max),
        ..Plot::alone("requests/s", series.collect())
    };
    Some(Chart::Lines(all_clients(groups, bytes, title, plot)))
}

/// Requests/s of all clients at the only concurrency, the fastest first.
fn bars(run: &Document, groups: &[&Group], bytes: usize, concurrency: f64) -> Bars {
    let bar = |group: &&Group| {
        let row = group.valid().next()?;
        Some(Bar {
            name: group.name.clone(),
            value: row.requests_per_second,
            range: speed_range(row),
            label: figure(row.requests_per_second),
            colour: group.colour(),
            ours: runs_our_engine(run, group.client),
            language: language(run, group.client),
            ..Bar::default()
        })
    };
    let mut bars: Vec<Bar> = groups.iter().filter_map(bar).collect();
    bars.sort_by(|a, b| b.value.total_cmp(&a.value));
    let at = format!("concurrency {}", count(concurrency as u64));
    Bars {
        name: format!("all-{bytes}"),
        heading: format!("{} at {at}", capital(&body_words(bytes))),
        title: format!("Requests per second at {at}, {}", body_words(bytes)),
        unit: "requests/s".into(),
        signs: signs(run, &bars),
        groups: super::super::form::Group::all(bars),
        caption: BAR_ENDS.into(),
        ..Bars::default()
    }
}

/// p99 of all clients over the rate; p50 where no row has enough latencies for p99. The budget is a line of its own.
pub(super) fn latency_over_rate(groups: &[&Group], bytes: usize, budget_ms: Option<f64>) -> Lines {
    let mut rows = groups.iter().flat_map(|group| group.valid());
    let (title, latency): (_, fn(&Row) -> Option<f64>) = match rows.any(|row| row.p99_ms.is_some())
    {
        true => ("p99 in ms", |row| row.p99_ms),
        false => ("p50 in ms", |row| row.p50_ms),
    };
    let point = |row: &Row| Some(latency_point(row, title, latency(row)?));
    let of_client = |group: &&Group| Series {
        name: group.name.clone(),
        colour: group.colour(),
        points: group.valid().filter_map(point).collect(),
        ..Series::default()
    };
    let mut series: Vec<Series> = groups.iter().map(of_client).collect();
    series.extend(budget_ms.and_then(|budget| budget_line(&grid(groups), budget)));
    let heading = format!("Latency over the rate, {}", body_words(bytes));
    all_clients(groups, bytes, heading, Plot::alone(title, series))
}

/// The latency `y` of a row, with its interval if that is known.
fn latency_point(row: &Row, title: &str, y: f64) -> Point {
    let range = match (row.p99_low_ms, row.p99_high_ms) {
        (Some(low), Some(high)) => (low, high),
        _ => (y, y),
    };
    Point {
        x: across(row),
        y,
        range,
        hint: format!("{}: {title} {}", at(row), small(y)),
    }
}

/// A level line from the first to the last rate; none without rates.
fn budget_line(grid: &[f64], budget: f64) -> Option<Series> {
    let ends = [*grid.first()?, *grid.last()?].map(|x| Point::at(x, budget));
    Some(Series {
        name: format!("budget of {} ms", figure(budget)),
        stroke: Stroke::Bound,
        points: ends.into(),
        ..Series::default()
    })
}

/// A chart with a line for each client, in one plot.
fn all_clients(groups: &[&Group], bytes: usize, title: String, plot: Plot) -> Lines {
    let words: Vec<String> = groups
        .iter()
        .map(|group| format!("{}: {}", group.name, in_words(group)))
        .collect();
    Lines {
        name: format!("all-{bytes}"),
        heading: capital(&body_words(bytes)),
        title,
        across: axis(groups),
        plots: vec![plot],
        words: words.join(" "),
        ..Lines::default()
    }
}

/// The latencies of all clients: at their recommended concurrencies, or at each rate of the run.
pub(super) fn percentiles<'a>(groups: &[&'a Group<'a>], bytes: usize) -> Vec<Chart> {
    let rows = groups.iter().flat_map(|group| group.valid());
    let rates: BTreeSet<_> = rows.filter_map(|row| row.load.rate).collect();
    if rates.is_empty() {
        let advised = |group: &&'a Group<'a>| Some(group.latencies_of(group.recommended()?));
        let advised: Vec<_> = groups.iter().filter_map(advised).collect();
        let heading = format!("{}, at the recommended concurrency", body_words(bytes));
        let chart = latencies::chart(format!("percentiles-{bytes}"), heading, &advised);
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
        latencies::chart(format!("percentiles-{bytes}-{name}"), heading, &clients)
    };
    rates.into_iter().filter_map(at_rate).collect()
}

fn axis(groups: &[&Group]) -> Across {
    let grid = grid(groups);
    let mut rows = groups.iter().flat_map(|group| &group.rows);
    let rates = rows.any(|row| row.load.rate.is_some());
    let (title, labels) = match rates {
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
        round: rates,
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
pub(super) fn panel(group: &Group) -> Lines {
    let body = body_words(group.bytes);
    Lines {
        name: format!("{}-{}", group.name.replace(" loader", ""), group.bytes),
        heading: format!("{}, {body}", group.name),
        title: format!(
            "{}, {body}: requests per second, CPU, latency and memory",
            group.name
        ),
        across: axis(&[group]),
        plots: panel_plots(group),
        band: group.recommended().map(use_it),
        words: in_words(group),
    }
}

/// Where the recommended row lies, and what is said of it.
fn use_it(row: &Row) -> (f64, String) {
    (
        row.load.concurrency as f64,
        format!(
            "recommended: {} in flight, {} requests/s",
            count(row.load.concurrency),
            figure(row.requests_per_second)
        ),
    )
}

fn panel_plots(group: &Group) -> Vec<Plot> {
    let plot = |title: &str, height, most, series| Plot {
        title: title.into(),
        height,
        most,
        ticks: 1,
        log: false,
        series,
    };
    let cpu = panel_series(group, Stroke::Marks, |row| Some(row.cpu_percentage));
    let latency = match group.valid().any(|row| row.p50_ms.or(row.p99_ms).is_some()) {
        true => "latency in ms: p50 as a line, p99 dashed",
        false => "latency: the driver reports none",
    };
    let latencies = vec![
        panel_series(group, Stroke::Dashed, |row| row.p99_ms),
        panel_series(group, Stroke::Line, |row| row.p50_ms),
    ];
    let memory = panel_series(group, Stroke::Line, |row| Some(row.peak_rss_mb));
    vec![
        Plot {
            ticks: 4,
            ..plot("requests/s", 170.0, 0.0, vec![speeds(group, false)])
        },
        plot("CPU % of one core", 66.0, 100.0, vec![cpu]),
        plot(latency, 72.0, 0.0, latencies),
        plot("peak memory in MB", 62.0, 0.0, vec![memory]),
    ]
}

/// One figure of all rows; marks say it in words too.
fn panel_series(group: &Group, stroke: Stroke, value: fn(&Row) -> Option<f64>) -> Series {
    let point = |row: &Row| {
        let y = value(row)?;
        let hint = match stroke {
            Stroke::Marks => format!("{}: CPU {} %", at(row), figure(y)),
            _ => String::new(),
        };
        let at = Point::at(across(row), y);
        Some(Point { hint, ..at })
    };
    Series {
        colour: group.colour(),
        stroke,
        points: group.valid().filter_map(point).collect(),
        ..Series::default()
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
