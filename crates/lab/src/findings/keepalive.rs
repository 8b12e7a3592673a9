//! Keep-alive connections against new ones at each simulated round trip, and what the figures at a round trip of 0
//! predict.
//!
//! The round trips are simulated: the test server waits one of them before each response, and three before the first
//! response of a connection. So this measures what a client does with such waits, and not what a network does.
//!
//! A request on a keep-alive connection takes one round trip R and the work W₁ of both sides. A request on a new
//! connection takes one more R to open TCP, one for TLS 1.3, and the work W₂, which includes the handshake. So
//! keep-alive = R + W₁, new = 3·R + W₂, and gain = (3·R + W₂) ÷ (R + W₁). W₁ and W₂ are what was measured where R is
//! 0, so there the prediction is the measurement. For a client that does several requests at a time the gain is the
//! same.

use std::collections::BTreeSet;

use serde::Serialize;

use super::cells::{Cells, speed};
use super::rows::{Row, row_of};
use super::stats::{Estimate, centre};
use super::words::{interval, listed, percent, times};
use crate::plan::Cell;
use crate::run::Round;

/// Round trips before the response of a request on a new connection: TCP, TLS 1.3, and the request itself.
const NEW: f64 = 3.0;

/// A prediction that is off by no more than this holds.
const HOLDS: f64 = 0.1;

/// Both ways to connect at one round trip. Times are milliseconds of one request, waiting included.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundTrip {
    /// The round trip that the test server plays, in milliseconds.
    pub round_trip_ms: u64,
    /// With keep-alive connections; none when a round did nothing.
    pub keep_alive_ms: Option<Estimate>,
    /// With a new connection for each request.
    pub new_ms: Option<Estimate>,
    /// How many times faster keep-alive connections are; none when a row is rejected.
    pub gain: Option<Estimate>,
    /// The predicted `keep_alive_ms`; none without a valid measurement at a round trip of 0.
    pub predicted_keep_alive_ms: Option<f64>,
    /// The predicted `new_ms`.
    pub predicted_new_ms: Option<f64>,
    /// The predicted `gain`.
    pub predicted_gain: Option<f64>,
    /// Why the two cannot be compared: a row is rejected, or connections were not kept.
    pub rejected: Option<String>,
}

pub(super) fn round_trips(rows: &[Row], cells: &Cells) -> Vec<RoundTrip> {
    let trips = rows.iter().filter_map(|row| row.load.round_trip_ms);
    let trips: BTreeSet<u64> = trips.collect();
    let trips = trips.into_iter();
    let found = trips.filter_map(|trip| round_trip(trip, rows, cells));
    let mut found: Vec<RoundTrip> = found.collect();
    let is_base = |trip: &&RoundTrip| trip.round_trip_ms == 0 && trip.gain.is_some();
    let work = |base: &RoundTrip| Some((base.keep_alive_ms?.value, base.new_ms?.value));
    if let Some((keep_alive, new)) = found.iter().find(is_base).and_then(work) {
        for trip in &mut found {
            let round_trip = trip.round_trip_ms as f64;
            let (keep_alive, new) = (round_trip + keep_alive, NEW * round_trip + new);
            trip.predicted_keep_alive_ms = Some(keep_alive);
            trip.predicted_new_ms = Some(new);
            trip.predicted_gain = Some(new / keep_alive);
        }
    }
    found
}

fn round_trip(trip: u64, rows: &[Row], cells: &Cells) -> Option<RoundTrip> {
    let of = |keepalive: bool| {
        let load = |row: &Row| (row.load.round_trip_ms, row.load.keepalive);
        let mut rows = rows.iter();
        let found = rows.find(|row| load(row) == (Some(trip), keepalive));
        found.map(Row::cell)
    };
    let (reused, new) = (of(true)?, of(false)?);
    let why = |cell| row_of(cell, rows)?.not_compared().cloned();
    let rejected = [&reused, &new].into_iter().find_map(why);
    let gain = cells.ratio(&reused, &new).filter(|_| rejected.is_none());
    Some(RoundTrip {
        round_trip_ms: trip,
        keep_alive_ms: milliseconds(&reused, cells),
        new_ms: milliseconds(&new, cells),
        gain,
        predicted_keep_alive_ms: None,
        predicted_new_ms: None,
        predicted_gain: None,
        rejected,
    })
}

