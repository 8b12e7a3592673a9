//! Failures of drivers, each as one sentence that says what to do.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::hidden::Hidden;
use super::words::cause;

/// Lines of a driver's last words that are shown.
const LAST_LINES: usize = 8;

/// A driver that did not do its part.
#[derive(Debug)]
pub struct DriverError {
    /// The client.
    pub client: String,
    /// The client as a command line names it.
    pub argument: String,
    /// The command that it was given.
    pub command: String,
    /// What happened.
    pub problem: Problem,
    /// File that holds all that the driver wrote to its error output.
    pub log: PathBuf,
    /// The end of that output, which may be long.
    pub last_words: String,
    /// If it had a user of its own and did not start: a file that is hidden from that user.
    pub hidden: Option<Hidden>,
}

/// How a driver failed.
#[derive(Debug)]
pub enum Problem {
    /// It could not be started.
    NotStarted(std::io::Error),
    /// Its process ended before its first word.
    EndedAtStart(String),
    /// Its process ended.
    Ended(String),
    /// It gave no response in this time, and what its process did at the end of it.
    Late(Duration, &'static str),
    /// A line that is not a reply, and why.
    Rubbish(String, String),
    /// It replied that it cannot: the error's kind, and its words.
    Refused(String, String),
    /// It keeps so many connections open that there may be none for others.
    HoldsTooMany(u64),
}

impl DriverError {
    /// The failure, in a sentence without its subject, which is the driver.
    pub fn happened(&self) -> String {
        let command = &self.command;
        match &self.problem {
            Problem::NotStarted(error) => {
                let missing = "`hecaton drivers` says what is missing";
                let advice = self.advice().unwrap_or_else(|| missing.into());
                format!("cannot be started ({error}); {advice}")
            }
            Problem::EndedAtStart(status) => {
                let advice = self.advice().map(|advice| format!("; {advice}"));
                let why = cause(&self.last_words).map(|it| format!(": {it}"));
                let why = why.or(advice).unwrap_or_default();
                format!("ended ({status}) before its first word{why}")
            }
            Problem::Ended(status) => {
                let why = cause(&self.last_words).map_or_else(String::new, |it| format!(": {it}"));
                format!("ended ({status}) during `{command}`{why}")
            }
            Problem::Late(waited, doing) => {
                let waited = waited.as_secs_f64();
                format!(
                    "did not reply to `{command}` within {waited:.1} s (its process {doing} then)"
                )
            }
            Problem::Rubbish(line, why) => format!("replied to `{command}` with {line:?}: {why}"),
            Problem::Refused(kind, what) => format!("refused `{command}` ({kind}: {what})"),
            Problem::HoldsTooMany(count) => format!(
                "was ended: it held {count} connections to the server open that carried nothing, and others need them"
            ),
        }
    }

    /// Advice if the driver lacks a file.
    fn advice(&self) -> Option<String> {
        let hidden = self.hidden.as_ref();
        hidden.map(|hidden| hidden.advice(&self.client))
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the driver of {} {}", self.client, self.happened())?;
        let lines: Vec<&str> = self.last_words.lines().collect();
        if lines.is_empty() {
            return Ok(());
        }
        write!(f, "\n  its last words, from {}:", self.log.display())?;
        for line in &lines[lines.len().saturating_sub(LAST_LINES)..] {
            write!(f, "\n  | {line}")?;
        }
        match (&self.problem, self.advice()) {
            (Problem::EndedAtStart(_), Some(advice)) => write!(f, "\n  {advice}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for DriverError {}

/// Someone pressed Ctrl-C or sent SIGTERM.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("stopped on request")]
pub struct Interrupted;
