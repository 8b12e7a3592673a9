//! One `go`: hands out requests, verifies and counts responses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::pace::Pace;
use crate::{Job, Outcome};

/// One `go`, shared by all that send.
pub struct Round {
    pub job: Arc<Job>,
    first: u64,
    count: u64,
    lat_every: u64,
    taken: AtomicU64,
    pace: Option<Pace>,
    tally: Mutex<Tally>,
}

#[derive(Default)]
struct Tally {
    done: u64,
    bytes: u64,
    sum: u32,
    errors: BTreeMap<String, u64>,
    latencies: BTreeMap<u64, u64>,
}

/// A document as a program would have it.
#[derive(Deserialize)]
struct Page {
    token: String,
    records: Vec<Record>,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "parsed as others parse it")]
struct Record {
    time: String,
    string: String,
    numbers: u32,
    float: f64,
    bool: bool,
}

impl Round {
    pub(crate) fn new(job: &Arc<Job>, command: &Value) -> Round {
        let number = |key: &str| command[key].as_u64().unwrap_or_default();
        Round {
            job: job.clone(),
            first: number("first"),
            count: number("count"),
            lat_every: number("lat_every").max(1),
            taken: AtomicU64::new(0),
            pace: Pace::of(command),
            tally: Mutex::default(),
        }
    }

    /// How long until a request that was taken is due; no time where each follows the end of another.
    pub fn left(&self, taken: Option<Instant>) -> Duration {
        let due = taken.filter(|_| self.pace.is_some());
        due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()))
    }

    /// The next URL, and when it was taken if it is to be timed; none when all are taken. At a rate, when it is due
    /// instead.
    pub fn take(&self) -> Option<(String, Option<Instant>)> {
        let n = self.taken.fetch_add(1, Ordering::Relaxed);
        let url = &self.job.url;
        (n < self.count).then(|| {
            let timed = match &self.pace {
                Some(pace) => Some(pace.due(n)),
                None => n.is_multiple_of(self.lat_every).then(Instant::now),
            };
            match self.job.append_id {
                true => (format!("{url}{}", self.first + n), timed),
                false => (url.clone(), timed),
            }
        })
    }

    /// Counts a response whose body has been read, or a failure.
    pub fn ended(&self, outcome: Outcome, taken: Option<Instant>) {
        let verified = outcome.and_then(|(status, body)| match status {
            200..300 => Ok((body.len(), self.check_value(&body).ok_or("check value")?)),
            status => Err(format!("status {status}")),
        });
        let mut tally = self.tally.lock().expect("nobody panics");
        match verified {
            Ok((bytes, check_value)) => {
                tally.done += 1;
                tally.bytes += bytes as u64;
                tally.sum = tally.sum.wrapping_add(check_value);
                if let Some(at) = taken {
                    let micros = bucket(at.elapsed().as_micros() as u64);
                    *tally.latencies.entry(micros).or_default() += 1;
                }
            }
            Err(kind) => *tally.errors.entry(kind).or_default() += 1,
        }
    }

    /// The check value at the end of a body. For a document, the numbers of all its records are added.
    fn check_value(&self, body: &[u8]) -> Option<u32> {
        match self.job.verify.as_str() {
            "none" => Some(0),
            "json" => {
                let page: Page = serde_json::from_slice(body).ok()?;
                let numbers = page.records.iter().map(|record| record.numbers);
                Some(numbers.fold(hex(page.token.as_bytes())?, u32::wrapping_add))
            }
            _ => hex(body.last_chunk::<8>()?),
        }
    }

    pub(crate) fn reply(&self) -> Value {
        let tally = self.tally.lock().expect("nobody panics");
        json!({
            "ok": true, "done": tally.done, "errors": self.count - tally.done, "errors_by": tally.errors,
            "bytes": tally.bytes, "sum": tally.sum, "lat_us": tally.latencies.iter().collect::<Vec<_>>(),
        })
    }
}

/// Microseconds to eight significant bits, rounded down.
fn bucket(micros: u64) -> u64 {
    let shift = (u64::BITS - micros.leading_zeros()).saturating_sub(8);
    micros >> shift << shift
}

fn hex(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
