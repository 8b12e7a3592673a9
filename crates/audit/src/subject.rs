//! The audited client: something that makes calls and reports their outcomes.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use hecaton_lab::findings::words::plural;
/// One call of the client; a `Call` is one of a case.
pub use hecaton_lab::run::Call as CallOptions;
use hecaton_lab::run::{CallReply, Driver, DriverError, Interrupted, Limits, Problem, new_log};
use hecaton_lab::spec::Manifest;
use serde::Serialize;

/// How many times in a row a driver may break before its client is given up. Each time, a call waits for it in vain.
const MOST_BREAKS: usize = 8;

/// How much longer than its limit a call may take before its driver is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The outcome that the caller saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Reported {
    /// A response.
    Response {
        /// Its status.
        status: u16,
        /// Bytes of its body.
        bytes: u64,
        /// SHA-256 of its body, in hexadecimal digits.
        sha256: String,
        /// Milliseconds that the call took.
        ms: u64,
    },
    /// An error.
    Error {
        /// Its class.
        class: String,
        /// Its text.
        text: String,
        /// Milliseconds that the call took.
        ms: u64,
    },
    /// The outcomes of several calls.
    Several {
        /// How many got a response.
        responses: usize,
        /// How many failed.
        errors: usize,
        /// The class of the last error.
        class: String,
        /// Its text.
        text: String,
        /// Milliseconds that all of them took.
        ms: u64,
    },
    /// The client cannot make this call.
    Unsupported {
        /// The word that it refused.
        what: String,
    },
    /// Nothing: the driver did not reply in time, as when the client hangs.
    Nothing {
        /// The driver's failure, with the state of its process.
        why: String,
    },
    /// The driver ended or sent something else than a reply, so nothing is known of the client.
    Broken {
        /// How.
        why: String,
    },
}

impl Reported {
    /// The claim about the client that a failed call stands for.
    fn of_problem(problem: &Problem, why: String) -> Reported {
        match problem {
            Problem::Refused(kind, what) if kind == "unsupported" => {
                Reported::Unsupported { what: what.clone() }
            }
            Problem::Late(..) => Reported::Nothing { why },
            Problem::Refused(..)
            | Problem::NotStarted(_)
            | Problem::EndedAtStart(_)
            | Problem::Ended(_)
            | Problem::Rubbish(..)
            | Problem::HoldsTooMany(_) => Reported::Broken { why },
        }
    }

    /// The time that the call took, as the driver claims.
    pub(crate) fn ms(&self) -> Option<u64> {
        match self {
            Reported::Response { ms, .. }
            | Reported::Error { ms, .. }
            | Reported::Several { ms, .. } => Some(*ms),
            Reported::Unsupported { .. } | Reported::Nothing { .. } | Reported::Broken { .. } => {
                None
            }
        }
    }
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reported::Response {
                status, bytes, ms, ..
            } => write!(f, "{status} with {} after {ms} ms", plural(*bytes, "byte")),
            Reported::Error { class, text, ms } => write!(f, "{class} after {ms} ms: {text}"),
            Reported::Several {
                responses,
                errors,
                class,
                text,
                ms,
            } => {
                let responses = plural(*responses as u64, "response");
                let errors = plural(*errors as u64, "error");
                write!(f, "{responses} and {errors} after {ms} ms {class} {text}")
            }
            Reported::Unsupported { what } => write!(f, "not supported: {what}"),
            Reported::Nothing { why } | Reported::Broken { why } => write!(f, "nothing: {why}"),
        }
    }
}

/// A client that can make calls.
pub trait Subject {
    /// Its name.
    fn name(&self) -> &str;

    /// Makes a call.
    ///
    /// # Errors
    /// If the client cannot make calls any more.
    fn make(&mut self, call: &CallOptions) -> Result<Reported>;
}

impl Subject for Driver {
    fn name(&self) -> &str {
        self.client()
    }

    fn make(&mut self, call: &CallOptions) -> Result<Reported> {
        match self.call(call) {
            Ok(reply) => Ok(reported(reply, call)),
            // The driver goes on after a refusal alone.
            Err(error) => match error.downcast_ref::<DriverError>() {
                Some(DriverError {
                    problem: problem @ Problem::Refused(..),
                    ..
                }) => Ok(Reported::of_problem(problem, format!("{error:#}"))),
                _ => Err(error),
            },
        }
    }
}

/// The outcome that a reply claims. Only the reply to a call that closes the client has no figures.
fn reported(reply: CallReply, call: &CallOptions) -> Reported {
    if let Some(responses) = reply.responses {
        return Reported::Several {
            responses,
            errors: reply.errors,
            class: reply.error.unwrap_or_default(),
            text: reply.text,
            ms: reply.ms,
        };
    }
    match reply.error {
        Some(class) => Reported::Error {
            class,
            text: reply.text,
            ms: reply.ms,
        },
        None if reply.status == 0 && call.by.as_deref() != Some("close") => Reported::Broken {
            why: "the driver replied to `call` with neither `status`, `class` nor `responses`"
                .into(),
        },
        None => Reported::Response {
            status: reply.status,
            bytes: reply.bytes,
            sha256: reply.sha256,
            ms: reply.ms,
        },
    }
}

