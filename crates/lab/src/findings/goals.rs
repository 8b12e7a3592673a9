//! Holds a goal of a benchmark against what was measured: one judgement for every body size and concurrency.

use serde::Serialize;

use super::builds;
use super::cells::Cells;
use super::rows::Row;
use super::stats::{Estimate, Statement};
use super::verdict::body_words;
use super::words::{count, figure, interval, plural, times};
use crate::run::Round;
use crate::spec::{Goal, Promise};

/// The result of one goal in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Judgement {
    /// The goal in words.
    pub what: String,
    /// The measured figure; none if the goal could not be measured.
    pub value: Option<f64>,
    /// Ends of the interval; none when there is none.
    pub interval: Option<[f64; 2]>,
    /// The limit.
    pub limit: f64,
    /// Whether the value is on the right side of the limit; none when it could not be measured.
    pub met: Option<bool>,
    /// The statement about a ratio; none for other figures. Documents have it in the sentence alone.
    #[serde(skip)]
    pub statement: Option<Statement>,
    /// All of it in one line.
    pub sentence: String,
}

impl Judgement {
    /// A figure that is met or missed, and what follows the goal's words in its sentence.
    pub(super) fn of(what: String, value: f64, limit: f64, met: bool, words: &str) -> Judgement {
        Judgement {
            sentence: format!("{what}: {words}"),
            what,
            value: Some(value),
            limit,
            met: Some(met),
            ..Judgement::default()
        }
    }

    /// With the interval of a ratio, and what is said of it.
    pub(super) fn with(self, found: &Estimate, statement: Statement) -> Judgement {
        Judgement {
            interval: Some([found.low, found.high]),
            statement: Some(statement),
            ..self
        }
    }

    /// Whether the two sides of a ratio may be equal.
    pub fn is_not_apart(&self) -> bool {
        use Statement::{Same, TooFew, Unclear};
        matches!(self.statement, Some(Same | Unclear | TooFew))
    }
}

/// Checks a goal in every cell of its client for which it is set. `rows` are those of `rounds`; without any, the
/// judgement says that nothing was measured.
pub fn judge_goal(goal: &Goal, rounds: &[Round], rows: &[Row]) -> Vec<Judgement> {
    let promise = &goal.promise;
    let (name, limit) = match promise {
        Promise::Faster { client, times, .. } | Promise::KeepAlive { client, times } => {
            (client, *times)
        }
        Promise::Memory { client, megabytes } => (client, *megabytes),
        Promise::NotSlower { client, .. } => (client, 1.0),
        Promise::Complete { client } => (client, 0.0),
    };
    let is_meant = |row: &&Row| {
        let there = goal.is_set_at(row.load.concurrency, row.load.body_bytes);
        row.client == *name && row.load.keepalive && there
    };
    let meant: Vec<&Row> = rows.iter().filter(is_meant).collect();
    let judge = |row: &&Row| match promise {
        Promise::Faster { than, times, .. } => vec![faster(row, than, *times, rounds, rows)],
        Promise::KeepAlive { times, .. } => vec![keep_alive(row, *times, rounds, rows)],
        Promise::Memory { megabytes, .. } => vec![memory(row, *megabytes)],
        Promise::Complete { .. } => vec![complete(row, rounds)],
        Promise::NotSlower { than, .. } => not_slower(row, than, meant.len(), rounds, rows),
    };
    let judged: Vec<Judgement> = meant.iter().flat_map(judge).collect();
    if judged.is_empty() {
        return vec![not_judged(name.clone(), limit, "it was not measured")];
    }
    judged
}

fn faster(row: &Row, than: &str, limit: f64, rounds: &[Round], rows: &[Row]) -> Judgement {
    let what = against(row, than);
    match peer(row, than, rows) {
        Some(other) => ratio(what, row, other, limit, rounds),
        None => not_judged(what, limit, &format!("{than} was not measured")),
    }
}

/// A comparison with another client, in words.
fn against(row: &Row, than: &str) -> String {
    format!("{} ÷ {than} {}", row.client, place(row))
}

/// The row of another client under the same load; none if it was not measured.
fn peer<'a>(row: &Row, than: &str, rows: &'a [Row]) -> Option<&'a Row> {
    let load = |row: &Row| (row.load.body_bytes, row.load.concurrency);
    let mut others = rows.iter().filter(|other| other.client == than);
    others.find(|other| load(other) == load(row))
}

