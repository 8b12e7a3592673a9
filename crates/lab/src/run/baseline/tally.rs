//! Running totals of one `go`.

use std::collections::BTreeMap;
use std::time::Instant;

use super::pace::Pace;
use super::response::{Fault, Response, digits};
use crate::run::{Claim, Go, Verify};

/// Hands out ids and counts what becomes of them.
#[derive(Debug)]
pub struct Tally {
    first: u64,
    next: u64,
    end: u64,
    /// When requests are due; none where each follows the end of another.
    pace: Option<Pace>,
    lat_every: u64,
    until_timed: u64,
    verify: Verify,
    claim: Claim,
    faults: BTreeMap<Fault, u64>,
}

impl Tally {
    /// A tally of nothing.
    pub fn new(go: Go, verify: Verify) -> Tally {
        Tally {
            first: go.first,
            next: go.first,
            pace: None,
            end: go.first.saturating_add(go.count),
            lat_every: go.lat_every.max(1),
            until_timed: 0,
            verify,
            claim: Claim::default(),
            faults: BTreeMap::new(),
        }
    }

    /// Sets the pace of requests that are sent at a rate.
    pub fn paced(self, pace: Option<Pace>) -> Tally {
        Tally { pace, ..self }
    }

    /// Whether ids are left.
    pub fn is_left(&self) -> bool {
        self.next < self.end
    }

    /// When the next request is due; none at no rate, or if all are given out.
    pub fn next_due(&self) -> Option<Instant> {
        let pace = self.pace.as_ref().filter(|_| self.is_left())?;
        Some(pace.due(self.next - self.first))
    }

    /// The next id, and whether its request is to be timed; none when all are given out, or it is not yet due.
    pub fn take(&mut self) -> Option<(u64, bool)> {
        let early = self.next_due().is_some_and(|due| due > Instant::now());
        if early || !self.is_left() {
            return None;
        }
        let timed = self.until_timed == 0;
        self.until_timed = if timed {
            self.lat_every
        } else {
            self.until_timed
        } - 1;
        self.next += 1;
        Some((self.next - 1, timed))
    }

    /// Counts a response.
    pub fn responded(&mut self, response: &Response, started: Option<Instant>) {
        if !(200..300).contains(&response.status) {
            return self.failed("status");
        }
        if self.verify != Verify::None {
            let Some(check_value) = digits(&response.tail, 16) else {
                return self.failed("check value");
            };
            self.claim.sum = self.claim.sum.wrapping_add(check_value as u32);
        }
        self.claim.done += 1;
        self.claim.bytes += response.bytes;
        if let Some(started) = started {
            let micros = started.elapsed().as_micros();
            let us = u32::try_from(micros).unwrap_or(u32::MAX);
            self.claim.latencies_us.add(us, 1);
        }
    }

    /// Counts a failure.
    pub fn failed(&mut self, fault: Fault) {
        self.claim.errors += 1;
        *self.faults.entry(fault).or_default() += 1;
    }

    /// The claim, when all is done.
    pub fn into_claim(self) -> Claim {
        let errors_by = self
            .faults
            .into_iter()
            .map(|(fault, count)| (fault.to_string(), count))
            .collect();
        Claim {
            errors_by,
            ..self.claim
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kth_request_is_timed_from_the_first() {
        let mut tally = Tally::new(
            Go {
                first: 5,
                count: 5,
                lat_every: 2,
                ..Go::default()
            },
            Verify::Tail,
        );
        let taken: Vec<_> = std::iter::from_fn(|| tally.take()).collect();
        assert_eq!(
            taken,
            [(5, true), (6, false), (7, true), (8, false), (9, true)]
        );
    }

    #[test]
    fn check_values_are_summed_and_failures_counted_by_kind() {
        let mut tally = Tally::new(
            Go {
                first: 0,
                count: 4,
                lat_every: 1,
                ..Go::default()
            },
            Verify::Tail,
        );
        let response = Response {
            status: 200,
            bytes: 133,
            tail: *b"ffffffff",
            close: false,
        };
        tally.responded(&response, Some(Instant::now()));
        tally.responded(
            &Response {
                tail: *b"00000003",
                ..response
            },
            None,
        );
        tally.responded(
            &Response {
                tail: *b"no value",
                ..response
            },
            None,
        );
        tally.responded(
            &Response {
                status: 500,
                ..response
            },
            None,
        );
        let claim = tally.into_claim();
        assert_eq!(
            (claim.done, claim.errors, claim.bytes, claim.sum),
            (2, 2, 266, 2)
        );
        assert_eq!(
            claim.errors_by,
            [("status".to_string(), 1), ("check value".to_string(), 1)].into()
        );
        assert_eq!(claim.latencies_us.len(), 1);
    }
}
