//! A cell: one client under one load.

use std::time::Duration;

use hecaton_test_server::Delay;
use serde::{Deserialize, Serialize};

/// One setting of the plan: who is measured, under what load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The client's name as in its manifest.
    pub client: String,
    /// Bytes of the response's body; 0 when the server is not ours.
    pub body_bytes: usize,
    /// Whether connections are kept for later requests; if not, each request has one of its own. Absent means yes.
    #[serde(default = "kept", skip_serializing_if = "Clone::clone")]
    pub keepalive: bool,
    /// Requests that the driver is asked to keep in flight.
    pub concurrency: usize,
    /// Settings of this cell alone; empty in a sweep.
    #[serde(flatten)]
    pub overrides: Overrides,
}

/// Settings of one cell, which replace those of the plan.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overrides {
    /// The test server's delay before each response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Whether the test server uses TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<bool>,
    /// Milliseconds of a round trip that the test server plays, in front of every response and for opening a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<u64>,
    /// How a batch of a known size is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Requests of a round; those of such a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The purpose of a cell that does not measure a client for its own row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
}

/// A cell that measures the run itself, not a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// A client of the run once more, in a process of its own: what differs from the first is chance.
    Again,
    /// The reference run: the baseline loader with equal work in every round, so differences come from the machine.
    #[serde(alias = "canary")]
    ReferenceRun,
}

/// How the requests of a batch follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Each when the one before it has ended.
    Sync,
    /// All at once.
    Async,
}

impl Cell {
    /// One request at a time of the smallest load.
    pub fn plain(client: &str) -> Cell {
        Cell {
            client: client.into(),
            body_bytes: 0,
            keepalive: true,
            concurrency: 1,
            overrides: Overrides::default(),
        }
    }

    /// The round trip that the test server plays; 0 when none.
    pub fn round_trip(&self) -> Duration {
        Duration::from_millis(self.overrides.round_trip_ms.unwrap_or(0))
    }

    /// The shortest wait for a response on the server's side, if the plan's delay is `delay`.
    pub fn wait(&self, delay: Delay) -> Delay {
        let delay = self.overrides.delay.unwrap_or(delay);
        match (delay, self.round_trip()) {
            (delay, Duration::ZERO) => delay,
            (Delay::Fixed(delay), round_trip) => Delay::Fixed(delay + round_trip),
            (_, round_trip) => Delay::Fixed(round_trip),
        }
    }
}

fn kept() -> bool {
    true
}
