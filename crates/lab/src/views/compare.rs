//! A comparison as a view: two sides, keep-alive connections against new ones, or batches one after another and at
//! once.

use super::common::*;
use super::form::*;
use super::warnings::warnings;
use crate::findings::stats::Estimate;
use crate::findings::words::*;
use crate::findings::*;
use crate::ledger::Document;
use crate::plan::Cell;
use crate::spec::Comparison;

/// The whole view.
pub(super) fn view(run: &Document, findings: &Findings, found: &Compared) -> View {
    let rows = &findings.rows;
    let (question, table, charts) = match &found.what {
        What::Pair(pair) => (
            "Which of the two is faster?",
            of_pair(run, rows, pair),
            vec![pair_bars(run, rows, pair)],
        ),
        What::RoundTrips(trips) => (
            "What do keep-alive connections save?",
            of_round_trips(trips),
            vec![trip_bars(trips)],
        ),
        What::Batches(batches) => (
            "One after another, or all at once?",
            of_batches(batches),
            batch_lines(batches),
        ),
    };
    let mut sections = summary(run, found, table, charts);
    sections.extend(seen("setting", &witnessed(run, rows)));
    sections.extend(rejected_rows(NOT_RANKED, findings));
    sections.extend(warnings(run, rows.iter()));
    sections.extend(ending(run, how_to_read()));
    View {
        finding: finding(run, found).unwrap_or_default(),
        question,
        job: job(run),
        sections,
        csv: averages(found),
        ..of_run(run, findings)
    }
}

/// The sections that each medium begins with.
fn summary(run: &Document, found: &Compared, table: Table, charts: Vec<Chart>) -> Vec<Section> {
    let table = table.marks(&[INTERVAL, RANGE, REJECTED, REOPENED]);
    let section = |title, media, block| Section::new(title, media, vec![block]);
    let sentences = || verdicts(run, || Verdict::list(&found.verdict));
    // The title of the page is the first sentence, unless it is made of all round trips.
    let is_title = run.unfinished.is_none() && !matches!(found.what, What::RoundTrips(_));
    let below = found
        .verdict
        .get(usize::from(is_title)..)
        .unwrap_or_default();
    let says = run.unfinished.is_some() || !below.is_empty();
    let below = says.then(|| verdicts(run, || Verdict::list(below)));
    let mut sections = vec![
        section("", Media::MARKDOWN, sentences()),
        section("", Media::PAGE, Block::Charts(charts)),
    ];
    sections.extend(below.map(|block| section("", Media::PAGE, block)));
    sections.push(section("", Media::ALL, Block::Table(table)));
    sections.push(section("Verdict", Media::TERMINAL, sentences()));
    sections
}

/// The finding, short enough for a title.
fn finding(run: &Document, found: &Compared) -> Option<String> {
    if run.unfinished.is_some() {
        return None;
    }
    let What::RoundTrips(trips) = &found.what else {
        return found.verdict.first().cloned();
    };
    let gain = |trip: &RoundTrip| {
        let gain = times(trip.gain?.value);
        Some((gain, trip.round_trip_ms))
    };
    let (near, first) = trips.first().and_then(gain)?;
    let (far, last) = trips.last().and_then(gain)?;
    let client = run.plan.clients.first()?;
    Some(format!(
        "{client}: keep-alive is {near} as fast at a round trip of {first} ms and {far} at {last} ms"
    ))
}

/// The subject of the comparison, in a line.
fn job(run: &Document) -> String {
    let plan = &run.plan;
    let bodies = plan.body_bytes.iter().map(|bytes| body_words(*bytes));
    let bodies = bodies.collect::<Vec<_>>().join(" and ");
    let delay = match plan.target.is_test_server() {
        true => format!(", {}", delay_words(&plan.delay)),
        false => String::new(),
    };
    let what = match &plan.comparison {
        Some(Comparison::Keepalive { client }) => {
            let what = "keep-alive connections against a new one for each request, over TLS";
            return format!("{client}: {what}; {bodies}");
        }
        Some(Comparison::SyncAsync { client }) => {
            format!("{client}: batches one request after another against all at once")
        }
        _ => "Two sides, measured in the same blocks".to_owned(),
    };
    format!("{what}; {bodies}{delay}")
}

