//! Pitfalls: what clients do by themselves that the server's log rejects.

use std::fmt;

use serde::Deserialize;

/// A client's behaviour that gets rows rejected although the driver is right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pitfall {
    /// Words of the reason with which rows are rejected.
    pub says: String,
    /// Fewest requests in flight with which that happens for certain; none when it happens by chance.
    pub from: Option<usize>,
    /// Why that is so, and what avoids it.
    pub why: String,
}

impl fmt::Display for Pitfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            None => write!(f, "its rows are rejected by chance: {}", self.why),
            Some(from) => write!(
                f,
                "its rows are rejected from {from} in flight on: {}",
                self.why
            ),
        }
    }
}
