//! The limits of hosts, and how requests end as these see it.

use std::time::{Duration, Instant};

/// The limits of every host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Most in flight to a host of this machine or a private network.
    pub local: usize,
    /// Most in flight to a host of others.
    pub foreign: usize,
    /// The time between two starts to one of this machine or a private network.
    pub local_interval: Duration,
    /// The time between two starts to one of others.
    pub foreign_interval: Duration,
    /// Failures in a row that open the breaker; 0 for never.
    pub breaker: u32,
    /// The first rest.
    pub cooldown: Duration,
    /// Most probes of a host that rests, if there is a limit.
    pub probes: Option<u32>,
    /// Whether the rate of each host follows what it can do, below its interval.
    pub adapts: bool,
    /// How many shards share each host.
    pub shards: u32,
    /// Where in each interval this part's starts are, from 0 to 1: the shards of a host take turns.
    pub turn: f64,
    /// How long a host may be down before it is given up.
    pub wait_out: Duration,
    /// Most retries, as a share of the requests that are no retries; ten are always allowed.
    pub retry_budget: f64,
    /// The longest pause that `Retry-After` can cause.
    pub max_retry_after: Duration,
}

/// When a request began, and when it ended.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When it began.
    pub begun: Instant,
    /// When it ended.
    pub ended: Instant,
}

/// How a request ended, as its host's limits see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostSign {
    /// With an answer, or as only a host that is up lets it end.
    Well,
    /// Without an answer.
    Badly,
    /// Without an answer, because its connection was refused or reset: it may be one too many.
    Refused,
    /// The host is up and overrun (429), and may have sent a `Retry-After`.
    Overrun(Option<Duration>),
    /// The host has no answer because it is overrun or down (503), and may have sent a `Retry-After`.
    Unavailable(Option<Duration>),
}

impl HostSign {
    /// The sign that it gives to the host's adaptive rate.
    pub fn sign(self) -> Sign {
        match self {
            HostSign::Well => Sign::Up,
            HostSign::Badly | HostSign::Refused => Sign::Failed,
            HostSign::Overrun(_) | HostSign::Unavailable(_) => Sign::Overrun,
        }
    }
}

/// How a request ended, as the rate sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Well, whatever the status.
    Up,
    /// With a failure that may have other reasons than the rate.
    Failed,
    /// The host said that it is overrun.
    Overrun,
}
