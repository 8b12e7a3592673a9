//! Batches of each size, one request after another against all at once: how long they take, and what the test server
//! saw.

use std::collections::BTreeSet;

use serde::Serialize;

use super::cells::{Cells, seconds};
use super::processes::Sample;
use super::rows::{Row, row_of};
use super::rules::seen;
use super::stats::{Estimate, centre};
use super::words::{figure, interval, times};
use crate::plan::{Cell, Mode};
use crate::run::Round;

/// Share of a batch that must have been in flight at once.
const LEAST: f64 = 0.9;

/// Batches of one size. Times are milliseconds of a whole batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Batch {
    /// Requests of each.
    pub size: u64,
    /// How many were sent each way.
    pub loops: usize,
    /// One request after another; none when a batch was too short to measure.
    pub sync_ms: Option<Estimate>,
    /// All at once.
    pub async_ms: Option<Estimate>,
    /// Plain average of the first, as spreadsheets expect it.
    pub sync_average_ms: f64,
    /// Plain average of the second.
    pub async_average_ms: f64,
    /// How many times faster all at once is, paired by loop.
    pub speed_up: Option<Estimate>,
    /// Most requests that the test server saw in flight during the batches sent at once; none without a log.
    pub in_flight: Option<u64>,
    /// Most connections that one of those used; none without a log.
    pub connections: Option<u64>,
    /// Why a row is not ranked, in either way.
    pub rejected: Option<String>,
}

pub(super) fn batches(rows: &[Row], cells: &Cells) -> Vec<Batch> {
    let sizes: BTreeSet<u64> = rows.iter().filter_map(|row| row.load.requests).collect();
    let batch = |size| batch(size, rows, cells);
    sizes.into_iter().filter_map(batch).collect()
}

fn batch(size: u64, rows: &[Row], cells: &Cells) -> Option<Batch> {
    let of = |mode: Mode| {
        let mut found = rows.iter().filter(|row| row.load.requests == Some(size));
        found.find(|row| row.load.mode == Some(mode)).map(Row::cell)
    };
    let (one, all) = (of(Mode::Sync)?, of(Mode::Async)?);
    let intervals = || seen(cells.rounds(&all));
    let (sync, together) = (times_of(&one, cells), times_of(&all, cells));
    Some(Batch {
        size,
        loops: sync.len().min(together.len()),
        sync_ms: centre(&sync),
        async_ms: centre(&together),
        sync_average_ms: average(&sync),
        async_average_ms: average(&together),
        speed_up: cells.ratio_among(1, &one, &all, milliseconds),
        in_flight: intervals().map(|interval| interval.peak_in_flight).max(),
        connections: intervals().map(|interval| interval.connections_used).max(),
        rejected: [&one, &all]
            .into_iter()
            .find_map(|cell| row_of(cell, rows)?.rejected.clone()),
    })
}

fn milliseconds(round: &Round) -> f64 {
    seconds(round.wall_ns) * 1e3
}

fn times_of(cell: &Cell, cells: &Cells) -> Vec<Sample> {
    let rounds = cells.rounds(cell).iter();
    let times = rounds.map(|round| (milliseconds(round), round.invocation));
    times.collect()
}

fn average(values: &[Sample]) -> f64 {
    values.iter().map(|(value, _)| value).sum::<f64>() / values.len().max(1) as f64
}

pub(super) fn verdict(client: &str, batches: &[Batch]) -> Vec<String> {
    let Some(largest) = batches.last() else {
        return vec!["No batch was measured.".into()];
    };
    let mut sentences = Vec::new();
    let Batch {
        sync_ms,
        async_ms,
        speed_up,
        ..
    } = largest;
    if let (Some(sync), Some(together), Some(speed_up)) = (sync_ms, async_ms, speed_up) {
        sentences.push(format!(
            "{client}: a batch of {} takes {} ms all at once instead of {} ms one after another: {} {}.",
            largest.size,
            figure(together.value),
            figure(sync.value),
            times(speed_up.value),
            interval(speed_up)
        ));
    }
    sentences.extend(limit(batches));
    let rejected = batches.iter();
    let rejected = rejected.filter_map(|batch| Some((batch.size, batch.rejected.as_ref()?)));
    let (count, all) = (rejected.clone().count(), batches.len());
    if let Some((size, why)) = rejected.into_iter().next() {
        sentences.push(format!(
            "Rejected at {count} of {all} sizes; at {size}: {why}."
        ));
    }
    sentences
}

/// A pool that is smaller than the batch shows in what the test server saw at once.
fn limit(batches: &[Batch]) -> Option<String> {
    let short = |batch: &&Batch| {
        let least = LEAST * batch.size as f64;
        batch.in_flight.is_some_and(|seen| (seen as f64) < least)
    };
    let first = batches.iter().find(short)?;
    let most = batches.iter().filter_map(|batch| batch.in_flight).max()?;
    Some(format!(
        "From batches of {} on, not all requests were in flight at once: the server never saw more than {most}. The \
         reason is a limit of the client's pool, or responses that came before the last request was sent.",
        first.size
    ))
}
