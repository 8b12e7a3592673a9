//! A cell: one client under one load.

use serde::{Deserialize, Serialize};

/// One setting of the plan: who is measured, under what load.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The client's name as in its manifest.
    pub client: String,
    /// Bytes of the answer's body; 0 when the server is not ours.
    pub body_bytes: usize,
    /// Whether connections are kept for later requests; if not, each request has one of its own. Absent means yes.
    #[serde(default = "kept", skip_serializing_if = "Clone::clone")]
    pub keepalive: bool,
    /// Requests that the driver is asked to keep in flight.
    pub concurrency: usize,
}

fn kept() -> bool {
    true
}
