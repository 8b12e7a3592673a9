//! The ledger: every request, response and connection is written down here, and read out as intervals.

pub(crate) mod age;
pub(crate) mod ids;
pub(crate) mod interval;
pub(crate) mod pace;
pub(crate) mod summary;
pub(crate) mod tally;
pub(crate) mod times;

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

use crate::ledger::age::Age;
use crate::ledger::ids::Ids;
use crate::ledger::interval::Interval;
use crate::ledger::pace::Pace;
use crate::ledger::summary::Summary;
use crate::ledger::tally::Tally;

/// Everything that the test server has seen. It lives in the test server's thread; nothing here is locked.
pub(crate) struct Ledger {
    /// The round, or the time between rounds.
    present: OpenInterval,
    /// While a round is open: the time between rounds, to be continued.
    between: Option<OpenInterval>,
    /// Intervals that are over, and what is counted of the whole time only.
    past: Summary,
    /// The ends of requests whose interval was over, and the lateness of all responses of such intervals.
    late: Tally,
    in_flight: u64,
    started: Instant,
}

struct OpenInterval {
    number: u32,
    tally: Tally,
    ids: Ids,
    /// Whether its requests have a word in their path.
    named: bool,
    /// When its requests are due; none where they are sent at no rate.
    pace: Option<Pace>,
    cpu_at_start: u64,
}

/// The ledger's entry of a connection, stored in the connection.
#[derive(Default)]
pub(crate) struct ConnectionEntry {
    /// Requests it has carried.
    pub(crate) carried: u64,
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Whether it is too old for a round whose connections must be new.
    pub(crate) age: Age,
    /// The interval in which it was accepted.
    since: u32,
    /// The last round of which it carried a request.
    round: u32,
    /// When the last request of that round was read.
    last: Option<Instant>,
}

/// A request whose head has just been read.
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    /// It did not wait for the response before it on its connection.
    pub(crate) behind: bool,
    /// The id that it requested and its check value; none for another path.
    pub(crate) item: Option<(u64, u32)>,
    /// The server has nothing at its path.
    pub(crate) unknown: bool,
    /// It lacks the word of the round.
    pub(crate) stray: bool,
    /// It differs from the requests of the round.
    pub(crate) otherwise: bool,
    /// The version of HTTP that it came over: 3, 2, 1 for 1.1, or 0 for 1.0.
    pub(crate) version: u8,
}

/// A request that has no response yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt {
    interval: u32,
    /// Whether it requested `/r/<id>`.
    item: bool,
    /// Whether it belongs to the round.
    pub(crate) belongs: bool,
    /// Whether its id had been seen before.
    pub(crate) repeated: bool,
    /// Whether it strayed into the round.
    pub(crate) stray: bool,
    /// When it was read.
    read: Instant,
    /// When the request was due; none where requests are sent at no rate.
    due: Option<Instant>,
    /// When the response should leave; `None` if that is unknown (gates, faults).
    planned: Option<Instant>,
}

