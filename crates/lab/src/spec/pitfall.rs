//! Pitfalls: what clients do by themselves for which their rows are rejected, or have a warning.

use std::fmt;

use serde::Deserialize;

/// A client's behaviour for which rows are rejected, or have a warning, although the driver is right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pitfall {
    /// Words of the reason, or of the warning.
    pub says: String,
    /// Fewest requests in flight with which that happens for certain; none when it happens by chance.
    pub from: Option<usize>,
    /// Why that is so, and what avoids it.
    pub why: String,
}

impl fmt::Display for Pitfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.from {
            None => "by chance".to_owned(),
            Some(from) => format!("from {from} in flight on"),
        };
        let why = &self.why;
        write!(f, "its rows are rejected or have a warning, {when}: {why}")
    }
}
