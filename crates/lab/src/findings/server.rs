//! The test server's own account of a row: how busy it was, and how late. Only this says that the server was the limit.

use hecaton_test_server::Delay;

use super::stats::median;
use super::words::{figure, percent};
use crate::run::Round;

/// The load of the test server in the rounds of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    /// Share of a core that it used, median over the rounds.
    pub busy: f64,
    /// How late the latest 1 % of its responses were at least, in milliseconds: the median over the rounds. It counts
    /// from the planned instant; without a delay, that is when the request had been read.
    pub late_ms: f64,
    /// The longest that its responses were to wait, in milliseconds.
    pub delay_ms: f64,
}

impl Server {
    /// From this share of a core on the server is the limit: it works on one.
    pub const BUSY: f64 = 0.9;

    /// Whether it had no time left.
    pub fn is_busy(&self) -> bool {
        self.busy >= Server::BUSY
    }

    /// Whether the server itself delayed the clients: responses came late by more than a millisecond, and
    /// by more than a tenth of their delay.
    pub fn is_late(&self) -> bool {
        self.late_ms > 1.0_f64.max(self.delay_ms / 10.0)
    }

    /// Says that it is the limit of what is measured; none where it is not.
    pub fn limit(&self) -> Option<String> {
        self.is_busy().then(|| {
            let busy = percent(self.busy);
            format!("the server is the limit: it was busy {busy} of a core")
        })
    }

    /// Says that its responses were late; none where they were not.
    pub fn lateness(&self) -> Option<String> {
        let late = figure(self.late_ms);
        self.is_late()
            .then(|| format!("1 % of the server's responses were {late} ms late or more"))
    }
}

/// The test server's account of a row's rounds, each response of which was to wait so long.
pub(super) fn server(rounds: &[&Round], wait: &Delay) -> Option<Server> {
    // A clock that the system lacks stands at 0.
    let seen = |round: &&Round| {
        let interval = round.seen.as_ref().filter(|interval| interval.cpu_ns > 0)?;
        let busy = interval.cpu_ns as f64 / round.wall_ns.max(1) as f64;
        Some((busy, interval.lateness_p99_us as f64 / 1e3))
    };
    let (busy, late): (Vec<f64>, Vec<f64>) = rounds.iter().filter_map(seen).unzip();
    Some(Server {
        busy: median(&busy)?,
        late_ms: median(&late)?,
        delay_ms: wait.mean().as_secs_f64() * 1e3,
    })
}
