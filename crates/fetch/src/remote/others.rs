//! Other processes that work on a job in object storage: a process that has nothing left to begin waits for what they
//! hold.
//!
//! A process shows that it lives by its note, which it writes every few seconds. Only changes count and not times,
//! because the clocks of machines differ.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Remote;
use super::all_parts::startable;
use super::mirror::claim_of;
use crate::error::{Error, Result};
use crate::run::Running;
use crate::start::Started;

/// How often the store is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A process without a sign of life for so long has ended, or is stopped.
const SILENCE: Duration = Duration::from_secs(15);

/// Signs of life, by what gave them: what it was, and when it was new.
#[derive(Default)]
pub(super) struct Others(HashMap<String, (String, Instant)>);

impl Others {
    /// Waits until no part may be begun, or other processes have left some. Returns those to begin.
    ///
    /// # Errors
    /// When the store cannot be read, or someone ended the run.
    pub fn wait(
        &mut self,
        remote: &Remote,
        started: &Started,
        with: &mut Running<'_>,
    ) -> Result<Vec<u32>> {
        let mut has_said = false;
        loop {
            remote.refresh(&started.folder)?;
            let left = startable(started);
            let abandoned = self.abandoned(remote, &left)?;
            if left.is_empty() || !abandoned.is_empty() {
                return Ok(abandoned);
            }
            if !std::mem::replace(&mut has_said, true) {
                let count = left.len();
                with.observer.say(&format!(
                    "parts that other processes took over and have not done: {count}; waiting for them"
                ));
            }
            if with.stop.load(Ordering::Relaxed) {
                let count = left.len();
                return Err(Error::Interrupted(format!(
                    "stopped as requested: parts that other processes have not done yet: {count}"
                )));
            }
            sleep(LOOK);
        }
    }

    /// Those of these parts whose processes have given no sign of life for a while.
    fn abandoned(&mut self, remote: &Remote, parts: &[u32]) -> Result<Vec<u32>> {
        let now = Instant::now();
        for found in remote.store.list("workers")? {
            let worker = found.name.trim_end_matches(".json");
            self.note(worker, format!("{:?}", found.modified), now);
        }
        let mut abandoned = Vec::new();
        for part in parts {
            let Some((attempt, worker)) = remote.newest_claim(*part)? else {
                abandoned.push(*part);
                continue;
            };
            let claim = format!("{part}/{attempt}");
            self.note(&claim, String::new(), now);
            let lives = |of: &str| {
                let last = self.0.get(of).map(|(_, at)| *at);
                last.is_some_and(|at| now - at < SILENCE)
            };
            if !lives(&worker) && !lives(&claim) {
                abandoned.push(*part);
            }
        }
        Ok(abandoned)
    }

    /// Notes a sign of life, if it is a new one.
    fn note(&mut self, of: &str, sign: String, now: Instant) {
        match self.0.get(of) {
            Some((known, _)) if *known == sign => {}
            _ => drop(self.0.insert(of.to_owned(), (sign, now))),
        }
    }
}

impl Remote {
    /// The newest attempt at a part, and its worker; none if nobody has begun it.
    fn newest_claim(&self, part: u32) -> Result<Option<(u32, String)>> {
        let Some(attempt) = self.attempts(part)?.into_keys().max() else {
            return Ok(None);
        };
        let text = self.store.read(&claim_of(part, attempt))?;
        let text = text.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let worker = text.split(' ').next().unwrap_or_default();
        Ok(Some((attempt, worker.to_owned())))
    }
}