/// Two verdicts on one load: requests per second, and CPU time of a request. `loads` are compared in all.
fn not_slower(
    row: &Row,
    than: &str,
    loads: usize,
    rounds: &[Round],
    rows: &[Row],
) -> Vec<Judgement> {
    let what = against(row, than);
    let Some(other) = peer(row, than, rows) else {
        return vec![not_judged(what, 1.0, &format!("{than} was not measured"))];
    };
    match rejected(row, other) {
        Some(why) => vec![not_judged(what, 1.0, &why)],
        None => builds::judged(&what, [row, other], loads, &Cells::new(rounds)),
    }
}

/// Why two rows cannot be compared.
fn rejected(row: &Row, than: &Row) -> Option<String> {
    let why = |row: &Row| {
        let (client, why) = (&row.client, row.not_compared()?);
        Some(match &row.rejected {
            Some(_) => format!("the row of {client} was rejected: {why}"),
            None => format!("{client}: {why}"),
        })
    };
    [row, than].into_iter().find_map(why)
}

fn keep_alive(row: &Row, limit: f64, rounds: &[Round], rows: &[Row]) -> Judgement {
    let what = format!(
        "{}, keep-alive ÷ new connections, {}",
        row.client,
        place(row)
    );
    let mut new = row.cell();
    new.load.keepalive = false;
    match rows.iter().find(|other| other.cell() == new) {
        Some(other) => ratio(what, row, other, limit, rounds),
        None => not_judged(what, limit, "new connections were not measured"),
    }
}

fn ratio(what: String, row: &Row, than: &Row, limit: f64, rounds: &[Round]) -> Judgement {
    if let Some(why) = rejected(row, than) {
        return not_judged(what, limit, &why);
    }
    match Cells::new(rounds).ratio(&row.cell(), &than.cell()) {
        Some(found) => judge_ratio(what, &found, limit),
        None => not_judged(what, limit, "a round ended without a single request done"),
    }
}

fn judge_ratio(what: String, found: &Estimate, limit: f64) -> Judgement {
    let met = found.value >= limit;
    let statement = found.against(limit);
    let doubt = match statement {
        Statement::More | Statement::Less => "",
        Statement::Same => ", equivalent to the goal",
        Statement::Unclear => ", but not clearly",
        Statement::TooFew => ", but with too few rounds to be sure",
    };
    let figures = format!("{} {}", times(found.value), interval(found));
    let words = format!("{figures}, goal {}: {}{doubt}", times(limit), verdict(met));
    Judgement::of(what, found.value, limit, met, &words).with(found, statement)
}

fn memory(row: &Row, limit: f64) -> Judgement {
    let what = format!("peak memory of {} {}", row.client, place(row));
    if let Some(reason) = &row.rejected {
        return not_judged(what, limit, &format!("its row was rejected: {reason}"));
    }
    let (used, met) = (row.peak_rss_mb, row.peak_rss_mb <= limit);
    let most = format!("goal at most {} MB", figure(limit));
    let words = format!("{} MB, {most}: {}", figure(used), verdict(met));
    Judgement::of(what, used, limit, met, &words)
}

/// A row is rejected when a single request failed, was lost or was sent twice.
fn complete(row: &Row, rounds: &[Round]) -> Judgement {
    let what = format!("all responses, {} {}", row.client, place(row));
    let of_row = || rounds.iter().filter(|round| round.cell == row.cell());
    let all: u64 = of_row().map(|round| round.count).sum();
    let done: u64 = of_row().map(|round| round.claim.done).sum();
    let met = done == all && row.verified;
    let doubt = match &row.rejected {
        Some(reason) => format!(" ({reason})"),
        None if row.verified => ", as the server's log says".into(),
        None => " (without a log)".into(),
    };
    let requests = plural(all, "request");
    let words = format!("{} of {requests}{doubt}: {}", count(done), verdict(met));
    Judgement::of(what, done as f64, all as f64, met, &words)
}

pub(super) fn not_judged(what: String, limit: f64, why: &str) -> Judgement {
    Judgement {
        sentence: format!("{what}: not judged: {why}"),
        what,
        limit,
        ..Judgement::default()
    }
}

fn place(row: &Row) -> String {
    format!(
        "at concurrency {}, {}",
        count(row.load.concurrency as u64),
        body_words(row.load.body_bytes)
    )
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}