/// Time of one request, with as many in flight as the cell says.
fn milliseconds(cell: &Cell, cells: &Cells) -> Option<Estimate> {
    let concurrency = cell.load.concurrency as f64;
    let time = |round: &&Round| (concurrency * 1e3 / speed(round), round.invocation);
    centre(&cells.rounds(cell).iter().map(time).collect::<Vec<_>>())
}

pub(super) fn verdict(client: &str, trips: &[RoundTrip]) -> Vec<String> {
    let gains = trips.iter().filter_map(|trip| {
        let (gain, trip) = (trip.gain?, trip.round_trip_ms);
        let (ratio, interval) = (times(gain.value), interval(&gain));
        Some(format!("{ratio} {interval} at a round trip of {trip} ms"))
    });
    let gains: Vec<String> = gains.collect();
    let mut sentences = vec![match gains.is_empty() {
        true => format!("Nothing can be said of {client}."),
        false => format!(
            "Keep-alive connections make {client} faster over TLS, at round trips that the server simulates: {}.",
            gains.join(", ")
        ),
    }];
    sentences.extend(prediction(trips));
    let rejected = |trip: &RoundTrip| Some((trip.round_trip_ms, trip.rejected.clone()?));
    if let Some((trip, reason)) = trips.iter().find_map(rejected) {
        let words = format!("Not compared at a round trip of {trip} ms: {reason}.");
        sentences.push(words);
    }
    sentences
}

/// How far one column is off the prediction: its name, the worst share, and the round trip where that is.
type Off = (&'static str, f64, u64);

/// Whether the predictions hold, column by column, where there are any.
fn prediction(trips: &[RoundTrip]) -> Option<String> {
    let value = |estimate: Option<Estimate>| estimate.map(|found| found.value);
    let columns = [
        worst("keep-alive", trips, |trip| {
            Some((value(trip.keep_alive_ms)?, trip.predicted_keep_alive_ms?))
        }),
        worst("new", trips, |trip| {
            Some((value(trip.new_ms)?, trip.predicted_new_ms?))
        }),
        worst("gain", trips, |trip| {
            Some((value(trip.gain)?, trip.predicted_gain?))
        }),
    ];
    let columns: Vec<Off> = columns.into_iter().flatten().collect();
    if columns.is_empty() {
        return None;
    }
    let named = |holds: bool| {
        let those = columns.iter();
        let those = those.filter(|(_, share, _)| (*share <= HOLDS) == holds);
        let words = those.map(|(name, share, trip)| {
            format!("{name} (off by at most {}, at {trip} ms)", percent(*share))
        });
        let words: Vec<String> = words.collect();
        listed(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (holding, failing) = (named(true), named(false));
    let within = percent(HOLDS);
    Some(match (holding.as_str(), failing.as_str()) {
        (_, "") => format!("The predictions hold within {within}: {holding}."),
        ("", _) => format!("The predictions do not hold within {within}: {failing}."),
        _ => format!(
            "The predictions do not hold within {within} for {failing}; they hold for {holding}."
        ),
    })
}

/// Where a column is furthest from its prediction; none where nothing is predicted.
fn worst(
    name: &'static str,
    trips: &[RoundTrip],
    pair: impl Fn(&RoundTrip) -> Option<(f64, f64)>,
) -> Option<Off> {
    let is_valid = |trip: &&RoundTrip| trip.round_trip_ms > 0 && trip.rejected.is_none();
    let off = trips.iter().filter(is_valid).filter_map(|trip| {
        let (measured, predicted) = pair(trip)?;
        Some((name, (measured / predicted - 1.0).abs(), trip.round_trip_ms))
    });
    off.max_by(|a, b| a.1.total_cmp(&b.1))
}
