//! The counters of one interval of time: a round, or the time between two.

use std::time::{Duration, Instant};

use crate::ledger::interval::Interval;
use crate::ledger::summary::Summary;
use crate::ledger::times::Times;
use crate::ledger::{Arrival, Receipt};

/// Counts since the interval began. They count requests unless the name says otherwise.
#[derive(Default)]
pub(crate) struct Tally {
    /// The counts that an `Interval` tells unchanged. Its times, ids and lateness come when it is read out.
    pub(crate) seen: Interval,
    pub(crate) arrived: u64,
    pub(crate) elsewhere: u64,
    pub(crate) items: u64,
    pub(crate) unknown: u64,
    pub(crate) refused: u64,
    pub(crate) in_flight: u64,
    /// Connections opened in this interval that have carried nothing.
    pub(crate) unused: u64,
    /// Open connections that carried a request of the round.
    pub(crate) connections_open: u64,
    pub(crate) last_read: Option<Instant>,
    pub(crate) last_written: Option<Instant>,
    /// By how much responses were later than planned.
    lateness: Times,
}

impl Tally {
    /// Counts a request whose head has been read, and how it came.
    pub(super) fn arrived(&mut self, arrival: &Arrival, receipt: Receipt) {
        self.arrived += 1;
        self.elsewhere += u64::from(!receipt.item);
        self.unknown += u64::from(arrival.unknown);
        let seen = &mut self.seen;
        seen.duplicates += u64::from(receipt.repeated);
        seen.pipelined += u64::from(arrival.behind);
        seen.otherwise += u64::from(arrival.otherwise && receipt.belongs);
        seen.over_http2 += u64::from(arrival.version == 2);
        seen.over_http3 += u64::from(arrival.version == 3);
        seen.over_http1_0 += u64::from(arrival.version == 0);
        if let Some(due) = receipt.due {
            seen.came(due, arrival.now);
        }
        self.enter(arrival.now);
    }

    fn enter(&mut self, now: Instant) {
        self.in_flight += 1;
        self.seen.peak_in_flight = self.seen.peak_in_flight.max(self.in_flight);
        self.seen.first_read.get_or_insert(now);
    }

    /// Counts an open connection without any request yet.
    pub(crate) fn opens(&mut self) {
        self.unused += 1;
        let ahead = self.unused + self.in_flight;
        self.seen.peak_ahead = self.seen.peak_ahead.max(ahead);
    }

    /// A connection carries its first request of the round.
    pub(crate) fn uses(&mut self) {
        self.seen.connections_used += 1;
        self.connections_open += 1;
        self.seen.peak_connections = self.seen.peak_connections.max(self.connections_open);
    }

    pub(crate) fn late(&mut self, by: Duration) {
        // Rounded up to a microsecond.
        self.lateness.record(by + Duration::from_nanos(999));
    }

    /// From the first request read to the last response written, in nanoseconds; 0 without any.
    pub(crate) fn span_ns(&self) -> u64 {
        match (self.seen.first_read, self.last_written) {
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
        self.lateness.quantile(share).unwrap_or_default().ceil() as u64
    }

    /// Adds the counts that the server's summary contains to it.
    pub(crate) fn add_to(&self, summary: &mut Summary) {
        summary.arrived += self.arrived;
        summary.elsewhere += self.elsewhere;
        summary.requests += self.seen.requests;
        summary.items += self.items;
        summary.unknown += self.unknown;
        summary.duplicates += self.seen.duplicates;
        summary.foreign += self.seen.foreign;
        summary.aborted += self.seen.aborted;
        summary.refused += self.refused;
        summary.connections += self.seen.connections_opened;
        summary.reused += self.seen.reused;
        summary.bytes_in += self.seen.bytes_in;
        summary.bytes_out += self.seen.bytes_out;
        summary.body_bytes_out += self.seen.body_bytes_out;
    }

    /// Adds the lateness of another interval.
    pub(crate) fn add_lateness(&mut self, other: &Tally) {
        self.lateness.merge(&other.lateness);
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
        assert_eq!((tally.in_flight, tally.seen.peak_in_flight), (2, 2));
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
        sum.add_lateness(&tally);
        assert_eq!(sum.lateness_us(0.99), tally.lateness_us(0.99));
    }
}
