//! The chart of all clients of a body together, and what the chart of each client alone shares with it.

use super::scale::{Categories, Linear, tick_label, ticks};
use super::svg::Svg;
use super::view::{Body, Series};
use crate::findings::words::{figure, interval};
use crate::findings::{Row, body_words};

/// Width of a chart on a telephone.
pub(super) const NARROW: f64 = 410.0;

/// Where plots begin.
pub(super) const LEFT: f64 = 42.0;

/// A tall enough step between names at the right of the overview.
const NAME_STEP: f64 = 17.0;

/// Requests/s of all clients over concurrency; `wide` has the names beside the lines, else a legend stands above.
pub(super) fn overview(body: &Body, wide: bool, id: &str) -> String {
    let size = if wide {
        (940.0, 330.0)
    } else {
        (NARROW, 280.0)
    };
    let right = if wide { size.0 - 150.0 } else { size.0 - 6.0 };
    let across = Categories {
        count: body.grid.len(),
        from: LEFT,
        to: right,
    };
    let valid = body.clients.iter().flat_map(|series| series.valid());
    let most = valid.map(|row| speed_range(row).1).fold(0.0, f64::max);
    let axis = ticks(most, 5);
    let up = Linear {
        most: last(&axis),
        from: size.1 - 40.0,
        to: 30.0,
    };
    let mut svg = Svg::new();
    grid_lines(&mut svg, &axis, up, (LEFT, right));
    categories(&mut svg, &body.grid, across, size.1 - 24.0);
    svg.text("axis", (2.0, 16.0), "requests/s");
    svg.text("axis end", (right, size.1 - 6.0), "concurrency");
    for series in &body.clients {
        draw_speed(&mut svg, series, body, across, up, false);
    }
    if wide {
        names(&mut svg, body, across, up);
    }
    let title = format!(
        "Requests per second over concurrency, {}",
        body_words(body.bytes)
    );
    let class = if wide {
        "overview wide"
    } else {
        "overview narrow"
    };
    svg.finish(size, id, class, &title, &overview_words(body))
}

/// The class that gives a client its colour.
pub(super) fn colour(series: &Series) -> String {
    if series.is_ceiling() {
        "ceil".into()
    } else {
        format!("c{}", series.place % 6)
    }
}

pub(super) fn last(axis: &[f64]) -> f64 {
    axis.last().copied().unwrap_or(1.0)
}

pub(super) fn index(body: &Body, row: &Row) -> usize {
    body.grid
        .iter()
        .position(|concurrency| *concurrency == row.concurrency)
        .unwrap_or(0)
}

/// The interval of a row's speed, never excluding the figure that is printed for it.
pub(super) fn speed_range(row: &Row) -> (f64, f64) {
    let speed = row.requests_per_second;
    row.speed.map_or((speed, speed), |estimate| {
        (estimate.low.min(speed), estimate.high.max(speed))
    })
}

pub(super) fn grid_lines(svg: &mut Svg, axis: &[f64], up: Linear, (left, right): (f64, f64)) {
    for tick in axis {
        let y = up.at(*tick);
        svg.line(
            if *tick == 0.0 { "base" } else { "grid" },
            (left, y),
            (right, y),
        );
        svg.text(
            "tick end",
            (left - 6.0, y + 4.0),
            &tick_label(*tick, up.most),
        );
    }
}

/// The concurrencies, leaving out those for which there is no room.
pub(super) fn categories(svg: &mut Svg, grid: &[usize], across: Categories, y: f64) {
    let mut free_from = f64::MIN;
    for (index, concurrency) in grid.iter().enumerate() {
        let text = concurrency.to_string();
        let half = text.len() as f64 * 3.1 + 1.2;
        if across.at(index) - half >= free_from {
            svg.text("tick middle", (across.at(index), y), &text);
            free_from = across.at(index) + half;
        }
    }
}

