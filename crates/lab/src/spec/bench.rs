//! A benchmark: several sweeps, one after another, and the goals that their results are held against.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::SweepScenario;

/// `scenarios/bench/client.toml`, or `against.toml` for two builds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchScenario {
    /// The client whose speed is compared with the others'.
    pub subject: String,
    /// Settings for a run with little time.
    pub quick: Quick,
    /// The sweeps, in the order in which they are made.
    pub part: Vec<Part>,
    /// The goals that the results are compared with.
    pub goal: Vec<Goal>,
}

/// A shorter benchmark: the same cells, fewer and shorter rounds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// Most rounds of every cell, and most processes of every client.
    pub rounds: u32,
    /// Longest round, in seconds.
    pub round_seconds: f64,
}

/// One sweep of a benchmark.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name, by which goals point at it; also the name of its folder.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// The client whose speed is compared with the others' here; none for the benchmark's.
    pub subject: Option<String>,
    /// What is measured.
    pub load: SweepScenario,
}

/// The figure that a part should reach.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Name of the part.
    pub part: String,
    /// The concurrency of the goal; none: all that are measured.
    pub concurrency: Option<usize>,
    /// The bytes of the goal's bodies; none: all that are measured.
    pub body_bytes: Option<usize>,
    /// The promise.
    pub promise: Promise,
}

impl Goal {
    /// Whether the goal is for this cell of the part.
    pub fn is_set_at(&self, concurrency: usize, body_bytes: usize) -> bool {
        self.concurrency
            .is_none_or(|requested| requested == concurrency)
            && self
                .body_bytes
                .is_none_or(|requested| requested == body_bytes)
    }
}

/// A promise about a client.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Promise {
    /// At least this many times the speed of another client.
    Faster {
        /// The client.
        client: String,
        /// The other client, or `baseline-loader`.
        than: String,
        /// How many times, at least.
        times: f64,
    },
    /// Keep-alive connections are at least so many times as fast as a new one for each request.
    KeepAlive {
        /// The client.
        client: String,
        /// How many times, at least.
        times: f64,
    },
    /// At most so much resident memory in any round.
    Memory {
        /// The client.
        client: String,
        /// Megabytes (10⁶ bytes), at most.
        megabytes: f64,
    },
    /// Neither slower nor dearer than another build of the same client: requests per second and CPU time of a request
    /// are checked in every cell.
    NotSlower {
        /// The client.
        client: String,
        /// The other build of it.
        than: String,
    },
    /// Every request of every round has a response, and the server's log agrees.
    Complete {
        /// The client.
        client: String,
    },
}

impl BenchScenario {
    /// Reads the scenario from the project's folder.
    ///
    /// # Errors
    /// A sentence that names the file and what is wrong with it.
    pub fn load(root: &Path) -> Result<BenchScenario> {
        BenchScenario::read(&root.join("scenarios/bench/client.toml"), |text| text)
    }

    /// Reads the scenario that compares this checkout with another build, whose clients are called `NAME@build`.
    ///
    /// # Errors
    /// A sentence that names the file and what is wrong with it.
    pub fn against(root: &Path, build: &str) -> Result<BenchScenario> {
        let named = |text: String| text.replace("@REV", &format!("@{build}"));
        BenchScenario::read(&root.join("scenarios/bench/against.toml"), named)
    }

    fn read(path: &Path, named: impl Fn(String) -> String) -> Result<BenchScenario> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let scenario: BenchScenario = toml::from_str(&named(text))
            .with_context(|| format!("{} is not a benchmark", path.display()))?;
        for goal in &scenario.goal {
            ensure!(
                scenario.part.iter().any(|part| part.name == goal.part),
                "{}: a goal names `{}`, but no part has that name",
                path.display(),
                goal.part
            );
        }
        Ok(scenario)
    }

    /// The scenario with this number of rounds of every cell.
    pub fn with_rounds(mut self, rounds: u32) -> BenchScenario {
        for Part { load, .. } in &mut self.part {
            // Where every round has a process of its own, it keeps it.
            if load.invocations == load.rounds {
                load.invocations = rounds;
            }
            load.rounds = rounds;
        }
        self
    }

    /// The scenario with little time.
    pub fn quick(mut self) -> BenchScenario {
        for Part { load, .. } in &mut self.part {
            // Where every round has a process of its own, it keeps it.
            load.rounds = load.rounds.min(self.quick.rounds);
            load.invocations = load.invocations.min(self.quick.rounds);
            load.round_seconds = load.round_seconds.min(self.quick.round_seconds);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::Catalogue;
    use super::*;

    #[test]
    fn the_scenario_of_the_project_names_clients_that_exist() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = Catalogue::load(&root.join("drivers")).unwrap();
        let scenario = BenchScenario::load(&root).unwrap().quick();
        for part in &scenario.part {
            assert!(part.load.rounds <= scenario.quick.rounds);
            for client in &part.load.clients {
                catalogue.find(client).unwrap();
            }
        }
        for goal in &scenario.goal {
            let part = scenario.part.iter().find(|part| part.name == goal.part);
            let takes_part = |client: &String| part.unwrap().load.clients.contains(client);
            let (Promise::Faster { client, .. }
            | Promise::KeepAlive { client, .. }
            | Promise::Memory { client, .. }
            | Promise::NotSlower { client, .. }
            | Promise::Complete { client }) = &goal.promise;
            assert!(takes_part(client), "{goal:?}");
            if let Promise::Faster { than, .. } = &goal.promise {
                assert!(
                    takes_part(than) || than == super::super::BASELINE_LOADER,
                    "{goal:?}"
                );
            }
        }
    }

    #[test]
    fn two_builds_are_each_others_peers_and_have_a_process_for_each_round() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = BenchScenario::against(&root, "1a2b3c4").unwrap();
        for part in &scenario.part {
            let peer = part.load.clients[0].replace("@checkout", "@1a2b3c4");
            assert_eq!(part.load.clients[1..], [peer]);
            assert_eq!(part.subject.as_ref(), Some(&part.load.clients[0]));
        }
        let few = scenario.with_rounds(7).part.remove(0).load;
        assert_eq!((few.rounds, few.invocations), (7, 7));
    }
}
