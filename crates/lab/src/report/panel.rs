//! The chart of one client: requests/s as a line, CPU as dots, latencies and memory as lines, over the same concurrencies.

use super::figures::{
    LEFT, NARROW, categories, colour, draw_speed, grid_lines, index, last, series_words,
    speed_range,
};
use super::scale::{Categories, Linear, ticks};
use super::svg::Svg;
use super::view::{Body, Series};
use crate::findings::words::figure;
use crate::findings::{Row, body_words};

/// It is shown at about this size also on a telephone.
const SIZE: (f64, f64) = (NARROW, 552.0);

/// Where its plots begin and end, from the top.
const SPEED: (f64, f64) = (34.0, 204.0);
const CPU: (f64, f64) = (240.0, 306.0);
const LATENCY: (f64, f64) = (342.0, 414.0);
const MEMORY: (f64, f64) = (450.0, 512.0);

/// Where plots end, from the left.
const RIGHT: f64 = SIZE.0 - 6.0;

/// The plots of one client, below one another.
pub(super) fn panel(series: &Series, body: &Body, id: &str) -> String {
    let across = Categories {
        count: body.grid.len(),
        from: LEFT,
        to: RIGHT,
    };
    let mut svg = Svg::new();
    recommended(&mut svg, series, body, across);
    let speeds = series.valid().map(|row| speed_range(row).1);
    let up = plot(&mut svg, SPEED, speeds.fold(0.0, f64::max), 4);
    svg.text("axis", (2.0, 16.0), "requests/s");
    categories(&mut svg, &body.grid, across, MEMORY.1 + 17.0);
    svg.text("axis end", (RIGHT, SIZE.1 - 6.0), "concurrency");
    draw_speed(&mut svg, series, body, across, up, true);
    svg.open_group(&colour(series));
    processor(&mut svg, series, body, across);
    latencies(&mut svg, series, body, across);
    memory(&mut svg, series, body, across);
    svg.close_group();
    let title = format!(
        "{}, {}: requests per second, CPU, latency and memory",
        series.client,
        body_words(body.bytes)
    );
    svg.finish(SIZE, id, "panel", &title, &series_words(series))
}

/// The lines and figures of an axis that ends above `most`.
fn plot(svg: &mut Svg, (top, bottom): (f64, f64), most: f64, fewest: usize) -> Linear {
    let axis = ticks(most, fewest);
    let up = Linear {
        most: last(&axis),
        from: bottom,
        to: top,
    };
    grid_lines(svg, &axis, up, (LEFT, RIGHT));
    up
}

fn processor(svg: &mut Svg, series: &Series, body: &Body, across: Categories) {
    let rows = series.rows.iter().map(|row| row.cpu_percentage);
    let up = plot(svg, CPU, rows.fold(100.0, f64::max), 1);
    svg.text("axis", (2.0, CPU.0 - 14.0), "CPU % of one core");
    for row in series.valid() {
        let hint = format!(
            "concurrency {}: CPU {} %",
            row.concurrency,
            figure(row.cpu_percentage)
        );
        let at = (across.at(index(body, row)), up.at(row.cpu_percentage));
        svg.marker(series.place, at, &hint);
    }
}

fn latencies(svg: &mut Svg, series: &Series, body: &Body, across: Categories) {
    let both = |row: &Row| {
        [row.p50_ms, row.p99_ms]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let most = series.valid().flat_map(both).fold(0.0, f64::max);
    if most <= 0.0 {
        let words = "latency: the driver tells none";
        return svg.text("axis", (2.0, LATENCY.0 - 14.0), words);
    }
    let up = plot(svg, LATENCY, most, 1);
    let words = "latency in ms: p50 as a line, p99 dashed";
    svg.text("axis", (2.0, LATENCY.0 - 14.0), words);
    let line = |value: fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |row: &Row| Some((across.at(index(body, row)), up.at(value(row)?)));
        series.valid().filter_map(point).collect()
    };
    svg.path("line dashed", &line(|row| row.p99_ms));
    svg.dots("dots small", &line(|row| row.p99_ms));
    svg.path("line", &line(|row| row.p50_ms));
    svg.dots("dots", &line(|row| row.p50_ms));
}

fn memory(svg: &mut Svg, series: &Series, body: &Body, across: Categories) {
    let most = series.valid().map(|row| row.peak_rss_mb);
    let up = plot(svg, MEMORY, most.fold(0.0, f64::max), 1);
    svg.text("axis", (2.0, MEMORY.0 - 14.0), "peak memory in MB");
    let point = |row: &Row| (across.at(index(body, row)), up.at(row.peak_rss_mb));
    let points: Vec<(f64, f64)> = series.valid().map(point).collect();
    svg.path("line", &points);
    svg.dots("dots", &points);
}

/// A band behind the recommended concurrency, through both plots, and its figure.
fn recommended(svg: &mut Svg, series: &Series, body: &Body, across: Categories) {
    let Some(row) = series.rows.iter().find(|row| series.recommends(row)) else {
        return;
    };
    let x = across.at(index(body, row));
    svg.rect(
        "band",
        (x - across.width() / 2.0, SPEED.0 - 12.0),
        (across.width(), MEMORY.1 - SPEED.0 + 12.0),
    );
    let text = format!(
        "use {}: {} requests/s",
        row.concurrency,
        figure(row.requests_per_second)
    );
    let half = text.len() as f64 * 3.3;
    let middle = x.clamp(LEFT + half + 40.0, SIZE.0 - 12.0 - half);
    svg.text("use middle", (middle, 16.0), &text);
}
