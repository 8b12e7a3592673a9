//! Hosts for a status line: the slowest, and the one that delays the end.

use std::time::{Duration, Instant};

use super::Hosts;
use super::adaptive::Adaptive;
use super::host::HostState;
use super::queue::Waiting;

/// A host in a status line.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HostView {
    /// Its name.
    pub name: String,
    /// Requests that wait for it, as far as they are read.
    pub waiting: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Requests that ended.
    pub done: u64,
    /// Those of them that ended badly.
    pub failed: u64,
    /// The mean time of a request in milliseconds.
    pub ms: f64,
    /// Its rate in requests a second, if that follows what it can do; of this shard alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// `rests`, `paused` or `given up`, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl<T: Waiting> Hosts<T> {
    /// The slowest hosts, and those that rest.
    pub fn slowest(&self, most: usize, now: Instant) -> Vec<HostView> {
        let mut known: Vec<&HostState<T>> = self
            .by_name
            .values()
            .map(|number| &self.hosts[*number as usize])
            .collect();
        let key = |host: &&HostState<T>| {
            let mean = host
                .taken
                .checked_div(host.ended.max(1) as u32)
                .unwrap_or_default();
            // `state` looks at the health too, which must not be held meanwhile.
            let is_given_up = host.health.get().is_given_up();
            std::cmp::Reverse((is_given_up, host.state(now).is_some(), mean))
        };
        known.sort_by_cached_key(key);
        known.truncate(most);
        known.into_iter().map(|host| host.view(now)).collect()
    }

    /// Seconds that the pace of single hosts takes at least, for the requests that wait for them.
    pub fn least_left(&self) -> f64 {
        let seconds = self.by_name.values().map(|number| {
            let host = &self.hosts[*number as usize];
            let waiting = (host.waiting.len() + host.delayed) as f64;
            waiting * host.spacing().as_secs_f64()
        });
        seconds.fold(0.0, f64::max)
    }

    /// The host that holds up all: one that rests while requests wait for it, else the one with the most to do.
    pub fn holding_up(&self, now: Instant) -> Option<HostView> {
        let known = self
            .by_name
            .values()
            .map(|number| &self.hosts[*number as usize]);
        let busy = known.filter(|host| host.waiting.len() + host.delayed + host.in_flight > 0);
        let worst = busy.max_by_key(|host| {
            let waiting = host.waiting.len() + host.delayed;
            let rests = waiting > 0 && host.state(now).is_some();
            (rests, waiting + host.in_flight)
        });
        worst.map(|host| host.view(now))
    }
}

impl<T: Waiting> HostState<T> {
    pub fn state(&self, now: Instant) -> Option<&'static str> {
        let health = self.health.get();
        let soon = now + Duration::from_millis(900);
        let rests = health.rests_until().is_some_and(|until| until > soon);
        match (health.is_given_up(), health.is_open(), rests) {
            (true, _, _) => Some("given up"),
            (_, true, _) => Some("rests"),
            (_, _, true) => Some("paused"),
            _ => None,
        }
    }

    pub fn view(&self, now: Instant) -> HostView {
        HostView {
            name: self.name.to_string(),
            waiting: (self.waiting.len() + self.delayed) as u64,
            in_flight: self.in_flight as u64,
            done: self.ended,
            failed: self.failed,
            ms: self.taken.as_secs_f64() * 1e3 / self.ended.max(1) as f64,
            rate: self.adaptive.as_ref().map(Adaptive::rate),
            state: self.state(now).map(str::to_owned),
        }
    }
}
