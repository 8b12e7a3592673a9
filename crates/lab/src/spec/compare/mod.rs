//! A comparison, checked: two clients or settings, keep-alive against none, or batches one after another and at once.

mod setting;

use anyhow::Result;
use hecaton_test_server::Delay;
use serde::{Deserialize, Serialize};

pub use setting::Setting;
use setting::Which;

use super::scenario::read;
use super::sweep::{Timing, checked_bodies, checked_rounds, find_clients, possible};
use super::{Ability, BASELINE_LOADER, Catalogue, Cell, Load, Mode, Project, Sweep, Target, Usage};

/// The subject of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Comparison {
    /// Two clients, or one with different settings.
    Pair {
        /// The one that is divided.
        a: Box<Cell>,
        /// The one that it is divided by.
        b: Box<Cell>,
    },
    /// Keep-alive connections against a new one for each request, over TLS, at several round trips.
    Keepalive {
        /// The client.
        client: String,
    },
    /// Batches of several sizes, one request after another against all at once.
    SyncAsync {
        /// The client.
        client: String,
    },
}

/// `scenarios/bench/compare.toml`. Every key is required: defaults live in that file alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareScenario {
    /// Of `compare A B`.
    pub pair: PairScenario,
    /// Of `compare keepalive`.
    pub keepalive: KeepaliveScenario,
    /// Of `compare sync-async`.
    pub sync_async: SyncAsyncScenario,
}

/// The load of a pair.
#[derive(Clone, Debug, Deserialize)]
pub struct PairScenario {
    /// Requests to keep in flight.
    pub concurrency: usize,
    /// Bytes of the body of a response.
    pub body_bytes: usize,
    /// The test server's delay.
    pub delay: Delay,
    /// How long and how often.
    #[serde(flatten)]
    pub timing: Timing,
}

/// The load of new against keep-alive connections.
#[derive(Clone, Debug, Deserialize)]
pub struct KeepaliveScenario {
    /// Round trips that the test server plays, in milliseconds, ascending, 0 among them.
    pub round_trips_ms: Vec<u64>,
    /// Requests to keep in flight.
    pub concurrency: usize,
    /// Bytes of the body of a response.
    pub body_bytes: usize,
    /// How long and how often.
    #[serde(flatten)]
    pub timing: Timing,
}

/// The load of batches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncAsyncScenario {
    /// Requests of the largest batch.
    pub most: usize,
    /// Batches of each size and kind.
    pub loops: u32,
    /// Bytes of the body of a response.
    pub body_bytes: usize,
    /// The test server's delay.
    pub delay: Delay,
    /// Processes of the client.
    #[serde(alias = "launches")]
    pub invocations: u32,
    /// Unmeasured work of every new process, in seconds.
    pub warm_up_seconds: f64,
}

/// A user's request for a comparison; absent values come from the scenario.
#[derive(Clone, Debug, Default)]
pub struct PairRequest {
    /// Names of A and B, which may be the same.
    pub clients: [String; 2],
    /// Settings of one side, in order.
    pub settings: Vec<Setting>,
    /// Requests in flight of both.
    pub concurrency: Option<usize>,
    /// Bytes of the bodies of both.
    pub body_bytes: Option<usize>,
    /// The test server's delay for both.
    pub delay: Option<Delay>,
    /// A server other than the lab's test server.
    pub foreign: Option<Target>,
    /// Rounds of each.
    pub rounds: Option<u32>,
    /// Seed of the order and of the delays.
    pub seed: Option<u64>,
}

/// A user's request for batches; absent values come from the scenario.
#[derive(Clone, Debug, Default)]
pub struct SyncAsyncRequest {
    /// Name of the client.
    pub client: String,
    /// Requests of the largest batch.
    pub most: Option<usize>,
    /// Batches of each size and kind.
    pub loops: Option<u32>,
    /// The test server's delay.
    pub delay: Option<Delay>,
    /// Another server than the lab's test server, as method and URL.
    pub foreign: Option<Target>,
    /// Seed of the order and of the delays.
    pub seed: Option<u64>,
}

