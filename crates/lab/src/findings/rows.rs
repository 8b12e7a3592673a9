//! One row per cell: what was measured, summed up, and whether the server's log agrees.

use hecaton_test_server::{Interval, Times};
use serde::Serialize;

use super::cells::{Cells, cpu, seconds, speed};
use super::percentiles::Percentiles;
use super::rules::{
    claimed, clock_step, in_flight, opened, rejection, reopened, seen, sooner_than_the_loader,
    together, warnings,
};
use super::server::{Server, server};
use super::shown_load::ShownLoad;
use super::stats::{Estimate, centre, median};
use super::warmth::{Warming, warming};
use crate::plan::{Cell, Load};
use crate::run::Round;
use crate::spec::BASELINE_LOADER;

/// One client at one body size and one concurrency.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The client's name.
    pub client: String,
    /// The load of the row.
    #[serde(skip)]
    pub load: Load,
    /// The load as documents and tables show it.
    #[serde(flatten)]
    pub shown_load: ShownLoad,
    /// The usual load of the run: what rows need not repeat.
    #[serde(skip)]
    pub usual: Load,
    /// Median over the rounds.
    pub requests_per_second: f64,
    /// CPU time over wall time, median over the rounds; 100 is one core.
    pub cpu_percentage: f64,
    /// CPU milliseconds per request, median over the rounds: all that the driver used since its last round, divided by all
    /// requests that it was told to send meanwhile. None when no request ended well.
    pub cpu_ms_per_request: Option<f64>,
    /// The part of this CPU time that lay outside of the rounds, in percent; none in older documents.
    pub cpu_outside_percentage: Option<f64>,
    /// Median latency of all rounds in milliseconds; none when the driver gave no latencies, or its clock shows none so short.
    pub p50_ms: Option<f64>,
    /// 99th percentile of the same; none where too few were timed to say it.
    pub p99_ms: Option<f64>,
    /// Lower end of its 95 % confidence interval, as if all latencies were independent.
    #[serde(skip)]
    pub p99_low_ms: Option<f64>,
    /// Upper end of the same.
    #[serde(skip)]
    pub p99_high_ms: Option<f64>,
    /// All latencies as percentiles; absent when the driver gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Percentiles>,
    /// Requests per second that were due, median over the rounds; none in the closed loop.
    #[serde(skip)]
    pub due_per_second: Option<f64>,
    /// How many latencies were claimed.
    #[serde(skip)]
    pub latencies: u64,
    /// Requests in flight on average, by the claimed latencies; none without any.
    #[serde(skip)]
    pub in_flight: Option<f64>,
    /// The load of the test server; none without a log.
    #[serde(skip)]
    pub server: Option<Server>,
    /// Highest resident memory of any round, in megabytes (10⁶ bytes).
    pub peak_rss_mb: f64,
    /// Failed requests over all rounds, in the driver's words.
    pub errors: u64,
    /// Most connections that a measured round used; none without a log.
    pub connections: Option<u64>,
    /// Connections opened in the measured rounds for each request of them; none without a log.
    pub opened_per_request: Option<f64>,
    /// That the client did not keep its connections, in a sentence; none where it kept them, or should not.
    #[serde(skip)]
    pub reopened: Option<String>,
    /// Requests that the test server saw again, over all rounds and probes; none without a log.
    pub duplicates: Option<u64>,
    /// Most requests in flight that the test server saw, probes included; none without a log.
    pub peak_in_flight: Option<u64>,
    /// Share of the baseline loader's speed at equal body size and concurrency, paired by block. None if the baseline
    /// loader has no valid row, or if this row is rejected.
    pub baseline_loader_ratio: Option<f64>,
    /// True when the server's log covers every round and contradicts no claim.
    pub verified: bool,
    /// Why the row is not ranked; none when it is.
    pub rejected: Option<String>,
    /// Warnings about the row, in sentences without a full stop.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Set where the row's processes were still getting faster.
    #[serde(skip)]
    pub warming: Option<Warming>,
    /// Requests per second with the interval over rounds, for charts; none when a round did nothing.
    #[serde(skip)]
    pub speed: Option<Estimate>,
    /// Whether the access log of one's own service has the requests that the client claims; absent where none was read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub logged: bool,
    /// CPU milliseconds of one's own service per request that ended well, median over the rounds; absent where its
    /// process was not named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_ms_per_request: Option<f64>,
    /// `baseline_loader_ratio` with its interval.
    #[serde(skip)]
    pub baseline_loader: Option<Estimate>,
}

