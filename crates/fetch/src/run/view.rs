//! How far a run is, for whoever looks.

use serde::{Deserialize, Serialize};

use super::hosts::HostView;
use crate::segment::Tally;

/// How far a run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// How many inputs there are.
    pub inputs: u64,
    /// How those ended that have.
    pub tally: Tally,
    /// How many parts there are.
    pub parts: u64,
    /// How many of them are done.
    pub parts_done: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Records a second, lately.
    pub rate: f64,
    /// Seconds since the run began.
    pub seconds: f64,
    /// The process that runs.
    pub pid: u32,
    /// The slowest hosts of the parts that are worked on, and those that rest.
    pub hosts: Vec<HostView>,
}

impl Snapshot {
    /// Seconds that are left at this rate; none while nobody can tell.
    pub fn left(&self) -> Option<f64> {
        let left = self.inputs.saturating_sub(self.tally.records) as f64;
        (self.rate > 0.0).then(|| left / self.rate)
    }
}

/// Whoever looks at a run.
pub trait Observer {
    /// A few times a second.
    fn progress(&mut self, snapshot: &Snapshot);

    /// Something that a person should know.
    fn say(&mut self, sentence: &str);
}