impl CompareScenario {
    /// Reads the scenario of the project.
    ///
    /// # Errors
    /// A sentence that names the file and, for a wrong value, the key.
    pub fn load(project: &Project) -> Result<CompareScenario> {
        read(project, "scenarios/bench/compare.toml", "a comparison")
    }

    /// The sweep of two cells, and the baseline loader of each, that a pair is.
    ///
    /// # Errors
    /// [`Usage`], one sentence with what to do.
    pub fn pair(
        &self,
        request: PairRequest,
        catalogue: &Catalogue,
    ) -> Result<(Sweep, Comparison), Usage> {
        let scenario = &self.pair;
        Setting::each_once(&request.settings)?;
        let [a, b] = [Which::A, Which::B].map(|which| scenario.side(which, &request, catalogue));
        let (a, b) = (Box::new(a?), Box::new(b?));
        if a == b {
            return Err(Usage(format!(
                "A and B are both {} with the same settings; name another client, or change one with --set keepalive=off",
                a.client
            )));
        }
        let mut cells = vec![(*a).clone(), (*b).clone()];
        for side in [&a, &b].into_iter().filter(|side| !side.load.tls) {
            let loader = side.loader();
            if !cells.contains(&loader) {
                cells.push(loader);
            }
        }
        let (timing, delay) = (scenario.timing.of(request.rounds), scenario.delay(&request));
        let mut sweep = sweep(cells, delay, timing, request.seed, catalogue)?;
        sweep.target = request.foreign.unwrap_or(Target::TestServer);
        let sweep = sweep.with_controls(Some((*a).clone()));
        Ok((sweep, Comparison::Pair { a, b }))
    }

    /// The sweep of keep-alive and new connections over TLS, at every round trip.
    ///
    /// # Errors
    /// [`Usage`], one sentence with what to do.
    pub fn keepalive(
        &self,
        client: &str,
        rounds: Option<u32>,
        seed: Option<u64>,
        catalogue: &Catalogue,
    ) -> Result<(Sweep, Comparison), Usage> {
        let scenario = &self.keepalive;
        if !keeps(client, catalogue)? {
            return Err(Usage(format!(
                "{client} does not keep connections, so there is nothing to compare; choose another client"
            )));
        }
        let ways = |&round_trip: &u64| {
            [true, false].map(|keepalive| {
                let load = Load {
                    body_bytes: scenario.body_bytes,
                    keepalive,
                    concurrency: scenario.concurrency,
                    tls: true,
                    round_trip_ms: Some(round_trip),
                    ..Load::PLAIN
                };
                Cell::new(client, load)
            })
        };
        let cells = scenario.round_trips_ms.iter().flat_map(ways).collect();
        let sweep = sweep(
            cells,
            Delay::None,
            scenario.timing.of(rounds),
            seed,
            catalogue,
        )?;
        let client = client.to_string();
        Ok((sweep, Comparison::Keepalive { client }))
    }

    /// The sweep of batches of every size, each one after another and at once.
    ///
    /// # Errors
    /// [`Usage`], one sentence with what to do.
    pub fn sync_async(
        &self,
        request: SyncAsyncRequest,
        catalogue: &Catalogue,
    ) -> Result<(Sweep, Comparison), Usage> {
        let scenario = &self.sync_async;
        let (delay, body_bytes) = match request.foreign {
            Some(_) => (Delay::None, 0),
            None => (request.delay.unwrap_or(scenario.delay), scenario.body_bytes),
        };
        let usual = Load {
            body_bytes,
            keepalive: keeps(&request.client, catalogue)?,
            delay,
            ..Load::PLAIN
        };
        let most = request.most.unwrap_or(scenario.most);
        if most == 0 {
            let why = "a batch of 0 requests sends nothing; choose at least 1";
            return Err(Usage(why.into()));
        }
        let cells = sizes(most)
            .into_iter()
            .flat_map(|size| both_ways(usual, size));
        let cells = cells.map(|load| Cell::new(&request.client, load)).collect();
        let timing = Timing {
            rounds: request.loops.unwrap_or(scenario.loops),
            invocations: scenario.invocations,
            round_seconds: 0.0,
            warm_up_seconds: scenario.warm_up_seconds,
        };
        let mut sweep = sweep(cells, delay, timing, request.seed, catalogue)?;
        sweep.target = request.foreign.unwrap_or(Target::TestServer);
        let client = request.client;
        Ok((sweep, Comparison::SyncAsync { client }))
    }
}

