//! A sweep, checked: everything that the plan needs to know, and nothing that could still be wrong.

use std::time::Duration;

use hecaton_test_server::Delay;
use serde::{Deserialize, Serialize};

use super::{Ability, Approach, Catalogue, Cell, Control, Manifest, SweepScenario, Target, Usage};

/// The baseline loader's name as a client.
pub const BASELINE_LOADER: &str = "baseline-loader";

/// Fewest bytes of a body: the check value takes them all.
const SMALLEST_BODY: usize = 8;

/// Most bytes of a body: the test server keeps one copy in memory, and so does every client for each request.
const LARGEST_BODY: usize = 64 << 20;

/// A user's request; absent values come from the scenario.
#[derive(Clone, Debug, Default)]
pub struct SweepRequest {
    /// Names of clients; empty means those of the scenario.
    pub clients: Vec<String>,
    /// Requests in flight; empty means those of the scenario.
    pub concurrency: Vec<usize>,
    /// Sizes of bodies; empty means those of the scenario.
    pub body_bytes: Vec<usize>,
    /// The test server's delay.
    pub delay: Option<Delay>,
    /// Rounds of every cell.
    pub rounds: Option<u32>,
    /// Length of a round.
    pub round_time: Option<Duration>,
    /// Seed of the order and of the delays.
    pub seed: Option<u64>,
    /// A server other than the lab's test server.
    pub foreign: Option<Target>,
}

/// How a client processes each response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Reads the body, and the check value at its end.
    #[default]
    Plain,
    /// Parses a JSON document of 16 KB, and finds the check value in it by its key.
    Json,
    /// Decodes a body in gzip, and reads the check value at its end.
    Gzip,
}

impl Job {
    /// Whether it is the one of a sweep, which documents leave out.
    pub fn is_plain(&self) -> bool {
        *self == Job::Plain
    }
}

/// One sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The clients, without the baseline loader.
    pub clients: Vec<Manifest>,
    /// Requests in flight, ascending, each once.
    pub concurrency: Vec<usize>,
    /// Exactly what is measured, where that is no grid; empty for every concurrency with every body.
    pub cells: Vec<Cell>,
    /// Cells that measure the run itself, besides the others.
    pub controls: Vec<Cell>,
    /// Sizes of bodies, ascending, each once; a single 0 when the server is not ours.
    pub body_bytes: Vec<usize>,
    /// Whether connections are kept: both ways when both are here. A client that cannot keep them is measured with
    /// a new one for each request, whatever is asked.
    pub keepalive: Vec<bool>,
    /// How each response is processed. The baseline loader parses and decodes nothing: it reads plain bodies of the
    /// same size instead of documents and of those in gzip.
    pub job: Job,
    /// Requests of a client's round; none for as many as fill its time. The baseline loader's always fill it.
    pub requests: Option<u64>,
    /// Whether the test server uses TLS.
    pub tls: bool,
    /// Whether the baseline loader takes part.
    pub baseline_loader: bool,
    /// The test server's delay; none when the server is not ours.
    pub delay: Delay,
    /// Rounds of every cell, which is also the number of blocks.
    pub rounds: u32,
    /// Processes of every client, at most one for each block.
    pub invocations: u32,
    /// How long a round should last.
    pub round_time: Duration,
    /// Unmeasured work of a new process.
    pub warm_up: Duration,
    /// Seed of the order and of the delays.
    pub seed: u64,
    /// Where requests go.
    pub target: Target,
}

impl Sweep {
    /// Fills what was not asked from the scenario, and checks the whole.
    ///
    /// # Errors
    /// [`Usage`], one sentence with what to do.
    pub fn new(
        request: SweepRequest,
        scenario: &SweepScenario,
        catalogue: &Catalogue,
    ) -> Result<Sweep, Usage> {
        let names = or_default(request.clients, &scenario.clients);
        let target = request.foreign.unwrap_or(Target::TestServer);
        let rounds = request.rounds.unwrap_or(scenario.rounds);
        if rounds == 0 {
            return Err(Usage(
                "0 rounds measure nothing; choose at least 1, or 6 for confidence intervals".into(),
            ));
        }
        let concurrency = ascending(or_default(request.concurrency, &scenario.concurrency));
        check_concurrency(&concurrency, &target)?;
        let (body_bytes, delay) = match target {
            Target::TestServer => (
                checked_bodies(or_default(request.body_bytes, &scenario.body_bytes))?,
                request.delay.unwrap_or(scenario.delay),
            ),
            Target::Foreign { .. } => (vec![0], Delay::None),
        };
        let sweep = Sweep {
            clients: find_clients(&names, catalogue)?,
            concurrency,
            body_bytes,
            cells: Vec::new(),
            controls: Vec::new(),
            keepalive: scenario.keepalive.clone(),
            job: scenario.job,
            requests: None,
            tls: scenario.tls,
            baseline_loader: scenario.baseline_loader,
            delay,
            rounds,
            invocations: scenario.invocations.clamp(1, rounds),
            round_time: request
                .round_time
                .unwrap_or(Duration::from_secs_f64(scenario.round_seconds)),
            warm_up: Duration::from_secs_f64(scenario.warm_up_seconds),
            seed: request.seed.unwrap_or_else(rand::random),
            target,
        };
        let twice = sweep.cell_for_twice(None);
        Ok(sweep.with_controls(twice))
    }

