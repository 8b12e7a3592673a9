//! The scenario of a sweep: what is measured when the command line does not say otherwise.

use anyhow::{Context, Result};
use hecaton_test_server::Delay;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Job, Project};

/// `scenarios/bench/sweep.toml`. Every key but `http2` is required. Other defaults are elsewhere: that of `--concurrency` at a
/// rate is in `crates/lab/src/spec/sweep.rs`, and those for a foreign server are in `crates/cli/src/cmd/sweep.rs`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepScenario {
    /// Clients to measure, without the baseline loader.
    pub clients: Vec<String>,
    /// Requests to keep in flight, one cell each.
    pub concurrency: Vec<usize>,
    /// Sizes of the response's body.
    pub body_bytes: Vec<usize>,
    /// Whether connections are reused (`true`), or each request has a new one (`false`); both ways when both are
    /// listed.
    pub keepalive: Vec<bool>,
    /// How each response is processed: `plain`, `json` or `gzip`.
    pub job: Job,
    /// Whether the test server uses TLS.
    pub tls: bool,
    /// Whether requests are streams of HTTP/2, which needs `tls`; HTTP/1.1 otherwise.
    #[serde(default)]
    pub http2: bool,
    /// Whether the baseline loader takes part.
    pub baseline_loader: bool,
    /// How long the test server waits before each response.
    pub delay: Delay,
    /// Measured rounds of every cell, one in each block.
    pub rounds: u32,
    /// Processes of every client, one after another; the blocks are shared out among them.
    #[serde(alias = "launches")]
    pub invocations: u32,
    /// How long one round should last, in seconds; the number of requests follows from it.
    pub round_seconds: f64,
    /// Unmeasured work of every new process before its first round, in seconds; 0 means none.
    pub warm_up_seconds: f64,
}

impl SweepScenario {
    /// Reads the scenario of the project.
    ///
    /// # Errors
    /// A sentence that names the file and, for a wrong value, the key.
    pub fn load(project: &Project) -> Result<SweepScenario> {
        read(project, "scenarios/bench/sweep.toml", "a sweep scenario")
    }
}

/// Reads the file of a scenario; an error says `what` it should be.
pub(super) fn read<T: DeserializeOwned>(project: &Project, path: &str, what: &str) -> Result<T> {
    let file = project.file(path)?;
    toml::from_str(&file.text).with_context(|| format!("{} is not {what}", file.shown))
}
