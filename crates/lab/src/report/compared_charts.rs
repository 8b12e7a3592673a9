//! The charts of comparisons: bars of two sides and of round trips, lines over the size of batches.

use super::scale::{Linear, tick_label, ticks};
use super::svg::Svg;
use crate::findings::stats::Estimate;
use crate::findings::words::{figure, interval, times};
use crate::findings::{Batch, Pair, RoundTrip, Row};
use crate::ledger::Document;
use crate::plan::Cell;
use crate::spec::Comparison;

/// Width of every chart; it is shown at about this size also on a telephone.
const WIDTH: f64 = 410.0;

/// Where the plots of lines begin and end.
const LEFT: f64 = 46.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 250.0;

/// Height of a bar, and of what belongs to one round trip.
const BAR: f64 = 15.0;
const GROUP: f64 = 82.0;

/// Requests/s of both sides, with their intervals.
pub(super) fn pair_bars(run: &Document, rows: &[Row], pair: &Pair) -> String {
    let Some(Comparison::Pair { a, b }) = &run.plan.comparison else {
        return String::new();
    };
    let found = |cell: &Cell| rows.iter().find(|row| row.cell() == *cell);
    let sides: Vec<(&String, &Row)> = pair
        .names
        .iter()
        .zip([a.as_ref(), b.as_ref()])
        .filter_map(|(name, cell)| Some((name, found(cell)?)))
        .collect();
    let range = |row: &Row| {
        row.speed
            .map_or(row.requests_per_second, |speed| speed.high)
    };
    let most = sides.iter().map(|(_, row)| range(row)).fold(0.0, f64::max);
    let across = Linear {
        most: most.max(f64::MIN_POSITIVE),
        from: 2.0,
        to: WIDTH - 70.0,
    };
    let mut svg = Svg::new();
    let mut words = Vec::new();
    for (place, (name, row)) in sides.iter().enumerate() {
        let y = 18.0 + 48.0 * place as f64;
        let speed = figure(row.requests_per_second);
        svg.open_group(&format!("c{place}"));
        svg.text("name", (2.0, y), name);
        bar(
            &mut svg,
            y + 6.0,
            across.at(row.requests_per_second),
            row.speed,
            across,
        );
        svg.text("axis", (across.at(range(row)) + 8.0, y + 18.0), &speed);
        svg.close_group();
        words.push(format!("{name}: {speed} requests per second"));
    }
    let title = "Requests per second of both sides";
    svg.finish(
        (WIDTH, 106.0),
        "pair",
        "panel",
        title,
        &(words.join("; ") + "."),
    )
}

/// A bar from the left to `end`, with its interval on it.
fn bar(svg: &mut Svg, y: f64, end: f64, range: Option<Estimate>, across: Linear) {
    svg.rect("beam own", (across.from, y), (end - across.from, BAR));
    if let Some(range) = range {
        let middle = y + BAR / 2.0;
        svg.line(
            "range",
            (across.at(range.low), middle),
            (across.at(range.high), middle),
        );
    }
}

/// Milliseconds of a request on fresh and on kept connections, each round trip on a scale of its own, and where the
/// prediction lies.
pub(super) fn round_trip_bars(trips: &[RoundTrip]) -> String {
    let mut svg = Svg::new();
    let mut words = Vec::new();
    for (place, trip) in trips.iter().enumerate() {
        words.extend(group(&mut svg, 16.0 + GROUP * place as f64, trip));
    }
    let size = (WIDTH, GROUP * trips.len() as f64 + 16.0);
    let caption = "Each round trip has a scale of its own. | is the prediction.";
    svg.text("axis", (2.0, size.1 - 6.0), caption);
    let title = "Time of a request on fresh and on kept connections, at each round trip";
    svg.finish(size, "trips", "panel", title, &(words.join("; ") + "."))
}

/// The bars of one round trip; returns them in words.
fn group(svg: &mut Svg, y: f64, trip: &RoundTrip) -> Option<String> {
    let (kept, fresh) = (trip.kept_ms?, trip.fresh_ms?);
    let predicted = [trip.predicted_fresh_ms, trip.predicted_kept_ms];
    let most = predicted
        .into_iter()
        .flatten()
        .chain([fresh.high, kept.high]);
    let across = Linear {
        most: most.fold(f64::MIN_POSITIVE, f64::max),
        from: 2.0,
        to: WIDTH - 108.0,
    };
    let gain = trip.gain.map_or("rejected".to_owned(), |gain| {
        format!("{} {}", times(gain.value), interval(&gain))
    });
    let predicted_gain = trip
        .predicted_gain
        .map(|gain| format!(", predicted {}", times(gain)));
    let heading = format!(
        "{} ms: {gain}{}",
        trip.round_trip_ms,
        predicted_gain.unwrap_or_default()
    );
    svg.text("name", (2.0, y), &heading);
    for (place, (time, predicted)) in [fresh, kept].into_iter().zip(predicted).enumerate() {
        let top = y + 7.0 + (BAR + 6.0) * place as f64;
        svg.open_group(&format!("c{place}"));
        bar(svg, top, across.at(time.value), Some(time), across);
        if let Some(predicted) = predicted {
            let x = across.at(predicted);
            svg.line("mark", (x, top - 3.0), (x, top + BAR + 3.0));
        }
        let end = across.at(time.high.max(predicted.unwrap_or(0.0)));
        // Who does not see the colours reads which bar it is.
        let way = if place == 0 { "fresh" } else { "kept" };
        let label = format!("{way} {} ms", figure(time.value));
        svg.text("axis", (end + 7.0, top + 12.0), &label);
        svg.close_group();
    }
    Some(format!(
        "round trip {} ms: fresh {} ms, kept {} ms, {gain}",
        trip.round_trip_ms,
        figure(fresh.value),
        figure(kept.value)
    ))
}