impl Row {
    /// The cell that the row sums up.
    pub fn cell(&self) -> Cell {
        Cell::new(&self.client, self.load)
    }

    /// Why its figures are not compared with those of another row; none if they may be.
    pub(super) fn not_compared(&self) -> Option<&String> {
        self.rejected.as_ref().or(self.reopened.as_ref())
    }

    /// Whether this is the baseline loader, which is shown and never recommended.
    pub fn is_baseline_loader(&self) -> bool {
        self.client == BASELINE_LOADER
    }
}

/// A row per cell, ordered by client, body and concurrency; none for controls.
pub(super) fn rows(cells: &Cells, usual: &Load) -> Vec<Row> {
    let mut rows: Vec<Row> = cells
        .iter()
        .filter(|(cell, _)| cell.control.is_none())
        .map(|(cell, rounds)| row(cell, rounds, usual))
        .collect();
    compare_medians(&mut rows, cells);
    let loaders: Vec<Cell> = rows
        .iter()
        .filter(|row| row.is_baseline_loader() && row.rejected.is_none())
        .map(Row::cell)
        .collect();
    for row in rows.iter_mut().filter(|row| row.rejected.is_none()) {
        let loader = row.cell().loader();
        if loaders.contains(&loader) {
            row.baseline_loader = cells.ratio(&row.cell(), &loader);
            row.baseline_loader_ratio = row.baseline_loader.map(|ratio| ratio.value);
        }
    }
    rows
}

/// The row of a cell; none when it was not measured.
pub(super) fn row_of<'a>(cell: &Cell, rows: &'a [Row]) -> Option<&'a Row> {
    rows.iter().find(|row| row.cell() == *cell)
}

/// The fastest of so few latencies is chance: where a delay is drawn for each, all of three may be long.
const FEWEST_OF_THE_LOADER: u64 = 100;

/// Warns of a median latency that is shorter than any latency of the baseline loader, which does as little as possible.
fn compare_medians(rows: &mut [Row], cells: &Cells) {
    let loaders = cells.iter();
    let loaders = loaders.filter(|(cell, _)| cell.client == BASELINE_LOADER);
    let rounds: Vec<&Round> = loaders.flat_map(|(_, rounds)| rounds).copied().collect();
    let all = claimed(&rounds);
    let fastest = all.iter().next();
    let fastest = fastest.filter(|_| all.len() >= FEWEST_OF_THE_LOADER);
    let Some(fastest) = fastest.map(|(us, _)| f64::from(us) / 1e3) else {
        return;
    };
    for row in rows.iter_mut().filter(|row| row.rejected.is_none()) {
        row.warnings
            .extend(sooner_than_the_loader(row.p50_ms, fastest));
    }
}

fn row(cell: &Cell, rounds: &[&Round], usual: &Load) -> Row {
    let each = |value: fn(&Round) -> f64| -> Vec<f64> {
        rounds.iter().map(|round| value(round)).collect()
    };
    let rejected = rejection(rounds);
    let due: Vec<f64> = rounds.iter().filter_map(|round| round.per_second).collect();
    let of_process = |round: &&Round| (speed(round), round.invocation);
    let speeds: Vec<_> = rounds.iter().map(of_process).collect();
    let peak_kib = rounds.iter().map(|round| round.peak_rss_kib).max();
    let row = Row {
        client: cell.client.clone(),
        load: cell.load,
        usual: *usual,
        shown_load: ShownLoad::of_row(&cell.load, usual),
        requests_per_second: median(&each(speed)).unwrap_or(0.0),
        cpu_percentage: median(&each(cpu_percentage)).unwrap_or(0.0),
        cpu_ms_per_request: finite_median(each(|round| cpu(round) * 1e3)),
        cpu_outside_percentage: cpu_outside(rounds),
        due_per_second: cell.load.rate.and_then(|_| median(&due)),
        in_flight: in_flight(rounds).map(|all| (all * 100.0).round() / 100.0),
        server: server(rounds, &cell.load.wait()),
        peak_rss_mb: peak_kib.unwrap_or(0) as f64 * 1024.0 / 1e6,
        errors: rounds.iter().map(failures).fold(0, u64::saturating_add),
        logged: rejected.is_none() && rounds.iter().all(|round| round.logged.is_some()),
        server_cpu_ms_per_request: server_cpu(rounds),
        warnings: warnings(rounds),
        rejected,
        warming: warming(rounds),
        speed: centre(&speeds),
        ..Row::default()
    };
    row.with_latencies(&shown_latencies(rounds)).seen_in(rounds)
}

