//! A sweep, checked: everything that the plan needs to know, and nothing that could still be wrong.

use std::time::Duration;

use super::{
    Ability, Approach, Budget, Catalogue, Cell, Control, Factor, Levels, Load, Manifest, Rate,
    SweepScenario, Target, Usage,
};
use hecaton_test_server::Delay;
use serde::Deserialize;

/// The baseline loader's name as a client.
pub const BASELINE_LOADER: &str = "baseline-loader";

/// Fewest bytes of a body: those of the check value.
const SMALLEST_BODY: usize = 8;

/// Most bytes of a body: the test server keeps one copy in memory, and so does every client for each request.
const LARGEST_BODY: usize = 64 << 20;

/// A sweep as a user describes it. Absent values come from the scenario, `scenarios/bench/sweep.toml`.
#[derive(Clone, Debug, Default)]
pub struct SweepRequest {
    /// Names of clients; empty means those of the scenario.
    pub clients: Vec<String>,
    /// Requests in flight; empty means those of the scenario.
    pub concurrency: Vec<usize>,
    /// Rates at which requests are sent; empty means the closed loop.
    pub rates: Vec<Rate>,
    /// The limits that the recommendation must keep.
    pub budget: Budget,
    /// Sizes of bodies; empty means those of the scenario.
    pub body_bytes: Vec<usize>,
    /// The test server's delay.
    pub delay: Option<Delay>,
    /// Values of other factors; each value of one is measured with each of the others.
    pub levels: Vec<Levels>,
    /// Rounds of every cell.
    pub rounds: Option<u32>,
    /// Length of a round.
    pub round_time: Option<Duration>,
    /// Seed of the order and of the delays.
    pub seed: Option<u64>,
    /// A server other than the lab's test server.
    pub foreign: Option<Target>,
}

/// One sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The clients, without the baseline loader.
    pub clients: Vec<Manifest>,
    /// The cells that are measured, the baseline loader's included.
    pub cells: Vec<Cell>,
    /// Cells that measure the run itself, besides the others.
    pub controls: Vec<Cell>,
    /// The usual load: what cells need not repeat.
    pub usual: Load,
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
    /// The limits that the recommendation must keep.
    pub budget: Budget,
    /// Where requests go.
    pub target: Target,
}

/// How long rounds last, and how many there are.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Timing {
    /// Measured rounds of every cell, one in each block.
    pub rounds: u32,
    /// Processes of every client.
    #[serde(alias = "launches")]
    pub invocations: u32,
    /// How long a round lasts, in seconds.
    pub round_seconds: f64,
    /// Unmeasured work of every new process, in seconds.
    pub warm_up_seconds: f64,
}

impl Timing {
    /// The same with so many rounds, if somebody said how many.
    pub(super) fn of(self, rounds: Option<u32>) -> Timing {
        Timing {
            rounds: rounds.unwrap_or(self.rounds),
            ..self
        }
    }
}

/// The default of `--concurrency` at a rate: enough for slow responses, and not too many for a client that needs a
/// thread for each.
const CONNECTIONS_AT_A_RATE: usize = 50;

impl Sweep {
    /// Fills in what was not given from the scenario, and checks the whole.
    ///
    /// # Errors
    /// [`Usage`], one sentence with what to do.
    pub fn new(
        request: SweepRequest,
        scenario: &SweepScenario,
        catalogue: &Catalogue,
    ) -> Result<Sweep, Usage> {
        let target = request.foreign.clone().unwrap_or(Target::TestServer);
        let rounds = checked_rounds(request.rounds.unwrap_or(scenario.rounds))?;
        let axes = Axes::new(&request, scenario, &target)?;
        let names = or_default(&request.clients, &scenario.clients);
        let clients = find_clients(&names, catalogue)?;
        let cells = axes.cells(&clients, scenario.baseline_loader);
        let timing = Timing {
            rounds,
            invocations: scenario.invocations,
            round_seconds: scenario.round_seconds,
            warm_up_seconds: scenario.warm_up_seconds,
        };
        let sweep = Sweep::of(cells, clients, axes.usual, timing, request.seed);
        let sweep = Sweep {
            round_time: request.round_time.unwrap_or(sweep.round_time),
            budget: request.budget,
            target,
            ..sweep
        };
        let twice = sweep.cell_for_twice(None);
        Ok(sweep.with_controls(twice))
    }

    /// These cells of these clients at the lab's server, without a budget and without controls. A seed is drawn if there
    /// is none.
    pub(super) fn of(
        cells: Vec<Cell>,
        clients: Vec<Manifest>,
        usual: Load,
        timing: Timing,
        seed: Option<u64>,
    ) -> Sweep {
        Sweep {
            clients,
            cells,
            controls: Vec::new(),
            usual,
            rounds: timing.rounds,
            invocations: timing.invocations.clamp(1, timing.rounds),
            round_time: Duration::from_secs_f64(timing.round_seconds),
            warm_up: Duration::from_secs_f64(timing.warm_up_seconds),
            seed: seed.unwrap_or_else(rand::random),
            budget: Budget::default(),
            target: Target::TestServer,
        }
    }

