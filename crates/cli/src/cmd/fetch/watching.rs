//! How a run is watched without a person: metrics for a scraper, and lines of JSON in a log.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::job::duration;
use hecaton_fetch::run::Snapshot;

use super::metrics::Metrics;

/// How a run is watched.
#[derive(Args)]
pub struct Watching {
    /// Serve metrics in the OpenMetrics format on this address, below /metrics, while the command runs.
    #[arg(long, value_name = "HOST:PORT")]
    metrics: Option<String>,
    /// How often to write a line of JSON to stderr if stderr is not a terminal [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    log_every: Option<Duration>,
    /// Print nothing unless something goes wrong.
    #[arg(short, long)]
    pub quiet: bool,
}

impl Watching {
    /// Begins to serve metrics, if the options say so.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn metrics(&self) -> Result<Option<Metrics>> {
        self.metrics.as_deref().map(Metrics::serve).transpose()
    }

    /// The time between two lines of the log.
    pub fn log_every(&self) -> Duration {
        self.log_every.unwrap_or(Duration::from_secs(60))
    }
}

/// A line of the log.
pub fn line(snapshot: &Snapshot) -> String {
    let tally = &snapshot.tally;
    let line = serde_json::json!({
        "at": humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
        "inputs": snapshot.inputs,
        "records": tally.records,
        "pages": tally.pages,
        "ok": tally.ok,
        "failed": tally.failed(),
        "parts": snapshot.parts,
        "parts_done": snapshot.parts_done,
        "in_flight": snapshot.in_flight,
        "rate": (snapshot.rate * 10.0).round() / 10.0,
        "seconds": snapshot.seconds.round(),
        "seconds_left": snapshot.left().map(f64::round),
        "trouble": snapshot.trouble,
    });
    line.to_string()
}