impl Row {
    /// With the figures of its latencies. One that is shorter than a step of their clock is none.
    fn with_latencies(self, latencies: &Times) -> Row {
        let step_ms = f64::from(clock_step(latencies)) / 1e3;
        let is_shown = |ms: &f64| *ms >= step_ms;
        let percentiles = Percentiles::of(latencies);
        let p99 = percentiles.as_ref().and_then(|all| all.at(99.0)).copied();
        let p99 = p99.filter(|it| is_shown(&it.ms));
        let p50_ms = latencies.quantile(0.5).map(|us| us.round() / 1e3);
        Row {
            latencies: latencies.len(),
            p50_ms: p50_ms.filter(is_shown),
            p99_ms: p99.map(|it| it.ms),
            p99_low_ms: p99.map(|it| it.low_ms),
            p99_high_ms: p99.map(|it| it.high_ms),
            percentiles,
            ..self
        }
    }

    /// With what the server saw of it.
    fn seen_in(self, rounds: &[&Round]) -> Row {
        let probes = rounds.iter().filter_map(|round| round.probe.as_ref());
        let all: Vec<&Interval> = seen(rounds).chain(probes).collect();
        let is_witnessed = rounds.iter().all(|it| it.seen.is_some() && !it.trusted);
        let each = |(opened, requests): (u64, u64)| opened as f64 / requests.max(1) as f64;
        Row {
            connections: seen(rounds).map(|interval| interval.connections_used).max(),
            opened_per_request: opened(rounds).map(|all| (each(all) * 1e3).round() / 1e3),
            reopened: reopened(rounds),
            duplicates: duplicates(rounds, &all),
            peak_in_flight: all.iter().map(|interval| interval.peak_in_flight).max(),
            verified: is_witnessed && self.rejected.is_none(),
            ..self
        }
    }
}

/// CPU time of the service for each request, where that is known.
fn server_cpu(rounds: &[&Round]) -> Option<f64> {
    let known = rounds
        .iter()
        .filter_map(|round| Some(seconds(round.server_cpu_ns?) * 1e3 / round.claim.done as f64));
    finite_median(known.collect())
}

/// The median of values without those of rounds that did nothing.
fn finite_median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    median(&values)
}

/// Requests that the server saw again, by the test server's log or the access log; none where a round has neither.
fn duplicates(rounds: &[&Round], seen: &[&Interval]) -> Option<u64> {
    let mut is_known = rounds.iter();
    let all = is_known.all(|round| round.seen.is_some() || round.logged.is_some());
    let logged = rounds.iter().filter_map(|round| round.logged.as_ref());
    let logged: u64 = logged.map(|entries| entries.lines - entries.distinct).sum();
    let seen: u64 = seen.iter().map(|interval| interval.duplicates).sum();
    all.then_some(seen + logged)
}

/// Requests that failed, without those that the server turned away on purpose.
fn failures(round: &&Round) -> u64 {
    let turned_away = round.seen.as_ref().map_or(0, |seen| seen.turned_away);
    round.claim.errors.saturating_sub(turned_away)
}

fn cpu_percentage(round: &Round) -> f64 {
    let used = seconds(round.cpu_user_ns + round.cpu_system_ns);
    used / seconds(round.wall_ns) * 100.0
}

/// The share of a row's CPU time that lay outside of its rounds, in percent.
fn cpu_outside(rounds: &[&Round]) -> Option<f64> {
    let (mut outside, mut all) = (0, 0);
    for round in rounds {
        let beside = round.beside?.cpu_ns;
        outside += beside;
        all += beside + round.cpu_user_ns + round.cpu_system_ns;
    }
    (all > 0).then(|| (outside as f64 / all as f64 * 1000.0).round() / 10.0)
}

/// The claimed latencies, each at least as long as the server's own time at the same rank: from due to response at a rate, and
/// else how long it held the response. No client can have had its responses sooner.
fn shown_latencies(rounds: &[&Round]) -> Times {
    let own = rounds.iter().filter_map(|round| {
        let seen = round.seen.as_ref().filter(|_| round.lat_every == 1)?;
        Some(match round.per_second {
            Some(_) => &seen.least,
            None => &seen.held,
        })
    });
    claimed(rounds).raised_to(&together(own))
}