    /// Names of all that are measured, the baseline loader included when it takes part.
    pub fn client_names(&self) -> Vec<String> {
        let clients = self.clients.iter().map(|manifest| manifest.client.clone());
        let loader = self.baseline_loader.then(|| BASELINE_LOADER.to_string());
        clients.chain(loader).collect()
    }

    /// How a client's connections are used, one cell each: kept (true), or a new one for each request (false).
    pub fn ways_to_connect(&self, client: &str) -> Vec<bool> {
        if client == BASELINE_LOADER {
            return vec![true]; // the loader reuses connections, whatever the others do
        }
        if !self.cells.is_empty() {
            let mut ways: Vec<bool> = self.cells_of(client).map(|cell| cell.keepalive).collect();
            ways.sort_unstable_by(|a, b| b.cmp(a));
            ways.dedup();
            return ways;
        }
        let forgets = |manifest: &Manifest| !manifest.can.contains(&Ability::KeepAlive);
        let mut clients = self.clients.iter();
        match clients.any(|known| known.client == client && forgets(known)) {
            true => vec![false],
            false => self.keepalive.clone(),
        }
    }

    /// Whether a name is that of a load generator, which is shown for reference alone.
    pub fn is_reference(&self, client: &str) -> bool {
        let reference = |known: &Manifest| known.approach == Approach::Reference;
        self.clients
            .iter()
            .any(|known| known.client == client && reference(known))
    }

    /// The cells of one client, where the sweep is no grid, or the client takes part a second time.
    pub fn cells_of(&self, client: &str) -> impl Iterator<Item = &Cell> {
        let again = |cell: &&Cell| cell.overrides.control == Some(Control::Again);
        let cells = self.cells.iter().chain(self.controls.iter().filter(again));
        cells.filter(move |cell| cell.client == client)
    }

    /// Whether the test server uses TLS to a client in any of its cells.
    pub fn speaks_tls_to(&self, client: &str) -> bool {
        let speaks = |cell: &Cell| cell.overrides.tls.unwrap_or(self.tls);
        self.target.is_test_server()
            && match self.cells.is_empty() {
                true => self.tls,
                false => self.cells_of(client).any(speaks),
            }
    }

    /// Most requests in flight in any cell of one client.
    pub fn highest_concurrency_of(&self, client: &str) -> usize {
        let own = self.cells_of(client).map(|cell| cell.concurrency).max();
        own.unwrap_or_else(|| self.highest_concurrency())
    }

    /// Most requests in flight in any cell.
    pub fn highest_concurrency(&self) -> usize {
        self.concurrency.last().copied().unwrap_or(1)
    }
}

fn or_default<T: Clone>(asked: Vec<T>, default: &[T]) -> Vec<T> {
    if asked.is_empty() {
        default.to_vec()
    } else {
        asked
    }
}

fn ascending(mut values: Vec<usize>) -> Vec<usize> {
    values.sort_unstable();
    values.dedup();
    values
}

pub(super) fn find_clients(
    names: &[String],
    catalogue: &Catalogue,
) -> Result<Vec<Manifest>, Usage> {
    let mut clients: Vec<Manifest> = Vec::new();
    for name in names {
        if name != BASELINE_LOADER && !clients.iter().any(|known| known.client == *name) {
            let manifest = catalogue.find(name)?;
            if !manifest.can.contains(&Ability::Http1) {
                return Err(Usage(format!(
                    "{name} cannot be swept: it must be able to do {}",
                    Ability::Http1
                )));
            }
            clients.push(manifest.clone());
        }
    }
    Ok(clients)
}

