//! Which rates a client keeps: its latencies at each, counted from when requests were due, and the highest within a
//! budget.

use serde::Serialize;

use super::rows::Row;
use super::rules::behind;
use super::verdict::body_words;
use super::words::{figure, limit_words};
use crate::ledger::Document;
use crate::run::Round;
use crate::spec::{Budget, Rate};

/// A client keeps a rate if it does at least this share of its requests in time.
const KEPT: f64 = 0.95;

/// One client under one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AtRate {
    /// The client.
    pub client: String,
    /// Bytes of the response's body.
    pub body_bytes: usize,
    /// Most requests that may be in flight.
    pub concurrency: usize,
    /// The rate as the user wrote it.
    pub rate: Rate,
    /// Requests per second that it was for this client, median over the rounds.
    pub per_second: f64,
    /// Requests per second that were done.
    pub done_per_second: f64,
    /// Median latency from when a request was due, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 99th percentile of the same; none where too few were timed to say it.
    pub p99_ms: Option<f64>,
    /// How many latencies these are.
    pub n: u64,
    /// By how many milliseconds requests reached the server later than they were due, at p99; none without a log.
    pub behind_p99_ms: Option<f64>,
    /// Highest resident memory of any round, in megabytes (10⁶ bytes).
    pub peak_rss_mb: f64,
    /// Why it does not count; none when it does.
    pub rejected: Option<String>,
}

impl AtRate {
    /// Whether the client keeps up with the rate.
    pub fn keeps_up(&self) -> bool {
        self.rejected.is_none() && self.done_per_second >= KEPT * self.per_second
    }

    /// Whether it keeps the rate within a budget.
    pub fn is_within(&self, budget: &Budget) -> bool {
        self.keeps_up() && budget.holds(self.p99_ms, self.peak_rss_mb)
    }
}

/// Every row of a run that was measured at a rate, by client, body and rate.
pub(super) fn at_rates(rounds: &[Round], rows: &[Row]) -> Vec<AtRate> {
    let mut all: Vec<AtRate> = rows.iter().filter_map(|row| at_rate(rounds, row)).collect();
    all.sort_by(|a, b| {
        let key = |it: &AtRate| (it.client.clone(), it.body_bytes, it.concurrency);
        key(a)
            .cmp(&key(b))
            .then(a.per_second.total_cmp(&b.per_second))
    });
    all
}

fn at_rate(rounds: &[Round], row: &Row) -> Option<AtRate> {
    let rate = row.load.rate?;
    let cell = row.cell();
    let own: Vec<&Round> = rounds.iter().filter(|round| round.cell == cell).collect();
    let behind = behind(&own);
    Some(AtRate {
        client: row.client.clone(),
        body_bytes: row.load.body_bytes,
        concurrency: row.load.concurrency,
        rate,
        per_second: row.due_per_second?,
        done_per_second: row.requests_per_second,
        p50_ms: row.p50_ms,
        p99_ms: row.p99_ms,
        n: row.latencies,
        behind_p99_ms: behind.quantile(0.99).map(|us| us.round() / 1e3),
        peak_rss_mb: row.peak_rss_mb,
        rejected: row.rejected.clone(),
    })
}

/// A sentence for each client and body that was measured at rates.
pub(super) fn sentences(run: &Document, all: &[AtRate]) -> Vec<String> {
    let same = |a: &AtRate, b: &AtRate| {
        (&a.client, a.body_bytes, a.concurrency) == (&b.client, b.body_bytes, b.concurrency)
    };
    all.chunk_by(same)
        .map(|series| sentence(&run.plan.budget, series))
        .collect()
}

fn sentence(budget: &Budget, series: &[AtRate]) -> String {
    let first = &series[0];
    let subject = format!("{}, {}", first.client, body_words(first.body_bytes));
    let each: Vec<String> = series.iter().map(words).collect();
    let each = each.join("; ");
    if !budget.limits() {
        return format!("{subject}: {each}.");
    }
    let kept = series.iter().rfind(|it| it.is_within(budget));
    let limit = limit_words(budget);
    match kept {
        Some(kept) => {
            let rate = figure(kept.per_second);
            match series.last() == Some(kept) {
                true => format!(
                    "{subject}: keeps {limit} at {rate} requests/s at least, the highest rate that was tried: {each}."
                ),
                false => format!("{subject}: keeps {limit} up to {rate} requests/s: {each}."),
            }
        }
        None => format!("{subject}: no measured rate keeps {limit}: {each}."),
    }
}

fn words(it: &AtRate) -> String {
    let at = format!("at {} requests/s", figure(it.per_second));
    let share = match it.rate.to_string() {
        text if text.ends_with('%') => format!(" ({text} of its own speed)"),
        _ => String::new(),
    };
    if let Some(why) = &it.rejected {
        return format!("{at}{share} rejected: {why}");
    }
    let p99 = match it.p99_ms {
        Some(p99) => format!("p99 {} ms", figure(p99)),
        None => "too few latencies for p99".to_owned(),
    };
    let p50 = it
        .p50_ms
        .map_or(String::new(), |p50| format!("p50 {} ms, ", figure(p50)));
    let kept = match it.keeps_up() {
        true => String::new(),
        false => format!(", did only {} a second", figure(it.done_per_second)),
    };
    format!(
        "{at}{share} {p50}{p99} of {}{kept}",
        super::words::count(it.n)
    )
}