/// Both sides with their names and rows.
fn sides<'a>(
    run: &'a Document,
    rows: &'a [Row],
    pair: &'a Pair,
) -> Vec<(&'static str, &'a String, &'a Row)> {
    let Some(Comparison::Pair { a, b }) = &run.plan.comparison else {
        return Vec::new();
    };
    let row = |cell: &Cell| rows.iter().find(|row| row.cell() == *cell);
    let named = [("A", &pair.names[0], row(a)), ("B", &pair.names[1], row(b))];
    named
        .into_iter()
        .filter_map(|(letter, name, row)| Some((letter, name, row?)))
        .collect()
}

fn of_pair(run: &Document, rows: &[Row], pair: &Pair) -> Table {
    let sides = sides(run, rows, pair);
    type Side<'a> = (&'static str, &'a String, &'a Row);
    let mut columns = vec![col("side", 0, |it: &Side| it.1.clone()).words()];
    columns.extend(figures(|it: &Side| it.2).into_iter().map(less_wanted));
    columns[1] = col("requests\nper s", 0, |it: &Side| {
        figure(it.2.requests_per_second)
    })
    .intervals(5);
    columns[3] = col("CPU ms\n/ req.", 2, |it: &Side| {
        optional(it.2.cpu_ms_per_request, small)
    })
    .intervals(5);
    columns.extend(standing(|it: &Side| it.2, |_| false));
    let mut table = Table::of("All figures", &sides, columns)
        .each(&sides, |line, it| line.look = look(it.2, false));
    let mut foot = vec![String::new(); table.columns.len()];
    foot[0] = format!("{} ÷ {}", pair.names[0], pair.names[1]);
    foot[1] = optional(pair.ratio, |found| ratio_words(&found));
    foot[3] = optional(pair.cpu_ratio, |found| ratio_words(&found));
    table.foot = vec![foot];
    table
}

/// Leaves a column to the page, whose table of the server's view has it.
fn less_wanted<T>(column: Shown<T>) -> Shown<T> {
    match column.title() {
        "peak in\nflight" | "errors" | "dupli-\ncates" => column.on(Media::TEXT),
        _ => column,
    }
}

fn of_round_trips(trips: &[RoundTrip]) -> Table {
    let mark = |rejected: &Option<String>| if rejected.is_some() { " ✗" } else { "" };
    #[rustfmt::skip]
    let columns = vec![
        col("round\ntrip", 0, |it: &RoundTrip| format!("{} ms{}", it.round_trip_ms, mark(&it.rejected))),
        col("keep-alive\nms", 0, |it: &RoundTrip| optional(it.keep_alive_ms, |time| small(time.value))),
        col("pre-\ndicted", 2, |it: &RoundTrip| optional(it.predicted_keep_alive_ms, small)),
        col("new\nms", 0, |it: &RoundTrip| optional(it.new_ms, |new| small(new.value))),
        col("pre-\ndicted", 2, |it: &RoundTrip| optional(it.predicted_new_ms, small)),
        col("gain\nmeasured", 0, |it: &RoundTrip| optional(it.gain, |gain| ratio_words(&gain))).intervals(3),
        col("pre-\ndicted", 1, |it: &RoundTrip| optional(it.predicted_gain, times)),
    ];
    let table = Table::of("All figures", trips, columns);
    let table = table.note(
        "Milliseconds of a request, on a keep-alive connection and on a new one. Predicted: keep-alive = R + W1, new = 3 R + W2. R is \
         the round trip; W1 and W2 are the times measured where R is 0. A new connection takes one R for TCP and one for \
         TLS 1.3 before its request.",
    );
    table.note(
        "Loopback has no round trips. The server simulates them: it waits before each response, and longer before the first of a \
         connection.",
    )
}

