//! The harness's side of every driver in Rust: replies to commands, hands out requests, verifies and counts responses.

pub mod calls;
mod hello;
mod pace;
mod round;
mod tls;
pub mod workers;

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

pub use calls::{Calls, Call};
use hello::{hello, version};
pub use round::Round;

/// The settings of `prepare`.
#[derive(Deserialize)]
pub struct Job {
    pub method: String,
    pub url: String,
    pub append_id: bool,
    pub concurrency: usize,
    pub keepalive: bool,
    pub verify: String,
    timeout_ms: u64,
    pub ca: Option<PathBuf>,
    /// The version of HTTP to use; none for 1.1.
    pub http: Option<String>,
}

impl Job {
    /// The total time of one request.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// The value of the header `Accept`.
    pub fn accept(&self) -> &'static str {
        if self.verify == "json" {
            "application/json"
        } else {
            "*/*"
        }
    }
}

/// A status and a body, or the kind of failure.
pub type Outcome = Result<(u16, Bytes), String>;

/// The kind of failure in an error's words.
pub fn words(error: impl ToString) -> String {
    error.to_string()
}

/// Whether the driver is to set its client up for speed.
pub fn tuned() -> bool {
    std::env::args().any(|argument| argument == "tuned")
}

/// A client that is ready.
pub trait Driver {
    /// Sends a round: as many requests in flight as the job says, until none is left.
    fn go(&mut self, round: &Arc<Round>);
}

/// Replies to commands until `bye`, or prints the client's version for `--version`.
///
/// `name` is the client's, `package` its name in the lock file, `about` what else it says of itself; `open` gets ready.
pub fn run<D: Driver>(name: &str, package: &str, about: Value, open: impl Fn(Arc<Job>) -> D) {
    run_with_calls(name, package, about, None, open);
}

/// Runs a client that an audit can also call.
pub fn run_with_calls<D: Driver>(
    name: &str,
    package: &str,
    about: Value,
    mut calls: Option<Calls<'_>>,
    open: impl Fn(Arc<Job>) -> D,
) {
    if std::env::args().any(|argument| argument == "--version") {
        return println!("{}", version(package));
    }
    let mut ready: Option<(Arc<Job>, D)> = None;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let command: Value = serde_json::from_str(&line).unwrap_or_default();
        let mut reply = match (command["cmd"].as_str().unwrap_or_default(), &mut ready) {
            ("hello", _) => {
                let mut hello = hello(name, package, &about);
                hello["calls"] = json!(calls.as_ref().map_or(&[][..], |(words, _)| *words));
                hello
            }
            ("prepare", _) => {
                drop(ready.take());
                let job: Arc<Job> = Arc::new(serde_json::from_value(command.clone()).expect("a job"));
                ready = Some((job.clone(), open(job)));
                json!({ "ok": true })
            }
            ("go", Some((job, driver))) => {
                let round = Arc::new(Round::new(job, &command));
                driver.go(&round);
                round.reply()
            }
            ("call", _) => {
                let calls = calls.as_mut().map(|(words, make)| (*words, &mut **make as &mut _));
                calls::reply(&command, calls)
            }
            ("bye", _) => json!({ "ok": true }),
            (other, _) => json!({ "ok": false, "error": "unsupported", "what": other }),
        };
        reply["id"] = command["id"].clone();
        writeln!(std::io::stdout(), "{reply}").expect("stdout is read");
        if command["cmd"] == "bye" {
            return;
        }
    }
}