    /// Names of all that are measured, the baseline loader included when it takes part.
    pub fn client_names(&self) -> Vec<String> {
        let clients = self.clients.iter().map(|manifest| manifest.client.clone());
        let loader = self
            .has_baseline_loader()
            .then(|| BASELINE_LOADER.to_string());
        clients.chain(loader).collect()
    }

    /// Whether the baseline loader takes part.
    pub fn has_baseline_loader(&self) -> bool {
        self.cells.iter().any(|cell| cell.client == BASELINE_LOADER)
    }

    /// Whether a name is that of a load generator, which is shown for reference alone.
    pub fn is_reference(&self, client: &str) -> bool {
        let reference = |known: &Manifest| known.approach == Approach::Reference;
        self.clients
            .iter()
            .any(|known| known.client == client && reference(known))
    }

    /// The cells of a client, or of a client that takes part a second time as a control.
    pub fn cells_of(&self, client: &str) -> impl Iterator<Item = &Cell> {
        let again = |cell: &&Cell| cell.control == Some(Control::Again);
        let cells = self.cells.iter().chain(self.controls.iter().filter(again));
        cells.filter(move |cell| cell.client == client)
    }

    /// Most requests in flight in any cell of one client.
    pub fn highest_concurrency_of(&self, client: &str) -> usize {
        let own = self.cells_of(client).map(|cell| cell.load.concurrency);
        own.max().unwrap_or_else(|| self.highest_concurrency())
    }

    /// Most requests in flight in any cell.
    pub fn highest_concurrency(&self) -> usize {
        self.concurrency().last().copied().unwrap_or(1)
    }

    /// Requests in flight of all cells, ascending, each once.
    pub fn concurrency(&self) -> Vec<usize> {
        let own = self.cells.iter().map(|cell| cell.load.concurrency);
        ascending(own.collect())
    }

    /// Sizes of bodies of all cells, ascending, each once; a single 0 when the server is not ours.
    pub fn body_bytes(&self) -> Vec<usize> {
        let own = self.cells.iter().map(|cell| cell.load.body_bytes);
        ascending(own.collect())
    }
}

/// The closed loop, or each rate once.
fn paces(rates: &[Rate]) -> Vec<Option<Rate>> {
    let mut paces: Vec<Option<Rate>> = rates.iter().copied().map(Some).collect();
    paces.sort_unstable();
    paces.dedup();
    if paces.is_empty() {
        paces.push(None);
    }
    paces
}

/// The values that all clients are measured at.
struct Axes {
    usual: Load,
    rates: Vec<Option<Rate>>,
    loads: Vec<Load>,
    body_bytes: Vec<usize>,
    concurrency: Vec<usize>,
}

impl Axes {
    /// The values that were requested, and else those of the scenario.
    fn new(
        request: &SweepRequest,
        scenario: &SweepScenario,
        target: &Target,
    ) -> Result<Axes, Usage> {
        let usual_concurrency = match request.rates.is_empty() {
            true => &scenario.concurrency[..],
            false => &[CONNECTIONS_AT_A_RATE],
        };
        let concurrency = ascending(or_default(&request.concurrency, usual_concurrency));
        check_concurrency(&concurrency, target)?;
        let (body_bytes, delay) = match target {
            Target::TestServer => (
                checked_bodies(or_default(&request.body_bytes, &scenario.body_bytes))?,
                request.delay.unwrap_or(scenario.delay),
            ),
            Target::Foreign { .. } => (vec![0], Delay::None),
        };
        let usual = Load {
            delay,
            tls: scenario.tls,
            http2: scenario.http2,
            job: scenario.job,
            ..Load::PLAIN
        };
        Ok(Axes {
            usual,
            rates: paces(&request.rates),
            loads: every_load(&usual, &scenario.keepalive, &request.levels, target)?,
            body_bytes,
            concurrency,
        })
    }

    /// The cells of these clients, and of the baseline loader if it takes part.
    fn cells(&self, clients: &[Manifest], with_loader: bool) -> Vec<Cell> {
        let loads = self.loads.iter();
        // The loader cannot do TLS.
        let of_loader = loads.filter(|load| !load.tls).map(|load| load.of_loader());
        let of_loader = distinct(of_loader.filter(|_| with_loader));
        let mut cells = Vec::new();
        for rate in &self.rates {
            for client in clients {
                let loads = self.loads.iter().map(|load| as_it_can(client, *load));
                cells.extend(self.grid(&client.client, *rate, &distinct(loads)));
            }
            cells.extend(self.grid(BASELINE_LOADER, *rate, &of_loader));
        }
        cells
    }

    /// The cells of a client: each of these loads with each body and each concurrency.
    fn grid(&self, client: &str, rate: Option<Rate>, loads: &[Load]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for own in loads {
            for &body_bytes in &self.body_bytes {
                for &concurrency in &self.concurrency {
                    let load = Load {
                        rate,
                        body_bytes,
                        concurrency,
                        ..*own
                    };
                    cells.push(Cell::new(client, load));
                }
            }
        }
        cells
    }
}