impl Receipt {
    pub(crate) fn planned_at(self, planned: Option<Instant>) -> Receipt {
        Receipt { planned, ..self }
    }
}

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger {
            present: OpenInterval::new(0, Ids::new(0, 0), false, None),
            between: None,
            past: Summary::default(),
            late: Tally::default(),
            in_flight: 0,
            started: Instant::now(),
        }
    }

    pub(crate) fn connected(&mut self, number: u64) -> ConnectionEntry {
        // In a round with a word, a connection counts once it carries a request with the word: other
        // programs may connect too.
        let interval = match (&mut self.between, self.present.named) {
            (Some(between), true) => between,
            _ => &mut self.present,
        };
        interval.tally.seen.connections_opened += 1;
        if self.present.named {
            self.present.tally.opens();
        }
        self.past.connections_open += 1;
        self.past.peak_connections = self.past.peak_connections.max(self.past.connections_open);
        ConnectionEntry {
            number,
            since: self.present.number,
            ..ConnectionEntry::default()
        }
    }

    pub(crate) fn disconnected(&mut self, entry: &ConnectionEntry) {
        self.past.connections_open -= 1;
        self.uses(entry);
        if self.between.is_some() && entry.round == self.present.number {
            self.present.tally.connections_open -= 1;
        }
    }

    /// A connection carries its first bytes, or ends: it is no longer unused.
    fn uses(&mut self, entry: &ConnectionEntry) {
        if entry.carried == 0 && entry.since == self.present.number {
            let unused = &mut self.present.tally.unused;
            *unused = unused.saturating_sub(1);
        }
    }

    /// A TLS handshake is complete.
    pub(crate) fn shook_hands(&mut self, resumed: bool) {
        self.past.tls_handshakes += 1;
        self.past.tls_resumed += u64::from(resumed);
        self.present.tally.seen.tls_handshakes += 1;
        self.present.tally.seen.tls_resumed += u64::from(resumed);
    }

    /// A TLS handshake has failed.
    pub(crate) fn shook_no_hands(&mut self) {
        self.past.tls_failed += 1;
    }

    /// A connection uses HTTP/2.
    pub(crate) fn http2(&mut self) {
        self.past.http2_connections += 1;
    }

    /// A stream of HTTP/2 came that is not processed.
    pub(crate) fn unprocessed(&mut self) {
        self.past.http2_unprocessed += 1;
    }

    /// A connection uses HTTP/3.
    pub(crate) fn http3(&mut self) {
        self.past.http3_connections += 1;
    }

    /// A stream of HTTP/3 came that is not processed.
    pub(crate) fn http3_unprocessed(&mut self) {
        self.past.http3_unprocessed += 1;
    }

    /// A request has been read, as far as its head.
    pub(crate) fn arrived(&mut self, entry: &mut ConnectionEntry, arrival: Arrival) -> Receipt {
        let in_round = self.between.is_some();
        let stray = in_round && arrival.stray;
        self.uses(entry);
        let interval = match (&mut self.between, stray) {
            (Some(between), true) => {
                self.present.tally.seen.stray += 1;
                between
            }
            _ => &mut self.present,
        };
        let receipt = interval.arrived(entry, &arrival, in_round && !stray);
        self.in_flight += 1;
        self.past.peak_in_flight = self.past.peak_in_flight.max(self.in_flight);
        Receipt { stray, ..receipt }
    }

    /// The response of a request has been written whole.
    pub(crate) fn responded(&mut self, receipt: Receipt, now: Instant) {
        let tally = self.leave(receipt);
        tally.seen.requests += 1;
        tally.items += u64::from(receipt.item);
        tally.last_written = Some(now);
        if let Some(planned) = receipt.planned {
            tally.late(now.saturating_duration_since(planned));
        }
    }

    /// The response of a request is released at `now`.
    pub(crate) fn released(&mut self, receipt: Receipt, now: Instant) {
        let tally = self.tally_of(receipt);
        let held = now.saturating_duration_since(receipt.read);
        if receipt.belongs && !held.is_zero() {
            tally.seen.held.record(held);
            tally.seen.held_ns += held.as_nanos() as u64;
        }
        if let Some(due) = receipt.due {
            tally.seen.released(due, now);
        }
    }

    /// Bytes of the body of a request's response were written.
    pub(crate) fn wrote_body_of(&mut self, receipt: Receipt, bytes: usize) {
        self.tally_of(receipt).seen.body_bytes_out += bytes as u64;
    }

    /// The response of a request is a 503 on purpose: its check value is in no body.
    pub(crate) fn turned_away(&mut self, receipt: Receipt, check_value: u32) {
        if receipt.belongs && !receipt.repeated && receipt.interval == self.present.number {
            self.present.ids.forgive(check_value);
            self.present.tally.seen.turned_away += 1;
        }
    }

    /// A request has ended without a whole response.
    pub(crate) fn aborted(&mut self, receipt: Receipt) {
        self.leave(receipt).seen.aborted += 1;
    }

    /// Takes a request out of flight, and returns the counters of the interval in which it came. So a response that
    /// outlasts its round is not counted in the next one.
    fn leave(&mut self, receipt: Receipt) -> &mut Tally {
        self.in_flight -= 1;
        let tally = self.tally_of(receipt);
        tally.in_flight = tally.in_flight.saturating_sub(1);
        tally
    }

    fn tally_of(&mut self, receipt: Receipt) -> &mut Tally {
        let intervals = [Some(&mut self.present), self.between.as_mut()];
        let mut intervals = intervals.into_iter().flatten();
        match intervals.find(|interval| interval.number == receipt.interval) {
            Some(interval) => &mut interval.tally,
            None => &mut self.late,
        }
    }

    /// Bytes came that are no request.
    pub(crate) fn refused(&mut self) {
        self.present.tally.refused += 1;
    }

    pub(crate) fn read(&mut self, bytes: usize) {
        self.present.tally.seen.bytes_in += bytes as u64;
    }

    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.present.tally.seen.bytes_out += bytes as u64;
    }

    /// Bytes of a body; `stray`: of a response that is not of the round.
    pub(crate) fn wrote_body(&mut self, bytes: usize, stray: bool) {
        let interval = match (&mut self.between, stray) {
            (Some(between), true) => between,
            _ => &mut self.present,
        };
        interval.tally.seen.body_bytes_out += bytes as u64;
    }

    /// Begins a round; one that is still open is closed and its interval lost.
    pub(crate) fn open(&mut self, ids: Ids, named: bool, pace: Option<Pace>) {
        if self.between.is_some() {
            self.close(|_| 0);
        }
        self.past.rounds += 1;
        let round = OpenInterval::new(self.past.rounds as u32, ids, named, pace);
        self.between = Some(std::mem::replace(&mut self.present, round));
    }

    /// Ends the round; `check_value` computes the check values of ids that were not seen. Without a round:
    /// an empty interval.
    pub(crate) fn close(&mut self, check_value: impl Fn(u64) -> u32) -> Interval {
        let Some(between) = self.between.take() else {
            return Interval::default();
        };
        let round = std::mem::replace(&mut self.present, between);
        round.add_to(&mut self.past);
        self.late.add_lateness(&round.tally);
        round.interval(check_value)
    }

    /// The summary since the start.
    pub(crate) fn summary(&self, capacity: u64) -> Summary {
        let mut sum = self.past.clone();
        let mut all = Tally::default();
        self.late.add_to(&mut sum);
        all.add_lateness(&self.late);
        for interval in [&self.present].into_iter().chain(&self.between) {
            interval.add_to(&mut sum);
            all.add_lateness(&interval.tally);
        }
        Summary {
            rounds: sum.rounds - u64::from(self.between.is_some()),
            cpu_ns: thread_cpu_ns(),
            uptime_ns: self.started.elapsed().as_nanos() as u64,
            lateness_p50_us: all.lateness_us(0.5),
            lateness_p99_us: all.lateness_us(0.99),
            capacity,
            ..sum
        }
    }
}

