//! A comparison in a terminal: its figures in a table, and what they say. Also its heading and tables for other views.

use super::style::Style;
use super::terminal::{lines_of, plain_table, wrapped};
use crate::findings::stats::Estimate;
use crate::findings::words::{figure, percent, times};
use crate::findings::{
    Batch, Compared, Findings, Pair, RoundTrip, Row, What, body_words, compared,
};
use crate::ledger::Document;
use crate::plan::Cell;
use crate::spec::Comparison;

/// Stands where there is no figure.
const NONE: &str = "–";

/// A table as text: titles in two lines, then rows.
pub(super) struct Figures {
    pub(super) titles: Vec<[&'static str; 2]>,
    pub(super) rows: Vec<Vec<String>>,
    /// What is made of them, below them.
    pub(super) foot: Option<Vec<String>>,
    /// What the figures mean, in sentences.
    pub(super) notes: Vec<&'static str>,
}

impl Figures {
    /// Whether the first column is words; else it is figures as all others.
    pub(super) fn begins_with_words(&self) -> bool {
        let figure = |row: &Vec<String>| row[0].starts_with(|first: char| first.is_ascii_digit());
        !self.rows.iter().any(figure)
    }

    fn each_row(&mut self, change: impl Fn(&mut Vec<String>)) {
        let rows = self.rows.iter_mut().chain(&mut self.foot);
        rows.for_each(change);
    }
}

/// What parentheses in a table mean.
const RANGE: &str = "( ) is the range of fewer than six rounds, too few for a statement.";

/// What a comparison found; none for a run of another kind.
pub fn judged(run: &Document, findings: &Findings) -> Option<Compared> {
    let comparison = run.plan.comparison.as_ref()?;
    let cores = run.environment.cores;
    Some(compared(comparison, &run.rounds, &findings.rows, cores))
}

/// Everything found, as text with a line break at the end.
pub(super) fn terminal(run: &Document, rows: &[Row], found: &Compared, style: &Style) -> String {
    let mut lines = vec![String::new()];
    let job = wrapped(&job(run), "", style);
    lines.extend(job.iter().map(|line| style.bold(line.trim_start())));
    lines.push(String::new());
    let mut figures = figures(run, rows, found);
    if let What::Pair(_) = found.what {
        lines.extend(sides_apart(&mut figures, style));
    }
    lines.extend(fitting(&mut figures, style));
    for note in &figures.notes {
        lines.extend(wrapped(note, "", style));
    }
    lines.push(String::new());
    lines.push(style.bold("Verdict"));
    for sentence in &found.verdict {
        lines.extend(wrapped(sentence, "- ", style));
    }
    style.plain(lines.join("\n") + "\n")
}

/// Takes the names of both sides out of the table, where they would take most of a line, and puts them above it.
fn sides_apart(figures: &mut Figures, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &mut figures.rows {
        lines.extend(wrapped(&row[0], "", style));
        row[0].truncate(1);
    }
    lines.push(String::new());
    lines
}

/// The table; without its intervals, and then without its last columns, where there is no room for them.
fn fitting(figures: &mut Figures, style: &Style) -> Vec<String> {
    let fits = |lines: &[String]| lines.iter().all(|line| line.chars().count() <= style.width);
    let mut lines = table_lines(figures, style);
    if !fits(&lines) {
        figures.each_row(|row| row.iter_mut().skip(1).for_each(without_interval));
        figures.notes.retain(|note| *note != RANGE);
        lines = table_lines(figures, style);
    }
    while !fits(&lines) && figures.titles.len() > 2 {
        figures.titles.pop();
        let columns = figures.titles.len();
        figures.each_row(|row| row.truncate(columns));
        lines = table_lines(figures, style);
    }
    lines
}

fn without_interval(cell: &mut String) {
    let end = cell.find(' ').unwrap_or(cell.len());
    cell.truncate(end);
}

fn table_lines(figures: &Figures, style: &Style) -> Vec<String> {
    let mut table = plain_table(style);
    table.set_header(figures.titles.iter().map(|title| title.join("\n")));
    for row in figures.rows.iter().chain(&figures.foot) {
        table.add_row(row);
    }
    lines_of(table, usize::MAX)
}

/// What was compared, in a line.
pub(super) fn job(run: &Document) -> String {
    let plan = &run.plan;
    let bodies: Vec<String> = plan
        .body_bytes
        .iter()
        .map(|bytes| body_words(*bytes))
        .collect();
    let bodies = bodies.join(" and ");
    match &plan.comparison {
        Some(Comparison::Keepalive { client }) => {
            format!(
                "{client}: kept connections against a new one for each request, over TLS; {bodies}"
            )
        }
        Some(Comparison::SyncAsync { client }) => format!(
            "{client}: batches one request after another against all at once; {bodies}{}",
            delay(run)
        ),
        _ => format!("Two sides in the same blocks; {bodies}{}", delay(run)),
    }
}

fn delay(run: &Document) -> String {
    match run.plan.target.is_origin() {
        true => format!(", delay {}", run.plan.delay),
        false => String::new(),
    }
}

/// The figures of a comparison.
pub(super) fn figures(run: &Document, rows: &[Row], found: &Compared) -> Figures {
    match &found.what {
        What::Pair(pair) => of_pair(run, rows, pair),
        What::RoundTrips(trips) => of_round_trips(trips),
        What::Batches(batches) => of_batches(batches),
    }
}

fn of_pair(run: &Document, rows: &[Row], pair: &Pair) -> Figures {
    let Some(Comparison::Pair { a, b }) = &run.plan.comparison else {
        return of_round_trips(&[]);
    };
    let names = ["A", "B"]
        .into_iter()
        .zip(&pair.names)
        .zip([a.as_ref(), b.as_ref()]);
    let side = |((letter, name), cell): ((&str, &String), &Cell)| {
        let row = rows.iter().find(|row| row.cell() == *cell)?;
        let mark = if row.rejected.is_some() { " ✗" } else { "" };
        Some(vec![
            format!("{letter}  {name}{mark}"),
            figure(row.requests_per_second),
            optional(row.cpu_ms_per_request, small),
            optional(row.p50_ms, small),
            optional(row.p99_ms, small),
            figure(row.peak_rss_mb),
            optional(row.connections, |n| n.to_string()),
            optional(row.peak_in_flight, |n| n.to_string()),
            optional(row.ceiling_ratio, percent),
        ])
    };
    let mut ratio = vec![
        "A ÷ B".to_string(),
        estimate(pair.ratio),
        estimate(pair.cpu_ratio),
    ];
    ratio.resize(9, String::new());
    Figures {
        titles: vec![
            ["side", ""],
            ["requests", "per s"],
            ["CPU ms", "/ req."],
            ["p50", "ms"],
            ["p99", "ms"],
            ["peak", "MB"],
            ["TCP", "conns"],
            ["in", "flight"],
            ["of the", "ceiling"],
        ],
        rows: names.filter_map(side).collect(),
        foot: Some(ratio),
        notes: range_note([&pair.ratio]).into_iter().collect(),
    }
}

fn of_round_trips(trips: &[RoundTrip]) -> Figures {
    let mut notes = vec![
        "Milliseconds of a request. Predicted: kept = R + W1, fresh = 3 R + W2, with the work W of both sides as \
         measured where the round trip R is 0; TCP and TLS 1.3 take one R each before a request.",
        "Loopback has no round trips: the origin plays them before each answer, and those that open a connection \
         before its first.",
    ];
    notes.extend(range_note(trips.iter().map(|trip| &trip.gain)));
    let row = |trip: &RoundTrip| {
        let mark = if trip.rejected.is_some() { " ✗" } else { "" };
        vec![
            format!("{} ms{mark}", trip.round_trip_ms),
            optional(trip.kept_ms, |kept| small(kept.value)),
            optional(trip.predicted_kept_ms, small),
            optional(trip.fresh_ms, |fresh| small(fresh.value)),
            optional(trip.predicted_fresh_ms, small),
            estimate(trip.gain),
            optional(trip.predicted_gain, times),
        ]
    };
    Figures {
        titles: vec![
            ["round", "trip"],
            ["kept", "ms"],
            ["pre-", "dicted"],
            ["fresh", "ms"],
            ["pre-", "dicted"],
            ["gain", "measured"],
            ["pre-", "dicted"],
        ],
        rows: trips.iter().map(row).collect(),
        foot: None,
        notes,
    }
}

fn of_batches(batches: &[Batch]) -> Figures {
    let mut notes = vec![
        "Milliseconds of a whole batch; before each, requests that are not counted open the connections.",
    ];
    notes.extend(range_note(batches.iter().map(|batch| &batch.speed_up)));
    let row = |batch: &Batch| {
        let mark = if batch.rejected.is_some() { " ✗" } else { "" };
        vec![
            format!("{}{mark}", batch.size),
            optional(batch.sync_ms, milliseconds),
            optional(batch.async_ms, milliseconds),
            estimate(batch.speed_up),
            optional(batch.in_flight, |n| n.to_string()),
            optional(batch.connections, |n| n.to_string()),
        ]
    };
    Figures {
        titles: vec![
            ["batch", "of"],
            ["sync", "ms"],
            ["async", "ms"],
            ["", "speed-up"],
            ["in", "flight"],
            ["TCP", "conns"],
        ],
        rows: batches.iter().map(row).collect(),
        foot: None,
        notes,
    }
}

fn estimate(found: Option<Estimate>) -> String {
    let bare = |ratio: f64| times(ratio).trim_end_matches('×').to_owned();
    optional(found, |found| {
        format!("{} {}", times(found.value), between(&found, bare))
    })
}

fn milliseconds(found: Estimate) -> String {
    format!("{} {}", small(found.value), between(&found, small))
}

/// The interval in brackets; in parentheses when it is but a range.
fn between(found: &Estimate, write: impl Fn(f64) -> String) -> String {
    let (low, high) = (write(found.low), write(found.high));
    match found.confidence {
        Some(_) => format!("[{low}–{high}]"),
        None => format!("({low}–{high})"),
    }
}

/// What parentheses mean, where there are some.
fn range_note<'a>(
    estimates: impl IntoIterator<Item = &'a Option<Estimate>>,
) -> Option<&'static str> {
    let mut known = estimates.into_iter().flatten();
    known
        .any(|found| found.confidence.is_none())
        .then_some(RANGE)
}

/// Milliseconds reach down to microseconds.
fn small(value: f64) -> String {
    match value < 0.1 {
        true => format!("{value:.3}"),
        false => figure(value),
    }
}

fn optional<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.into(), write)
}

/// The averages of batches as a spreadsheet reads them: `mul,loop,sync,async`, in milliseconds of a batch, where `mul`
/// is its size and `loop` how many were averaged; none for a comparison of another kind.
pub fn batches_csv(found: &Compared) -> Option<String> {
    let What::Batches(batches) = &found.what else {
        return None;
    };
    let line = |batch: &Batch| {
        format!(
            "{},{},{:.3},{:.3}\r\n",
            batch.size, batch.loops, batch.sync_average_ms, batch.async_average_ms
        )
    };
    let lines: String = batches.iter().map(line).collect();
    Some(format!("mul,loop,sync,async\r\n{lines}"))
}