/// A call that every client refuses.
fn with_unknown_word() -> CallOptions {
    CallOptions {
        new_client: true,
        method: "GET".into(),
        url: "http://127.0.0.1:1/".into(),
        timeout_ms: CallOptions::LIMIT_MS,
        needs: vec![format!("word-{}", std::process::id())],
        ..CallOptions::default()
    }
}

/// A client that a manifest describes. Its driver is started again after a failure.
pub struct Process {
    manifest: Manifest,
    logs: PathBuf,
    stop: Arc<AtomicBool>,
    trusted: bool,
    driver: Option<Driver>,
    breaks: usize,
    /// Whether its `hello` lists no call that it can make.
    says_no_words: bool,
}

impl Process {
    /// Starts the driver, as a user of its own unless it is trusted. Its standard error goes to a file in `logs`.
    ///
    /// # Errors
    /// If it does not start, or does not refuse a word that nobody knows: such a driver would pass every case.
    pub fn start(
        manifest: &Manifest,
        logs: PathBuf,
        stop: Arc<AtomicBool>,
        trusted: bool,
    ) -> Result<Process> {
        let mut process = Process {
            manifest: manifest.clone(),
            logs,
            stop,
            trusted,
            driver: None,
            breaks: 0,
            says_no_words: false,
        };
        match process.driver()?.make(&with_unknown_word())? {
            Reported::Unsupported { what } if what == "call" => bail!(
                "{} cannot be audited: its driver has no command `call`; the page \"The driver protocol\" of the documentation says how to add it",
                manifest.client
            ),
            Reported::Unsupported { .. } if process.says_no_words => bail!(
                "{} cannot be audited: its driver's `hello` has no `calls`, the words that `needs` of a call may have; \
                 the page \"The driver protocol\" of the documentation lists them",
                manifest.client
            ),
            Reported::Unsupported { .. } => Ok(process),
            reported => bail!(
                "{} cannot be audited: its driver does not refuse a word of `needs` that nobody knows, and reports {reported}; \
                 the page \"The driver protocol\" of the documentation says how it refuses one",
                manifest.client
            ),
        }
    }

    fn driver(&mut self) -> Result<&mut Driver> {
        if self.driver.is_none() {
            let mut driver = Driver::start(
                &self.manifest,
                None,
                &new_log(&self.logs, &self.manifest.client),
                PATIENCE,
                self.stop.clone(),
                self.trusted,
                Limits::of(1),
            )?;
            self.says_no_words = driver.hello()?.calls.is_empty();
            self.driver = Some(driver);
        }
        Ok(self.driver.as_mut().expect("it was started"))
    }
}

impl Subject for Process {
    fn name(&self) -> &str {
        &self.manifest.client
    }

    fn make(&mut self, call: &CallOptions) -> Result<Reported> {
        match self.driver()?.make(call) {
            Err(error) if error.is::<Interrupted>() => Err(error),
            // The driver hangs or has ended, so another one is started.
            Err(error) => {
                self.driver = None;
                self.breaks += 1;
                // It starts now, so that the next call does not seem to last as long. If it fails, that call says so.
                let _ = self.driver();
                ensure!(
                    self.breaks < MOST_BREAKS,
                    "{} broke {MOST_BREAKS} times in a row: {error:#}",
                    self.manifest.client
                );
                let why = format!("{error:#}");
                Ok(match error.downcast_ref::<DriverError>() {
                    Some(error) => Reported::of_problem(&error.problem, why),
                    None => Reported::Broken { why },
                })
            }
            reported => {
                self.breaks = 0;
                reported
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_late_driver_tells_of_its_client_and_a_broken_one_does_not() {
        let refused = |kind: &str| Problem::Refused(kind.into(), "what".into());
        let ended = || "exit status: 7".to_owned();
        let why = || "why".to_owned();
        let broken = || Reported::Broken { why: why() };
        let table = [
            (
                Problem::Late(PATIENCE, "waits"),
                Reported::Nothing { why: why() },
            ),
            (
                refused("unsupported"),
                Reported::Unsupported {
                    what: "what".into(),
                },
            ),
            (refused("other"), broken()),
            (
                Problem::NotStarted(io::ErrorKind::NotFound.into()),
                broken(),
            ),
            (Problem::EndedAtStart(ended()), broken()),
            (Problem::Ended(ended()), broken()),
            (
                Problem::Rubbish("debug".into(), "not a reply".into()),
                broken(),
            ),
            (Problem::HoldsTooMany(1), broken()),
        ];
        for (problem, expected) in table {
            assert_eq!(Reported::of_problem(&problem, why()), expected);
        }
    }

    #[test]
    fn a_reply_without_an_outcome_is_none() {
        let empty: CallReply = serde_json::from_str(r#"{"ms":1}"#).unwrap();
        let call = CallOptions::default();
        assert!(matches!(
            reported(empty.clone(), &call),
            Reported::Broken { .. }
        ));
        let close = CallOptions {
            by: Some("close".into()),
            ..call
        };
        assert!(matches!(reported(empty, &close), Reported::Response { .. }));
    }
}