fn of_batches(batches: &[Batch]) -> Table {
    let mark = |rejected: &Option<String>| if rejected.is_some() { " ✗" } else { "" };
    let milliseconds =
        |found: Estimate| format!("{} {}", small(found.value), between(&found, small));
    #[rustfmt::skip]
    let columns = vec![
        col("batch\nof", 0, |it: &Batch| format!("{}{}", it.size, mark(&it.rejected))),
        col("one after\nanother, ms", 0, move |it: &Batch| optional(it.sync_ms, milliseconds)).intervals(3),
        col("all at\nonce, ms", 0, move |it: &Batch| optional(it.async_ms, milliseconds)).intervals(3),
        col("speed-up", 0, |it: &Batch| optional(it.speed_up, |found| ratio_words(&found))).intervals(2),
        col("in\nflight", 1, |it: &Batch| optional(it.in_flight, count)),
        col("TCP\nconns", 1, |it: &Batch| optional(it.connections, count)),
    ];
    let table = Table::of("All figures", batches, columns);
    table.note("Milliseconds of a whole batch. Connections are opened before each batch, by requests that are not counted.")
}

/// The server's log of every setting.
fn witnessed(run: &Document, rows: &[Row]) -> Vec<Witnessed> {
    let several = run.plan.body_bytes.len() > 1;
    let line = |row: &Row| {
        let words = match run.plan.clients.len() {
            1 => load(row, several),
            _ => format!("{}, {}", name(&row.client), load(row, several)),
        };
        Witnessed::of(words, run, [row])
    };
    rows.iter().map(line).collect()
}

fn how_to_read() -> String {
    format!(
        "All settings are measured in every block, in random order; ratios compare rounds of the same block (Hodges–Lehmann on \
         log-ratios, Wilcoxon signed-rank interval). Brackets and bars are 95 % confidence intervals, or the full range where \
         there are fewer than 6 rounds. Equivalent means that the whole interval lies within ±{:.0} %. A row is rejected when the client's \
         claim and the server's log disagree.",
        EQUIVALENT * 100.0
    )
}

fn chart(name: &str, title: &str, groups: Vec<Group>, caption: &str) -> Chart {
    Chart::Bars(Bars {
        name: name.into(),
        heading: title.into(),
        title: title.into(),
        groups,
        caption: caption.into(),
        ..Bars::default()
    })
}

/// Requests/s of both sides, with their intervals.
fn pair_bars(run: &Document, rows: &[Row], pair: &Pair) -> Chart {
    let bar = |(place, (_, name, row)): (usize, &(&str, &String, &Row))| Bar {
        name: (*name).clone(),
        value: row.requests_per_second,
        range: speed_range(row),
        label: figure(row.requests_per_second),
        colour: Colour::Of(place),
        ..Bar::default()
    };
    let bars = sides(run, rows, pair).iter().enumerate().map(bar).collect();
    chart("pair", "Requests per second", Group::all(bars), BAR_ENDS)
}

/// Milliseconds of a request on new and on keep-alive connections, each round trip on a scale of its own.
fn trip_bars(trips: &[RoundTrip]) -> Chart {
    let group = |trip: &RoundTrip| {
        let (keep_alive, new) = (trip.keep_alive_ms?, trip.new_ms?);
        let gain = trip.gain.map_or("rejected".to_owned(), |gain| {
            format!("{} {}", times(gain.value), interval(&gain))
        });
        let predicted = trip
            .predicted_gain
            .map(|gain| format!(", predicted {}", times(gain)));
        let bar = |place, name: &str, time: Estimate, predicted| Bar {
            name: name.into(),
            value: time.value,
            range: (time.low, time.high),
            label: format!("{} ms", figure(time.value)),
            colour: Colour::Of(place),
            predicted,
            ..Bar::default()
        };
        Some(Group {
            heading: format!(
                "{} ms: {gain}{}",
                trip.round_trip_ms,
                predicted.unwrap_or_default()
            ),
            bars: vec![
                bar(0, "new", new, trip.predicted_new_ms),
                bar(1, "keep-alive", keep_alive, trip.predicted_keep_alive_ms),
            ],
        })
    };
    let caption = "Keep-alive: one connection for all requests. New: a new connection for each. Each round trip has a scale of its own; the upright line is the prediction.";
    chart(
        "keepalive",
        "Time of a request at each round trip",
        trips.iter().filter_map(group).collect(),
        caption,
    )
}