impl OpenInterval {
    fn new(number: u32, ids: Ids, named: bool, pace: Option<Pace>) -> OpenInterval {
        OpenInterval {
            number,
            tally: Tally::default(),
            ids,
            named,
            pace,
            cpu_at_start: thread_cpu_ns(),
        }
    }

    fn arrived(
        &mut self,
        entry: &mut ConnectionEntry,
        arrival: &Arrival,
        in_round: bool,
    ) -> Receipt {
        let item = arrival.item;
        let sighting = item.map(|(id, check_value)| self.ids.see(id, check_value));
        let foreign = sighting.is_none_or(|sighting| sighting.foreign);
        let belongs = in_round && !foreign;
        let receipt = Receipt {
            interval: self.number,
            item: item.is_some(),
            belongs,
            repeated: sighting.is_some_and(|sighting| sighting.repeated),
            stray: false,
            read: arrival.now,
            due: item.filter(|_| belongs).and_then(|(id, _)| self.due(id)),
            planned: Some(arrival.now),
        };
        self.tally.seen.foreign += u64::from(foreign && in_round);
        self.tally.seen.reused += u64::from(entry.carried > 0);
        entry.carried += 1;
        if belongs {
            self.passes(entry, arrival.now);
        }
        self.tally.arrived(arrival, receipt);
        receipt
    }

    /// When the request of an id is due, in a round at a rate.
    fn due(&self, id: u64) -> Option<Instant> {
        self.pace.as_ref()?.due(id.wrapping_sub(self.ids.first()))
    }

    /// Counts a request of the round for its connection.
    fn passes(&mut self, entry: &mut ConnectionEntry, now: Instant) {
        let tally = &mut self.tally;
        if entry.round == self.number {
            let last = entry.last.unwrap_or(now);
            tally
                .seen
                .cycles
                .record(now.saturating_duration_since(last));
        } else {
            entry.round = self.number;
            let opened = self.named && entry.since == self.number;
            tally.seen.connections_opened += u64::from(opened);
            tally.uses();
        }
        entry.last = Some(now);
        tally.last_read = Some(now);
    }

    /// Adds what it counted to the server's summary.
    fn add_to(&self, summary: &mut Summary) {
        self.tally.add_to(summary);
        summary.distinct += self.ids.distinct() + self.ids.distinct_foreign();
    }

    fn interval(self, check_value: impl Fn(u64) -> u32) -> Interval {
        let (ids, tally) = (self.ids, self.tally);
        Interval {
            first: ids.first(),
            count: ids.count(),
            distinct: ids.distinct(),
            expected_sum: ids.expected_sum(check_value),
            cpu_ns: thread_cpu_ns() - self.cpu_at_start,
            span_ns: tally.span_ns(),
            tail_ns: tally.tail_ns(),
            lateness_p50_us: tally.lateness_us(0.5),
            lateness_p99_us: tally.lateness_us(0.99),
            ..tally.seen
        }
    }
}

/// CPU time of the calling thread, in nanoseconds; 0 where the system has no such clock.
fn thread_cpu_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| Duration::from(time).as_nanos() as u64)
}