/// Milliseconds of a batch over its size, both ways.
pub(super) fn time_lines(batches: &[Batch]) -> String {
    let series: [Vec<(u64, Estimate)>; 2] = [
        points(batches, |batch| batch.sync_ms),
        points(batches, |batch| batch.async_ms),
    ];
    let title = "Milliseconds of a whole batch over its size";
    lines(&series, None, "ms", title, "times")
}

/// How many times faster all at once is, over the size of a batch, below the line of what would be ideal.
pub(super) fn speed_up_lines(batches: &[Batch]) -> String {
    let speed_up = points(batches, |batch| batch.speed_up);
    let ideal = batches.last().map(|batch| batch.size as f64);
    let title = "Speed-up over the size of a batch";
    lines(&[speed_up], ideal, "times", title, "speedup")
}

fn points(batches: &[Batch], value: impl Fn(&Batch) -> Option<Estimate>) -> Vec<(u64, Estimate)> {
    batches
        .iter()
        .filter_map(|batch| Some((batch.size, value(batch)?)))
        .collect()
}

fn lines(
    series: &[Vec<(u64, Estimate)>],
    ideal: Option<f64>,
    unit: &str,
    title: &str,
    id: &str,
) -> String {
    let all = || series.iter().flatten();
    let most = all()
        .map(|(_, value)| value.high)
        .fold(ideal.unwrap_or(0.0), f64::max);
    let widest = all().map(|(size, _)| *size as f64).fold(1.0, f64::max);
    let (axis, sizes) = (ticks(most, 4), ticks(widest, 4));
    let end = |axis: &[f64]| axis.last().copied().unwrap_or(1.0);
    let up = Linear {
        most: end(&axis),
        from: BOTTOM,
        to: TOP,
    };
    let across = Linear {
        most: end(&sizes),
        from: LEFT,
        to: RIGHT,
    };
    let mut svg = Svg::new();
    for tick in &axis {
        let (y, class) = (up.at(*tick), if *tick == 0.0 { "base" } else { "grid" });
        svg.line(class, (LEFT, y), (RIGHT, y));
        svg.text(
            "tick end",
            (LEFT - 6.0, y + 4.0),
            &tick_label(*tick, up.most),
        );
    }
    for tick in &sizes {
        let label = tick_label(*tick, across.most);
        svg.text("tick middle", (across.at(*tick), BOTTOM + 17.0), &label);
    }
    svg.text("axis", (2.0, 16.0), unit);
    svg.text("axis end", (RIGHT, BOTTOM + 34.0), "requests of a batch");
    if let Some(ideal) = ideal {
        let (x, y) = (across.at(ideal), up.at(ideal));
        svg.open_group("ceil");
        svg.line("line ceiling", (across.at(0.0), up.at(0.0)), (x, y));
        svg.text("axis end", (x - 12.0, y + 4.0), "ideal");
        svg.close_group();
    }
    for (place, points) in series.iter().enumerate() {
        draw(&mut svg, place, points, across, up, unit);
    }
    let words: Vec<String> = series.iter().map(|points| in_words(points, unit)).collect();
    svg.finish(
        (WIDTH, BOTTOM + 42.0),
        id,
        "panel",
        title,
        &words.join("; "),
    )
}

fn draw(
    svg: &mut Svg,
    place: usize,
    points: &[(u64, Estimate)],
    across: Linear,
    up: Linear,
    unit: &str,
) {
    let at = |(size, value): &(u64, Estimate)| (across.at(*size as f64), up.at(value.value));
    svg.open_group(&format!("c{place}"));
    svg.path("line", &points.iter().map(at).collect::<Vec<_>>());
    for point in points {
        let (x, (low, high)) = (at(point).0, (up.at(point.1.low), up.at(point.1.high)));
        if low - high > 1.5 {
            svg.error_bar((x, low), high);
        }
        let hint = format!("batch of {}: {} {unit}", point.0, figure(point.1.value));
        svg.marker(place, at(point), &hint);
    }
    svg.close_group();
}

/// The ends of a line, for those who do not see it.
fn in_words(points: &[(u64, Estimate)], unit: &str) -> String {
    let [first, .., last] = points else {
        return "too few sizes for a line".into();
    };
    format!(
        "from {} {unit} at {} to {} {unit} at {}",
        figure(first.1.value),
        first.0,
        figure(last.1.value),
        last.0
    )
}
