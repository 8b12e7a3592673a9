//! What shows how a client works: the probe before a round, and the proof beside it.

use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_test_server::{Delay, Interim, Interval, RoundSpec};

use super::length::Length;
use super::requests::drawn;
use super::{Cell, Driver, Proof, Round, Runner};
use crate::plan::{ROUNDS_OF_A_PROOF, Trial};
use crate::run::held::Held;
use crate::run::noise::nanoseconds;

/// Most responses of a proof that are cut in two on each connection. They take a millisecond each.
const MOST_CUTS: u64 = 100;

impl Runner<'_> {
    /// Prepares, and probes the concurrency. Batches are many and short, so only the first trial of a cell in each
    /// invocation has a probe. Before the others, one wave opens the connections.
    pub(super) fn probe(&mut self, driver: &mut Driver, trial: &Trial) -> Result<Option<Interval>> {
        let cell = &trial.cell;
        if self.sweep.is_reference(&cell.client) {
            driver.prepare(&self.preparation(cell))?;
            return Ok(None);
        }
        let first = self.proven.insert((cell.clone(), trial.invocation));
        if first || cell.load.mode.is_none() {
            return self.prove(driver, cell).map(Some);
        }
        driver.prepare(&self.preparation(cell))?;
        self.rehearse(driver, cell, cell.load.concurrency as u64)?;
        Ok(None)
    }

    /// Prepares, and shows by held responses how many requests the client really keeps in flight.
    fn prove(&mut self, driver: &mut Driver, cell: &Cell) -> Result<Interval> {
        let count = 2 * cell.load.concurrency as u64;
        let go = drawn(count);
        // The round is open before the driver prepares, so that a request which is sent too early is seen.
        let round = RoundSpec {
            delay: Delay::None,
            round_trip: Duration::ZERO,
            gate: Some(cell.load.concurrency),
            ..self.measured_round(cell, go.first, count, 0)
        };
        self.servers.open(cell, round);
        driver.prepare(&self.preparation(cell))?;
        let mut open = || self.servers.open_gate(cell);
        driver.go_held(go, Duration::from_secs(1), Held::by(&mut open))?;
        let seen = self.servers.close(cell).unwrap_or_default();
        self.servers.check()?;
        Ok(seen)
    }

    /// Measures a round. Perhaps a proof comes before or after it: a driver cannot tell which of the two is measured.
    pub(super) fn measure_and_prove(
        &mut self,
        driver: &mut Driver,
        trial: &Trial,
        length: &Length,
        probe: Option<Interval>,
    ) -> Result<Round> {
        let is_due = self.is_proof_due(&trial.cell, probe.as_ref());
        let is_first = rand::random();
        let mut proof = None;
        if is_due && is_first {
            proof = Some(self.try_all(driver, trial, length)?);
        }
        let mut round = self.measure(driver, trial, length, probe)?;
        if is_due && !is_first {
            proof = Some(self.try_all(driver, trial, length)?);
        }
        round.proof = proof.map(Box::new);
        Ok(round)
    }

    /// Whether a round has a proof: the first of a cell, and of the others those that chance says. A client that had too few in
    /// flight in the probe is rejected for that, and would wait at every response.
    fn is_proof_due(&mut self, cell: &Cell, probe: Option<&Interval>) -> bool {
        let whole = |probe: &Interval| probe.peak_in_flight >= cell.load.concurrency as u64;
        let is_first = self.tried.insert(cell.clone());
        probe.is_some_and(whole) && (is_first || rand::random_bool(1.0 / ROUNDS_OF_A_PROOF))
    }

    /// A proof: a round like a measured one, in which the server tries every response.
    fn try_all(&mut self, driver: &mut Driver, trial: &Trial, length: &Length) -> Result<Proof> {
        let begun = Instant::now();
        let (cell, count) = (&trial.cell, length.count);
        let (go, round) = self.begin(trial, length);
        let connections = cell.load.concurrency as u64;
        let reads_interim = self.interim.get(cell.first_name()) == Some(&true);
        let round = RoundSpec {
            // At a rate, nothing says how many are in flight.
            gate: round.pace.is_none().then_some(cell.load.concurrency),
            // A cut response is not held, so as many others are left as are to be in flight at once.
            cuts: (count / 2)
                .min(MOST_CUTS * connections)
                .min(count.saturating_sub(connections)),
            varied: count,
            interim: match reads_interim {
                true => Interim::Varied,
                false => Interim::Never,
            },
            ..round
        };
        self.servers.open(cell, round);
        let mut open = || self.servers.open_gate(cell);
        let expected = length.expected + Duration::from_secs(1);
        let (claim, wall) = driver.go_held(go, expected, Held::by(&mut open))?;
        let seen = self.servers.close(cell).unwrap_or_default();
        self.servers.check()?;
        self.shown.proofs.add(begun.elapsed());
        Ok(Proof {
            wall_ns: nanoseconds(wall),
            claim,
            seen,
        })
    }
}