fn check_concurrency(concurrency: &[usize], target: &Target) -> Result<(), Usage> {
    if concurrency.first() == Some(&0) {
        return Err(Usage("concurrency 0 sends nothing; the lowest is 1".into()));
    }
    let highest = concurrency.last().copied().unwrap_or(1) as u64;
    if let Target::Foreign { requests, .. } = target
        && *requests < highest
    {
        return Err(Usage(format!(
            "a round of {requests} cannot keep {highest} requests in flight; choose more REQUESTS or a lower --concurrency"
        )));
    }
    Ok(())
}

pub(super) fn checked_bodies(body_bytes: Vec<usize>) -> Result<Vec<usize>, Usage> {
    for &bytes in &body_bytes {
        if bytes < SMALLEST_BODY {
            return Err(Usage(format!(
                "a body of {bytes} bytes has no room for the check value that proves that it was read; use {SMALLEST_BODY} or more"
            )));
        }
        if bytes > LARGEST_BODY {
            return Err(Usage(format!(
                "a body of {bytes} bytes is too large; at most {LARGEST_BODY} is possible"
            )));
        }
    }
    Ok(ascending(body_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> SweepScenario {
        SweepScenario {
            clients: vec![],
            concurrency: vec![1, 10],
            body_bytes: vec![133],
            keepalive: vec![true],
            job: Job::Plain,
            tls: false,
            baseline_loader: true,
            delay: Delay::None,
            rounds: 6,
            invocations: 3,
            round_seconds: 0.2,
            warm_up_seconds: 0.0,
        }
    }

    fn build(request: SweepRequest) -> Result<Sweep, Usage> {
        Sweep::new(request, &scenario(), &Catalogue::default())
    }

    fn foreign(requests: u64) -> Option<Target> {
        Some(Target::Foreign {
            method: "GET".into(),
            url: "http://127.0.0.1/".into(),
            requests,
        })
    }

    #[test]
    fn what_was_asked_wins_over_the_scenario() {
        let sweep = build(SweepRequest {
            concurrency: vec![40, 1, 40],
            rounds: Some(2),
            seed: Some(7),
            ..SweepRequest::default()
        })
        .unwrap();
        assert_eq!(sweep.concurrency, [1, 40]);
        assert_eq!(sweep.body_bytes, [133]);
        assert_eq!((sweep.rounds, sweep.invocations, sweep.seed), (2, 2, 7));
        assert_eq!(sweep.client_names(), [BASELINE_LOADER]);
    }

    #[test]
    fn a_client_that_cannot_keep_connections_is_measured_as_it_can() {
        let client = |name: &str, can: &[Ability]| Manifest {
            client: name.into(),
            can: can.to_vec(),
            ..Manifest::baseline_loader(std::path::Path::new("hecaton"))
        };
        let sweep = Sweep {
            clients: vec![
                client("keeps", &[Ability::Http1, Ability::KeepAlive]),
                client("forgets", &[Ability::Http1]),
            ],
            keepalive: vec![true, false],
            ..build(SweepRequest::default()).unwrap()
        };
        assert_eq!(sweep.ways_to_connect("keeps"), [true, false]);
        assert_eq!(sweep.ways_to_connect("forgets"), [false]);
        assert_eq!(sweep.ways_to_connect(BASELINE_LOADER), [true]);
    }

    #[test]
    fn a_foreign_server_has_no_body_size_and_no_delay() {
        let sweep = build(SweepRequest {
            foreign: foreign(500),
            ..SweepRequest::default()
        })
        .unwrap();
        assert_eq!(sweep.body_bytes, [0]);
        assert!(matches!(sweep.delay, Delay::None));
    }

    #[test]
    fn refuses_with_a_sentence() {
        let cases = [
            (
                SweepRequest {
                    concurrency: vec![0, 5],
                    ..Default::default()
                },
                "concurrency 0",
            ),
            (
                SweepRequest {
                    body_bytes: vec![7],
                    ..Default::default()
                },
                "no room for the check value",
            ),
            (
                SweepRequest {
                    body_bytes: vec![1 << 40],
                    ..Default::default()
                },
                "too large",
            ),
            (
                SweepRequest {
                    rounds: Some(0),
                    ..Default::default()
                },
                "0 rounds",
            ),
            (
                SweepRequest {
                    clients: vec!["nobody".into()],
                    ..Default::default()
                },
                "no client is called",
            ),
            (
                SweepRequest {
                    foreign: foreign(9),
                    ..Default::default()
                },
                "a round of 9 cannot keep 10 requests in flight",
            ),
        ];
        for (request, words) in cases {
            let error = build(request).unwrap_err();
            assert!(error.0.contains(words), "{error}");
        }
    }
}
