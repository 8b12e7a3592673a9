//! The counters of one interval of time: a round, or the time between two.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::ledger::pace::Punctuality;
use crate::ledger::times::Times;

/// Counts since the interval began. They count requests unless the name says otherwise; `Interval` documents each.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) arrived: u64,
    pub(crate) elsewhere: u64,
    pub(crate) requests: u64,
    pub(crate) items: u64,
    pub(crate) unknown: u64,
    pub(crate) duplicates: u64,
    pub(crate) foreign: u64,
    pub(crate) aborted: u64,
    pub(crate) refused: u64,
    pub(crate) reused: u64,
    pub(crate) connections_opened: u64,
    pub(crate) connections_used: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) body_bytes_out: u64,
    pub(crate) in_flight: u64,
    pub(crate) peak_in_flight: u64,
    pub(crate) stray: u64,
    pub(crate) pipelined: u64,
    pub(crate) otherwise: u64,
    pub(crate) turned_away: u64,
    pub(crate) tls_handshakes: u64,
    pub(crate) tls_resumed: u64,
    pub(crate) over_http2: u64,
    pub(crate) over_http3: u64,
    pub(crate) over_http1_0: u64,
    /// Connections opened in this interval that have carried nothing.
    pub(crate) unused: u64,
    pub(crate) peak_ahead: u64,
    /// Open connections that carried a request of the round.
    pub(crate) connections_open: u64,
    pub(crate) peak_connections: u64,
    pub(crate) held: Times,
    pub(crate) held_ns: u64,
    pub(crate) cycles: Times,
    pub(crate) punctuality: Punctuality,
    pub(crate) first_read: Option<Instant>,
    pub(crate) last_read: Option<Instant>,
    pub(crate) last_written: Option<Instant>,
    lateness: Lateness,
}

/// By how many nanoseconds responses were later than planned.
struct Lateness(Histogram<u32>);

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness(Histogram::new_with_bounds(1, LATEST_NS, 2).expect("bounds are in order"))
    }
}

/// A longer lateness counts as this one.
const LATEST_NS: u64 = 60_000_000_000;

impl Tally {
    pub(crate) fn enter(&mut self, now: Instant) {
        self.in_flight += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.in_flight);
        self.first_read.get_or_insert(now);
    }

    /// Counts an open connection without any request yet.
    pub(crate) fn opens(&mut self) {
        self.unused += 1;
        self.peak_ahead = self.peak_ahead.max(self.unused + self.in_flight);
    }

    /// A connection carries its first request of the round.
    pub(crate) fn uses(&mut self) {
        self.connections_used += 1;
        self.connections_open += 1;
        self.peak_connections = self.peak_connections.max(self.connections_open);
    }

    pub(crate) fn late(&mut self, by: Duration) {
        self.lateness.0.saturating_record(by.as_nanos() as u64);
    }

    /// From the first request read to the last response written, in nanoseconds; 0 without any.
    pub(crate) fn span_ns(&self) -> u64 {
        match (self.first_read, self.last_written) {
            (Some(first), Some(last)) => last.saturating_duration_since(first).as_nanos() as u64,
            _ => 0,
        }
    }

    /// From the last request read to the last response written, in nanoseconds.
    pub(crate) fn tail_ns(&self) -> u64 {
        match (self.last_read, self.last_written) {
            (Some(read), Some(last)) => last.saturating_duration_since(read).as_nanos() as u64,
            _ => 0,
        }
    }

    /// Lateness that the given share of responses did not exceed, in microseconds, rounded up.
    pub(crate) fn lateness_us(&self, share: f64) -> u64 {
        self.lateness.0.value_at_quantile(share).div_ceil(1000)
    }

    /// Adds those counts of another interval that the server's summary contains. All others stay as they are.
    pub(crate) fn add(&mut self, other: &Tally) {
        self.arrived += other.arrived;
        self.elsewhere += other.elsewhere;
        self.requests += other.requests;
        self.items += other.items;
        self.unknown += other.unknown;
        self.duplicates += other.duplicates;
        self.foreign += other.foreign;
        self.aborted += other.aborted;
        self.refused += other.refused;
        self.reused += other.reused;
        self.connections_opened += other.connections_opened;
        self.connections_used += other.connections_used;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.body_bytes_out += other.body_bytes_out;
        let lateness = self.lateness.0.add(&other.lateness.0);
        lateness.expect("both have the same bounds");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_most_at_one_moment() {
        let mut tally = Tally::default();
        let now = Instant::now();
        tally.enter(now);
        tally.enter(now);
        tally.in_flight -= 1;
        tally.enter(now);
        assert_eq!((tally.in_flight, tally.peak_in_flight), (2, 2));
    }

    #[test]
    fn lateness_is_read_as_percentiles() {
        let mut tally = Tally::default();
        assert_eq!(tally.lateness_us(0.5), 0);
        for us in 1..=100 {
            tally.late(Duration::from_micros(us));
        }
        assert!(
            (49..=52).contains(&tally.lateness_us(0.5)),
            "{}",
            tally.lateness_us(0.5)
        );
        assert!(
            (98..=101).contains(&tally.lateness_us(0.99)),
            "{}",
            tally.lateness_us(0.99)
        );
        let mut sum = Tally::default();
        sum.add(&tally);
        assert_eq!(sum.lateness_us(0.99), tally.lateness_us(0.99));
    }
}