pub(super) fn draw_speed(
    svg: &mut Svg,
    series: &Series,
    body: &Body,
    across: Categories,
    up: Linear,
    detailed: bool,
) {
    let ceiling = series.is_ceiling();
    svg.open_group(&colour(series));
    let at = |row: &Row| (across.at(index(body, row)), up.at(row.requests_per_second));
    let points: Vec<(f64, f64)> = series.valid().map(at).collect();
    svg.path(if ceiling { "line ceiling" } else { "line" }, &points);
    for row in series.valid().filter(|_| detailed || !ceiling) {
        error_bar(svg, across.at(index(body, row)), speed_range(row), up);
        svg.marker(
            series.place,
            at(row),
            &if detailed { hint(row) } else { String::new() },
        );
    }
    for row in series
        .rows
        .iter()
        .filter(|row| row.rejected.is_some() && detailed)
    {
        svg.cross((across.at(index(body, row)), up.from - 8.0), &hint(row));
    }
    svg.close_group();
}

fn error_bar(svg: &mut Svg, x: f64, (low, high): (f64, f64), up: Linear) {
    let (bottom, top) = (up.at(low), up.at(high));
    if bottom - top > 1.5 {
        svg.error_bar((x, bottom), top);
    }
}

fn hint(row: &Row) -> String {
    let spread = match row.speed {
        Some(speed) if speed.confidence.is_some() => {
            format!(" (95 %: {}–{})", figure(speed.low), figure(speed.high))
        }
        Some(speed) => format!(" (seen: {}–{})", figure(speed.low), figure(speed.high)),
        None => String::new(),
    };
    let reason = row
        .rejected
        .as_ref()
        .map(|reason| format!("; rejected: {reason}"))
        .unwrap_or_default();
    format!(
        "concurrency {}: {} requests/s{spread}{reason}",
        row.concurrency,
        figure(row.requests_per_second)
    )
}

/// Names beside the last point of each line, pushed apart where they would overlap.
fn names(svg: &mut Svg, body: &Body, across: Categories, up: Linear) {
    let mut ends: Vec<(f64, f64, &Series)> = body
        .clients
        .iter()
        .filter_map(|series| {
            let row = series.valid().last()?;
            Some((
                up.at(row.requests_per_second),
                across.at(index(body, row)),
                series,
            ))
        })
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free_from = f64::MIN;
    for (y, x, series) in &ends {
        let shown = y.max(free_from);
        free_from = shown + NAME_STEP;
        svg.open_group(&colour(series));
        svg.line("leader", (x + 7.0, *y), (across.to + 8.0, shown));
        svg.text(
            "name",
            (across.to + 12.0, shown + 4.0),
            &shortened(&series.name()),
        );
        svg.close_group();
    }
}

/// A name that fits beside the overview; the heading of the client's own chart has all of it.
fn shortened(name: &str) -> String {
    const ROOM: usize = 17;
    if name.chars().count() <= ROOM {
        return name.to_owned();
    }
    name.chars().take(ROOM - 1).chain(['…']).collect()
}

fn overview_words(body: &Body) -> String {
    let words = body
        .clients
        .iter()
        .map(|series| format!("{}: {}", series.name(), series_words(series)));
    words.collect::<Vec<_>>().join(" ")
}

/// What a chart says, for those who do not see it.
pub(super) fn series_words(series: &Series) -> String {
    let fastest = series
        .valid()
        .max_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
    let Some(fastest) = fastest else {
        return "every row was rejected.".into();
    };
    let mut words = format!(
        "fastest at concurrency {} with {} requests/s",
        fastest.concurrency,
        figure(fastest.requests_per_second)
    );
    if let Some(advice) = series.advice {
        words += &format!("; recommended concurrency {}", advice.concurrency);
        if let Some(speedup) = advice.speedup {
            words += &format!(
                ", {:.1} times the speed at concurrency 1 {}",
                speedup.value,
                interval(&speedup)
            );
        }
    }
    words + "."
}