/// A batch over its size, both ways; and how many times faster all at once is, below the line of what would be ideal.
fn batch_lines(batches: &[Batch]) -> Vec<Chart> {
    let series = |place, name: &str, unit: &str, value: fn(&Batch) -> Option<Estimate>| Series {
        name: name.into(),
        colour: Colour::Of(place),
        points: batches
            .iter()
            .filter_map(|batch| Some(point(batch.size, value(batch)?, unit)))
            .collect(),
        ..Series::default()
    };
    let sync = series(0, "one after another", "ms", |batch| batch.sync_ms);
    let at_once = series(1, "all at once", "ms", |batch| batch.async_ms);
    let speed_up = series(0, "measured", "times", |batch| batch.speed_up);
    let sizes: Vec<f64> = batches.iter().map(|batch| batch.size as f64).collect();
    let ideal = ideal(sizes.last().copied().unwrap_or(0.0));
    let time = "Time of a whole batch";
    let faster = "How many times faster all at once is";
    vec![
        over_size("batches", time, "ms", vec![sync, at_once], sizes.clone()),
        over_size("speed-up", faster, "times", vec![speed_up, ideal], sizes),
    ]
}

fn point(size: u64, found: Estimate, unit: &str) -> Point {
    Point {
        x: size as f64,
        y: found.value,
        range: (found.low, found.high),
        hint: format!("batch of {size}: {} {unit}", figure(found.value)),
    }
}

/// As many times faster as there are requests in a batch.
fn ideal(largest: f64) -> Series {
    Series {
        name: "ideal".into(),
        colour: Colour::Grey,
        stroke: Stroke::Bound,
        points: [0.0, largest].map(|size| Point::at(size, size)).to_vec(),
        ..Series::default()
    }
}

/// Lines over the size of a batch.
fn over_size(name: &str, heading: &str, unit: &str, series: Vec<Series>, sizes: Vec<f64>) -> Chart {
    let words: Vec<String> = series.iter().map(|series| ends(series, unit)).collect();
    Chart::Lines(Lines {
        name: name.into(),
        heading: heading.into(),
        title: format!("{heading}, over the size of a batch"),
        across: Across {
            title: "requests of a batch",
            grid: sizes,
            ..Across::default()
        },
        plots: vec![Plot {
            ticks: 4,
            log: false,
            ..Plot::alone(unit, series)
        }],
        words: words.join("; "),
        ..Lines::default()
    })
}

/// The ends of a line, for those who do not see it.
fn ends(series: &Series, unit: &str) -> String {
    let [first, .., last] = series.points.as_slice() else {
        return format!("{}: too few sizes for a line", series.name);
    };
    let end = |point: &Point| format!("{} {unit} at {}", figure(point.y), point.x);
    format!("{}: from {} to {}", series.name, end(first), end(last))
}

/// The averages of batches for a spreadsheet, as `mul,loop,sync,async` in milliseconds of a batch. `mul` is the size
/// of a batch and `loop` the number of averaged batches. None for other comparisons.
fn averages(found: &Compared) -> Option<String> {
    let What::Batches(batches) = &found.what else {
        return None;
    };
    let line = |it: &Batch| {
        format!(
            "{},{},{:.3},{:.3}\r\n",
            it.size, it.loops, it.sync_average_ms, it.async_average_ms
        )
    };
    let lines: String = batches.iter().map(line).collect();
    Some(format!("mul,loop,sync,async\r\n{lines}"))
}
