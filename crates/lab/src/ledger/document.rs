//! The document of a run: what was requested, where it was measured, and every round.

use hecaton_test_server::Delay;
use serde::{Deserialize, Serialize};

use super::Environment;
use crate::plan::{Cell, Load};
use crate::run::{Round, Start};
use crate::spec::{Budget, Comparison, Experiment, Job, Kind, Sweep, Target};

/// Version of the document's keys; a reader refuses another one.
pub const SCHEMA: u32 = 1;

/// Everything that a run found out, before findings are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// Version of the keys: [`SCHEMA`].
    pub schema: u32,
    /// Version of the rules by which rows were rejected when it was written; 0 in documents of before.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub rules: u32,
    /// The command line.
    pub command: String,
    /// Where and with what it was measured.
    pub environment: Environment,
    /// What was requested.
    pub plan: PlanRecord,
    /// How many rounds were planned, where the run did not come to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<u64>,
    /// Every round, in the order in which they were made.
    pub rounds: Vec<Round>,
    /// Every process of every client, in the order in which they were started.
    #[serde(default)]
    pub starts: Vec<Start>,
    /// Clients that were requested and could not be measured, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The plan, as written to disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanRecord {
    /// Names of all that are measured, the baseline loader included.
    pub clients: Vec<String>,
    /// Requests in flight, ascending.
    pub concurrency: Vec<usize>,
    /// Sizes of bodies, ascending; a single 0 when the server is not ours.
    pub body_bytes: Vec<usize>,
    /// How each response was processed; absent means that the check value at its end was read.
    #[serde(default, skip_serializing_if = "Job::is_plain")]
    pub job: Job,
    /// The client that the others are compared with: a shootout's; absent in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The subject of a comparison; absent in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Requests of each round; absent when as many were sent as fill its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Whether the test server used TLS; absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// The test server's delay, as it is written on the command line.
    pub delay: Delay,
    /// Rounds planned for every cell.
    pub rounds: u32,
    /// Processes of every client.
    #[serde(alias = "launches")]
    pub invocations: u32,
    /// How long a round was to last.
    pub round_seconds: f64,
    /// Unmeasured work of every new process.
    pub warm_up_seconds: f64,
    /// Seed of the order and of the delays; a string, since not every reader of JSON keeps 64 bits.
    #[serde(with = "as_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub seed: u64,
    /// The limits that the recommendation must keep.
    #[serde(flatten)]
    pub budget: Budget,
    /// Where requests went.
    pub target: Target,
}

impl PlanRecord {
    /// Whether a cell of a sweep or shootout was to be measured: its client, under its load.
    pub fn plans(&self, cell: &Cell) -> bool {
        self.comparison.is_none()
            && self.clients.contains(&cell.client)
            && self.concurrency.contains(&cell.load.concurrency)
            && self.body_bytes.contains(&cell.load.body_bytes)
    }

    /// The usual load: what cells need not repeat.
    pub fn usual(&self) -> Load {
        Load {
            delay: self.delay,
            tls: self.tls,
            requests: self.requests,
            job: self.job,
            ..Load::PLAIN
        }
    }
}

impl From<&Experiment> for PlanRecord {
    fn from(experiment: &Experiment) -> PlanRecord {
        let mut plan = PlanRecord::from(&experiment.sweep);
        match &experiment.kind {
            Kind::Sweep | Kind::Bench => {}
            Kind::Shootout { baseline } => plan.baseline = Some(baseline.clone()),
            Kind::Compare(comparison) => plan.comparison = Some(comparison.clone()),
        }
        plan
    }
}

impl From<&Sweep> for PlanRecord {
    fn from(sweep: &Sweep) -> PlanRecord {
        PlanRecord {
            clients: sweep.client_names(),
            concurrency: sweep.concurrency(),
            body_bytes: sweep.body_bytes(),
            job: sweep.usual.job,
            baseline: None,
            comparison: None,
            requests: sweep.usual.requests,
            tls: sweep.usual.tls,
            delay: sweep.usual.delay,
            rounds: sweep.rounds,
            invocations: sweep.invocations,
            round_seconds: sweep.round_time.as_secs_f64(),
            warm_up_seconds: sweep.warm_up.as_secs_f64(),
            seed: sweep.seed,
            budget: sweep.budget,
            target: sweep.target.clone(),
        }
    }
}

/// Writes a `u64` as a string of digits.
mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}
