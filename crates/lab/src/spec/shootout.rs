//! A shootout, checked: many clients, one job, equally many requests for each.

use anyhow::Result;
use hecaton_test_server::Delay;
use serde::Deserialize;

use super::scenario::read;
use super::sweep::{Timing, as_it_can, find_clients, possible};
use super::{
    BASELINE_LOADER, Catalogue, Cell, Job, Levels, Load, Manifest, Project, Sweep, Target, Usage,
};

/// How many seconds the baseline loader's rounds last; a client's are as long as its requests take.
const LOADER_ROUND: f64 = 0.2;

/// `scenarios/bench/shootout.toml`. Every key is required: defaults live in that file alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShootoutScenario {
    /// How each response is processed.
    pub job: Job,
    /// Bytes of the body of a plain response.
    pub body_bytes: usize,
    /// Requests to keep in flight.
    pub concurrency: usize,
    /// Requests of each client, all rounds together.
    pub requests: u64,
    /// The client whose speed the others' are divided by.
    pub baseline: String,
    /// Measured rounds of every client, one in each block.
    pub rounds: u32,
    /// Processes of every client.
    #[serde(alias = "launches")]
    pub invocations: u32,
    /// Unmeasured work of every new process, in seconds.
    pub warm_up_seconds: f64,
}

impl ShootoutScenario {
    /// Reads the scenario of the project.
    ///
    /// # Errors
    /// A sentence that names the file and, for a wrong value, the key.
    pub fn load(project: &Project) -> Result<ShootoutScenario> {
        read(project, "scenarios/bench/shootout.toml", "a shootout")
    }
}

/// A user's request; absent values come from the scenario.
#[derive(Clone, Debug, Default)]
pub struct ShootoutRequest {
    /// Names of clients, at least one.
    pub clients: Vec<String>,
    /// Requests to keep in flight.
    pub concurrency: Option<usize>,
    /// Requests of each client.
    pub requests: Option<u64>,
    /// The test server's delay; none when absent.
    pub delay: Option<Delay>,
    /// The other factors that do not have their usual value, with one value each.
    pub levels: Vec<Levels>,
    /// A server other than the lab's test server.
    pub foreign: Option<Target>,
    /// Rounds of every client.
    pub rounds: Option<u32>,
    /// Seed of the order and of the delays.
    pub seed: Option<u64>,
}

impl ShootoutScenario {
    /// The shootout as a sweep, with one cell for each client.
    ///
    /// # Errors
    /// [`Usage`], one sentence with what to do.
    pub fn sweep(&self, request: ShootoutRequest, catalogue: &Catalogue) -> Result<Sweep, Usage> {
        let rounds = request.rounds.unwrap_or(self.rounds);
        let usual = self.usual(&request, rounds)?;
        let clients = find_clients(&request.clients, catalogue)?;
        let own = |client: &Manifest| Cell::new(&client.client, as_it_can(client, usual));
        let mut cells: Vec<Cell> = clients.iter().map(own).collect();
        // The loader cannot do TLS.
        if !usual.tls {
            cells.push(Cell::new(BASELINE_LOADER, usual.of_loader()));
        }
        let timing = Timing {
            rounds,
            invocations: self.invocations,
            round_seconds: LOADER_ROUND,
            warm_up_seconds: self.warm_up_seconds,
        };
        let mut sweep = Sweep::of(cells, clients, usual, timing, request.seed);
        sweep.target = request.foreign.unwrap_or(Target::TestServer);
        let twice = sweep.cell_for_twice(Some(&self.baseline));
        Ok(sweep.with_controls(twice))
    }

    /// The load of all clients, whose requests are divided among the rounds.
    fn usual(&self, request: &ShootoutRequest, rounds: u32) -> Result<Load, Usage> {
        let concurrency = request.concurrency.unwrap_or(self.concurrency);
        let requests = request.requests.unwrap_or(self.requests);
        for (what, number) in [
            ("rounds", u64::from(rounds)),
            ("requests", requests),
            ("requests in flight", concurrency as u64),
        ] {
            if number == 0 {
                return Err(Usage(format!(
                    "with 0 {what} nothing is measured; choose at least 1"
                )));
            }
        }
        let (body_bytes, job) = match request.foreign {
            None => (self.body_bytes, self.job),
            Some(_) => (0, Job::Plain),
        };
        let usual = Load {
            body_bytes,
            concurrency,
            delay: request.delay.unwrap_or(Delay::None),
            requests: Some(requests.div_ceil(u64::from(rounds))),
            job,
            ..Load::PLAIN
        };
        Levels::each_once(&request.levels)?;
        let mut levels = request.levels.iter();
        let requested = levels.try_fold(usual, |load, levels| levels.only(&load))?;
        let target = request.foreign.as_ref().unwrap_or(&Target::TestServer);
        possible(&requested, &usual, target)?;
        Ok(requested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> ShootoutScenario {
        ShootoutScenario::load(&Project::built_in()).unwrap()
    }

    #[test]
    fn requests_are_shared_out_among_the_rounds() {
        let request = ShootoutRequest {
            requests: Some(100),
            rounds: Some(12),
            ..Default::default()
        };
        let sweep = scenario().sweep(request, &Catalogue::default()).unwrap();
        assert_eq!(sweep.usual.requests, Some(9)); // 108 in all: rather too many than too few
        assert_eq!((sweep.invocations, sweep.usual.job), (6, Job::Json));
    }

    #[test]
    fn nothing_can_be_measured_with_nothing() {
        let request = ShootoutRequest {
            requests: Some(0),
            ..Default::default()
        };
        let error = scenario()
            .sweep(request, &Catalogue::default())
            .unwrap_err();
        assert!(error.0.contains("0 requests"), "{error}");
    }
}