/// The loads of a sweep, apart from body, concurrency and rate: the usual one with each combination of what was
/// requested.
fn every_load(
    usual: &Load,
    keepalive: &[bool],
    levels: &[Levels],
    target: &Target,
) -> Result<Vec<Load>, Usage> {
    let with = |&keepalive: &bool| Load {
        keepalive,
        ..*usual
    };
    Levels::each_once(levels)?;
    let mut loads: Vec<Load> = keepalive.iter().map(with).collect();
    for levels in levels {
        loads = levels.applied_to(&loads);
    }
    let loads = distinct(loads.into_iter());
    for load in &loads {
        possible(load, usual, target)?;
    }
    Ok(loads)
}

/// Refuses a load that contradicts itself, or needs the lab's server where another one is measured.
pub(super) fn possible(load: &Load, usual: &Load, target: &Target) -> Result<(), Usage> {
    if !target.is_test_server() && load.of_server() != usual.of_server() {
        return Err(Usage(Factor::only_of_the_lab()));
    }
    load.contradiction()
        .map_or(Ok(()), |why| Err(Usage(why.into())))
}

/// The part of a load that a client can do: where it cannot reuse connections, it opens a new one for each request.
pub(super) fn as_it_can(client: &Manifest, load: Load) -> Load {
    let keepalive = load.keepalive && client.can.contains(&Ability::KeepAlive);
    Load { keepalive, ..load }
}

/// Each once, in their order.
fn distinct(loads: impl Iterator<Item = Load>) -> Vec<Load> {
    let mut distinct = Vec::new();
    for load in loads {
        if !distinct.contains(&load) {
            distinct.push(load);
        }
    }
    distinct
}

fn or_default<T: Clone>(requested: &[T], default: &[T]) -> Vec<T> {
    match requested.is_empty() {
        true => default.to_vec(),
        false => requested.to_vec(),
    }
}

fn ascending(mut values: Vec<usize>) -> Vec<usize> {
    values.sort_unstable();
    values.dedup();
    values
}

pub(super) fn checked_rounds(rounds: u32) -> Result<u32, Usage> {
    let why = "0 rounds measure nothing; choose at least 1, or 6 for confidence intervals";
    match rounds {
        0 => Err(Usage(why.into())),
        rounds => Ok(rounds),
    }
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
        && (1..highest).contains(requests)
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
                "a body of {bytes} bytes is too short for the check value that proves that it was read; use {SMALLEST_BODY} or more"
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
            job: super::super::Job::Plain,
            tls: false,
            http2: false,
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
            extras: Default::default(),
        })
    }

    #[test]
    fn options_win_over_the_scenario() {
        let sweep = build(SweepRequest {
            concurrency: vec![40, 1, 40],
            rounds: Some(2),
            seed: Some(7),
            ..SweepRequest::default()
        })
        .unwrap();
        assert_eq!(sweep.concurrency(), [1, 40]);
        assert_eq!(sweep.body_bytes(), [133]);
        assert_eq!((sweep.rounds, sweep.invocations, sweep.seed), (2, 2, 7));
        assert_eq!(sweep.client_names(), [BASELINE_LOADER]);
    }

    #[test]
    fn a_client_that_cannot_keep_connections_is_measured_as_it_can() {
        let folder = tempfile::tempdir().unwrap();
        for (name, can) in [("keeps", "'http1', 'keep-alive'"), ("forgets", "'http1'")] {
            let text = format!(
                "client = '{name}'\nlanguage = 'sh'\nhomepage = ''\napproach = 'tuned'\ncan = [{can}]\nrun = ['true']\nversion = ['true']"
            );
            std::fs::write(folder.path().join(format!("{name}.toml")), text).unwrap();
        }
        let catalogue = Catalogue::load(folder.path()).unwrap();
        let scenario = SweepScenario {
            clients: vec!["keeps".into(), "forgets".into()],
            keepalive: vec![true, false],
            ..scenario()
        };
        let sweep = Sweep::new(SweepRequest::default(), &scenario, &catalogue).unwrap();
        let connects = |client: &str, keepalive: bool| {
            let mut cells = sweep.cells_of(client);
            cells.any(|cell| cell.load.keepalive == keepalive)
        };
        let ways = |client: &str| [connects(client, true), connects(client, false)];
        assert_eq!(ways("keeps"), [true, true]);
        assert_eq!(ways("forgets"), [false, true]);
        assert_eq!(ways(BASELINE_LOADER), [true, false]);
    }

    #[test]
    fn a_foreign_server_has_no_body_size_and_no_delay() {
        let sweep = build(SweepRequest {
            foreign: foreign(500),
            ..SweepRequest::default()
        })
        .unwrap();
        assert_eq!(sweep.body_bytes(), [0]);
        assert!(matches!(sweep.usual.delay, Delay::None));
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
                "too short for the check value",
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