impl PairScenario {
    /// One side of a pair, with its settings.
    fn side(
        &self,
        which: Which,
        request: &PairRequest,
        catalogue: &Catalogue,
    ) -> Result<Cell, Usage> {
        let name = &request.clients[which as usize];
        let target = request.foreign.as_ref().unwrap_or(&Target::TestServer);
        let usual = Load {
            delay: self.delay(request),
            body_bytes: match target {
                Target::TestServer => request.body_bytes.unwrap_or(self.body_bytes),
                Target::Foreign { .. } => 0,
            },
            ..Load::PLAIN
        };
        let mut load = Load {
            keepalive: keeps(name, catalogue)?,
            concurrency: request.concurrency.unwrap_or(self.concurrency),
            ..usual
        };
        for setting in request.settings.iter().filter(|set| set.of == which) {
            setting.apply(&mut load);
        }
        possible(&load, &usual, target)?;
        Ok(Cell::new(name, load))
    }

    /// The delay of both sides where no setting says otherwise; another server has its own.
    fn delay(&self, request: &PairRequest) -> Delay {
        match request.foreign {
            None => request.delay.unwrap_or(self.delay),
            Some(_) => Delay::None,
        }
    }
}

/// Whether a client keeps its connections.
fn keeps(client: &str, catalogue: &Catalogue) -> Result<bool, Usage> {
    Ok(client == BASELINE_LOADER || catalogue.find(client)?.can.contains(&Ability::KeepAlive))
}

/// A batch of this size, one request after another and all at once.
fn both_ways(usual: Load, size: usize) -> [Load; 2] {
    [(Mode::Sync, 1), (Mode::Async, size)].map(|(mode, concurrency)| Load {
        concurrency,
        mode: Some(mode),
        requests: Some(size as u64),
        ..usual
    })
}

/// Sizes of batches up to `most`: a few small ones, then sixths of it.
fn sizes(most: usize) -> Vec<usize> {
    let sixths = (1..=6).map(|sixth| (most * sixth).div_ceil(6));
    let mut sizes: Vec<usize> = [1, 2, 5].into_iter().chain(sixths).collect();
    sizes.retain(|size| *size <= most);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The sweep of these cells, with everything else as in a plain one.
fn sweep(
    cells: Vec<Cell>,
    delay: Delay,
    timing: Timing,
    seed: Option<u64>,
    catalogue: &Catalogue,
) -> Result<Sweep, Usage> {
    checked_rounds(timing.rounds)?;
    if cells.iter().any(|cell| cell.load.concurrency == 0) {
        return Err(Usage("concurrency 0 sends nothing; the lowest is 1".into()));
    }
    let bodies = cells.iter().map(|cell| cell.load.body_bytes);
    checked_bodies(bodies.filter(|bytes| *bytes > 0).collect())?;
    let names: Vec<String> = cells.iter().map(|cell| cell.client.clone()).collect();
    let usual = Load {
        delay,
        ..Load::PLAIN
    };
    let clients = find_clients(&names, catalogue)?;
    Ok(Sweep::of(cells, clients, usual, timing, seed))
}

#[cfg(test)]
mod tests;
