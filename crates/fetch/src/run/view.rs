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
    /// Records a second, lately; those of all pages count.
    pub rate: f64,
    /// Seconds since the run began.
    pub seconds: f64,
    /// The process that runs.
    pub pid: u32,
    /// Which worker it is.
    #[serde(default)]
    pub worker: String,
    /// The parts that it works on.
    #[serde(default)]
    pub open: Vec<PartView>,
    /// The reason why it cannot continue, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The slowest hosts of the parts that are worked on, and those that rest.
    pub hosts: Vec<HostView>,
}

/// An open part for a status line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartView {
    /// Its number.
    pub part: u32,
    /// The attempt at it.
    pub attempt: u32,
    /// How many inputs it has.
    pub inputs: u64,
    /// How those ended that have.
    pub tally: Tally,
    /// Requests in flight.
    pub in_flight: u64,
    /// Seconds since this worker opened it.
    pub seconds: f64,
    /// Inputs that have ended since then.
    pub since: u64,
    /// Seconds that the pace of its hosts takes at least, as far as their requests are read.
    #[serde(default)]
    pub least_left: f64,
    /// The host that holds it up: one that rests while requests wait for it, else the one with the most to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_up_by: Option<HostView>,
}

impl PartView {
    /// Seconds that are left at the mean rate so far, and at the pace of its hosts; none before the first record.
    pub fn left(&self) -> Option<f64> {
        let left = self.inputs.saturating_sub(self.tally.records) as f64;
        let at_rate = (self.since > 0).then(|| left * self.seconds / self.since as f64);
        longest(at_rate, self.least_left)
    }

    /// Why it takes long, as far as its hosts show.
    pub fn why(&self) -> Option<String> {
        let host = self.held_up_by.as_ref()?;
        let name = &host.name;
        let waiting = match host.waiting {
            0 => String::new(),
            waiting => format!(", {waiting} wait for it"),
        };
        let state = match host.state.as_deref() {
            Some("rests") => "rests after failures".to_owned(),
            Some("paused") => "sent a 429 or 503".to_owned(),
            Some(state) => format!("was {state}"),
            None if host.done == 0 => {
                format!("has not responded yet, {} in flight", host.in_flight)
            }
            None => format!("takes {:.0} ms, {} in flight", host.ms, host.in_flight),
        };
        Some(format!("{name} {state}{waiting}"))
    }
}

impl Snapshot {
    /// Seconds that are left at this rate, and at the pace of the hosts; none while nothing moves.
    pub fn left(&self) -> Option<f64> {
        let left = self.inputs.saturating_sub(self.tally.records) as f64;
        // Not every record ends an input that has pages.
        let share = self.tally.records as f64 / self.tally.lines().max(1) as f64;
        let rate = self.rate * share;
        let at_rate = (rate > 0.0).then(|| left / rate);
        let least = self.open.iter().map(|part| part.least_left);
        longest(at_rate, least.fold(0.0, f64::max))
    }
}

/// A time at some rate, which is no shorter than the pace of single hosts allows.
fn longest(at_rate: Option<f64>, least: f64) -> Option<f64> {
    let least = (least > 0.0).then_some(least);
    at_rate.into_iter().chain(least).reduce(f64::max)
}

/// An observer of a run.
pub trait Observer {
    /// A few times a second.
    fn progress(&mut self, snapshot: &Snapshot);

    /// Something that a person should know.
    fn say(&mut self, sentence: &str);
}
