//! Findings by body size and client, in the order in which every view shows them.

use std::collections::BTreeSet;

use crate::findings::words::{figure, percent};
use crate::findings::{Findings, Recommendation, Row, body_words};
use crate::ledger::Document;
use crate::plan::Mode;

/// All clients at one body size.
pub(super) struct Body<'a> {
    pub(super) bytes: usize,
    /// In the order of the plan, the ceiling last.
    pub(super) clients: Vec<Series<'a>>,
    /// Every concurrency that anyone was measured at, ascending: the shared horizontal axis.
    pub(super) grid: Vec<usize>,
}

/// One client at one body size.
pub(super) struct Series<'a> {
    pub(super) client: &'a str,
    /// Position among all clients of the run: colour and marker follow it, in every chart the same.
    pub(super) place: usize,
    /// In ascending concurrency.
    pub(super) rows: Vec<&'a Row>,
    pub(super) advice: Option<&'a Recommendation>,
}

impl Series<'_> {
    pub(super) fn is_ceiling(&self) -> bool {
        self.rows.iter().any(|row| row.is_ceiling())
    }

    /// The client's name as shown in charts.
    pub(super) fn name(&self) -> String {
        if self.is_ceiling() {
            format!("{} (ceiling)", self.client)
        } else {
            self.client.to_owned()
        }
    }

    /// The rows that may be compared.
    pub(super) fn valid(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .copied()
            .filter(|row| row.rejected.is_none())
    }

    pub(super) fn recommends(&self, row: &Row) -> bool {
        self.advice
            .is_some_and(|advice| advice.concurrency == row.concurrency)
    }
}

pub(super) fn bodies<'a>(run: &'a Document, findings: &'a Findings) -> Vec<Body<'a>> {
    let sizes: BTreeSet<usize> = findings.rows.iter().map(|row| row.body_bytes).collect();
    let clients = clients(run, findings);
    sizes
        .into_iter()
        .map(|bytes| body(bytes, &clients, findings))
        .collect()
}

/// Names in the order of the plan, with the ceiling last.
fn clients<'a>(run: &'a Document, findings: &'a Findings) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    let measured = findings.rows.iter().map(|row| row.client.as_str());
    for name in run.plan.clients.iter().map(String::as_str).chain(measured) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| *name == crate::findings::CEILING);
    names
}

fn body<'a>(bytes: usize, clients: &[&'a str], findings: &'a Findings) -> Body<'a> {
    let series = clients.iter().enumerate().map(|(place, client)| Series {
        client,
        place,
        rows: findings
            .rows
            .iter()
            .filter(|row| row.client == *client && row.body_bytes == bytes)
            .collect(),
        advice: findings
            .recommendations
            .iter()
            .find(|a| a.client == *client && a.body_bytes == bytes),
    });
    let clients: Vec<Series> = series.filter(|series| !series.rows.is_empty()).collect();
    let grid: BTreeSet<usize> = clients
        .iter()
        .flat_map(|s| s.rows.iter().map(|row| row.concurrency))
        .collect();
    Body {
        bytes,
        clients,
        grid: grid.into_iter().collect(),
    }
}

/// The load of a row in words, with what it has of its own: what tells it from the others of its client.
pub(super) fn load_words(row: &Row, with_body: bool) -> String {
    let mut words = Vec::new();
    if with_body {
        words.push(body_words(row.body_bytes));
    }
    words.push(match (row.own.requests, row.own.mode) {
        (Some(size), Some(Mode::Sync)) => format!("batch of {size} one after another"),
        (Some(size), _) => format!("batch of {size} at once"),
        _ => format!("concurrency {}", row.concurrency),
    });
    words.extend(
        row.own
            .round_trip_ms
            .map(|trip| format!("round trip {trip} ms")),
    );
    words.extend(row.own.delay.map(|delay| format!("delay {delay}")));
    if row.own.tls == Some(true) {
        words.push("TLS".into());
    }
    if !row.keepalive {
        words.push("a new connection each".into());
    }
    words.join(", ")
}

/// A column of every table of rows: its name, and how a row fills it.
pub(super) struct Column {
    /// Two lines; the first ends in a hyphen when both are one word.
    pub(super) name: [&'static str; 2],
    pub(super) value: fn(&Row) -> String,
    /// Columns with a higher number are left out first where there is no room.
    pub(super) rank: u8,
}

impl Column {
    /// The name with its two lines, or in one when it is one word.
    pub(super) fn title(&self) -> String {
        let [first, second] = self.name;
        first.strip_suffix('-').map_or_else(
            || format!("{first}\n{second}"),
            |start| format!("{start}{second}"),
        )
    }
}

/// The columns of a row after the client's name, which each view puts in its own way.
pub(super) const COLUMNS: [Column; 10] = [
    Column {
        name: ["concur-", "rency"],
        value: |row| row.concurrency.to_string(),
        rank: 0,
    },
    Column {
        name: ["requests", "per s"],
        value: |row| figure(row.requests_per_second),
        rank: 0,
    },
    Column {
        name: ["CPU", "%"],
        value: |row| figure(row.cpu_percentage),
        rank: 0,
    },
    Column {
        name: ["CPU ms", "/ req."],
        value: |row| optional(row.cpu_ms_per_request, small),
        rank: 1,
    },
    Column {
        name: ["p50", "ms"],
        value: |row| optional(row.p50_ms, small),
        rank: 1,
    },
    Column {
        name: ["p99", "ms"],
        value: |row| optional(row.p99_ms, small),
        rank: 1,
    },
    Column {
        name: ["peak", "MB"],
        value: |row| figure(row.peak_rss_mb),
        rank: 2,
    },
    Column {
        name: ["TCP", "conns"],
        value: |row| optional(row.connections, |n| n.to_string()),
        rank: 3,
    },
    Column {
        name: ["peak in", "flight"],
        value: |row| optional(row.peak_in_flight, |n| n.to_string()),
        rank: 3,
    },
    Column {
        name: ["of the", "ceiling"],
        value: |row| optional(row.ceiling_ratio, percent),
        rank: 1,
    },
];

/// Characters that a column takes in a terminal, the space beside it included.
pub(super) fn widest(column: &Column, rows: &[&Row]) -> usize {
    let names = column.name.iter().map(|line| line.chars().count());
    let values = rows.iter().map(|row| (column.value)(row).chars().count());
    names.chain(values).max().unwrap_or(0) + 2
}

/// Milliseconds of CPU and of latency reach down to microseconds.
fn small(value: f64) -> String {
    if value < 0.1 {
        format!("{value:.3}")
    } else {
        figure(value)
    }
}

fn optional<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".into(), write)
}

/// Rejected rows with their reasons.
pub(super) fn rejections(findings: &Findings) -> Vec<(&Row, &str)> {
    findings
        .rows
        .iter()
        .filter_map(|row| Some((row, row.rejected.as_deref()?)))
        .collect()
}

/// Whether a row rests on claims alone because there was no ledger.
pub(super) fn any_unverified(findings: &Findings) -> bool {
    findings
        .rows
        .iter()
        .any(|row| !row.verified && row.rejected.is_none())
}
