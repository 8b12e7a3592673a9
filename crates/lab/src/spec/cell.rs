//! A cell: one client under one load.

use serde::{Deserialize, Serialize};

use super::{BASELINE_LOADER, Load};

/// One setting of the plan: who is measured, under what load.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The client's name as in its manifest.
    pub client: String,
    /// The load.
    #[serde(flatten)]
    pub load: Load,
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

impl Cell {
    /// A client under a load.
    pub fn new(client: &str, load: Load) -> Cell {
        Cell {
            client: client.into(),
            load,
            control: None,
        }
    }

    /// One request at a time of the smallest load.
    pub fn plain(client: &str) -> Cell {
        Cell::new(client, Load::PLAIN)
    }

    /// The baseline loader under the same load, as far as it goes.
    pub fn loader(&self) -> Cell {
        Cell::new(BASELINE_LOADER, self.load.of_loader())
    }
}
