//! Records added up in flat memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::histogram::Histogram;
use super::timeline::{Moment, Timeline};
use crate::host::Host;
use crate::record::{Elapsed, Failure, Outcome};

/// Most hosts that are listed by name.
const MOST_HOSTS: usize = 20_000;

/// Most kinds of failures that are listed.
const MOST_FAILURES: usize = 200;

/// Most examples of a failure.
const MOST_EXAMPLES: usize = 3;

/// The fields of a record that a report shows. To read the others of each record would take half of its time.
#[derive(Debug, Default, Deserialize)]
pub struct Reported<'a> {
    pub n: u64,
    pub line: u64,
    pub outcome: Outcome,
    pub ok: bool,
    #[serde(borrow, default)]
    pub url: Cow<'a, str>,
    pub status: Option<u16>,
    pub error: Option<Failure>,
    pub why: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub at: Cow<'a, str>,
    #[serde(default)]
    pub ms: Elapsed,
    pub bytes: Option<u64>,
}

/// The class of an outcome in charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Good,
    /// A response came, and the check does not hold.
    Bad,
    Error,
    /// Skipped, unreached, unknown or invalid.
    Other,
}

impl Part {
    pub(super) const ALL: [Part; 4] = [Part::Good, Part::Bad, Part::Error, Part::Other];

    pub(super) fn class(self) -> &'static str {
        ["good", "bad", "error", "other"][self as usize]
    }

    pub(super) fn words(self) -> &'static str {
        [
            "good",
            "other responses",
            "error",
            "skipped, unreached, unknown or invalid",
        ][self as usize]
    }

    fn of(record: &Reported<'_>) -> Part {
        match record.outcome {
            Outcome::Response | Outcome::Unchanged if record.ok => Part::Good,
            // The server has replaced the file since.
            Outcome::Response | Outcome::Unchanged if record.error.is_some() => Part::Error,
            Outcome::Response | Outcome::Unchanged => Part::Bad,
            Outcome::Error => Part::Error,
            _ => Part::Other,
        }
    }
}

type OfPhase = fn(&Elapsed) -> f64;

/// The phases, and where a record has them.
pub(super) const PHASES: [(&str, OfPhase); 6] = [
    ("resolve", |ms| ms.resolve),
    ("connect", |ms| ms.connect),
    ("TLS", |ms| ms.tls),
    ("wait", |ms| ms.wait),
    ("read", |ms| ms.read),
    ("total", |ms| ms.total),
];

/// The sums over all records.
#[derive(Clone, Debug, Default)]
pub struct ReportData {
    parts: [u64; 4],
    outcomes: BTreeMap<Outcome, u64>,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) timeline: Timeline<4>,
    pub(super) phases: [Histogram; 6],
    pub(super) hosts: HashMap<String, OfHost>,
    /// Of hosts that are too many.
    pub(super) other_hosts: OfHost,
    pub(super) failures: BTreeMap<String, Failures>,
    bytes: u64,
}

/// The sums of a host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfHost {
    pub parts: [u64; 4],
    pub ms: f64,
    pub slowest: f64,
}

impl OfHost {
    pub(super) fn all(&self) -> u64 {
        self.parts.iter().sum()
    }

    pub(super) fn failed(&self) -> u64 {
        self.parts[Part::Bad as usize] + self.parts[Part::Error as usize]
    }

    /// Times of responses and errors.
    pub(super) fn mean(&self) -> Option<f64> {
        let timed = self.all() - self.parts[Part::Other as usize];
        (timed > 0 && self.ms > 0.0).then(|| self.ms / timed as f64)
    }
}

/// One sort of failure.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    pub count: u64,
    pub not_sent: bool,
    pub examples: Vec<Example>,
}

/// One input that failed.
#[derive(Clone, Debug)]
pub(super) struct Example {
    pub n: u64,
    pub line: u64,
    pub url: String,
    pub message: String,
}

impl ReportData {
    /// Adds one record.
    pub fn add(&mut self, record: &Reported<'_>) {
        let part = Part::of(record);
        self.parts[part as usize] += 1;
        *self.outcomes.entry(record.outcome).or_default() += 1;
        if let Some(status) = record.status {
            *self.statuses.entry(status).or_default() += 1;
        }
        self.bytes = self.bytes.saturating_add(record.bytes.unwrap_or_default());
        if let Some(at) = Moment::parse(&record.at) {
            self.timeline.add(at, part as usize);
        }
        for (histogram, (_, of)) in self.phases.iter_mut().zip(PHASES) {
            histogram.add(of(&record.ms));
        }
        self.add_to_host(record, part);
        self.add_failure(record, part);
    }

    fn add_to_host(&mut self, record: &Reported<'_>, part: Part) {
        let Ok(host) = Host::of(&record.url) else {
            return;
        };
        let is_full = self.hosts.len() >= MOST_HOSTS;
        let of = match self.hosts.get_mut(host.as_str()) {
            Some(of) => of,
            None if is_full => &mut self.other_hosts,
            None => self.hosts.entry(host.into_owned()).or_default(),
        };
        of.parts[part as usize] += 1;
        if part != Part::Other && record.ms.total.is_finite() {
            of.ms += record.ms.total;
            of.slowest = of.slowest.max(record.ms.total);
        }
    }

    fn add_failure(&mut self, record: &Reported<'_>, part: Part) {
        let sort = match part {
            Part::Good => return,
            Part::Bad => format!("status {}, not good", record.status.unwrap_or_default()),
            Part::Error | Part::Other => sort(record),
        };
        if self.failures.len() >= MOST_FAILURES && !self.failures.contains_key(&sort) {
            return;
        }
        let failures = self.failures.entry(sort).or_default();
        failures.count += 1;
        failures.not_sent = part == Part::Other;
        if failures.examples.len() < MOST_EXAMPLES {
            let message = record.error.as_ref().map(|error| error.message.as_str());
            failures.examples.push(Example {
                n: record.n,
                line: record.line,
                url: super::text::short(&record.url, 200),
                message: super::text::short(message.unwrap_or_default(), 300),
            });
        }
    }

    /// How many inputs.
    pub fn all(&self) -> u64 {
        self.parts.iter().sum()
    }

    pub(super) fn part(&self, part: Part) -> u64 {
        self.parts[part as usize]
    }

    pub(super) fn outcome(&self, outcome: Outcome) -> u64 {
        self.outcomes.get(&outcome).copied().unwrap_or_default()
    }

    /// Those that ended in a response or an error.
    pub(super) fn requests(&self) -> u64 {
        self.outcome(Outcome::Response) + self.outcome(Outcome::Error)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn span(&self) -> Option<(Moment, Moment)> {
        self.timeline.span
    }

    pub(super) fn total_time(&self) -> &Histogram {
        &self.phases[PHASES.len() - 1]
    }
}

/// The error in a few words.
fn sort(record: &Reported<'_>) -> String {
    let outcome = record.outcome.name();
    let words = match (&record.error, &record.why) {
        (Some(error), _) => match &error.phase {
            Some(phase) => format!("{outcome}: {}, phase {phase}", error.kind),
            None => format!("{outcome}: {}", error.kind),
        },
        (None, Some(why)) => format!("{outcome}: {why}"),
        (None, None) => outcome.to_owned(),
    };
    super::text::short(&words, 80)
}
