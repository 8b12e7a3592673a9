//! How far a run is, told now and then.

use std::time::{Duration, Instant};

use super::{Driver, NOTE, TELL};
use crate::plan::{Folder, write_whole};
use crate::run::view::Snapshot;

impl Driver<'_> {
    /// Now and then: tells how far it is, and asks whether parts were taken over.
    pub(super) fn look_around(&mut self) {
        let now = Instant::now();
        if now - self.clock.told < TELL {
            return;
        }
        self.clock.told = now;
        let snapshot = self.snapshot(now);
        self.observer.progress(&snapshot);
        if now - self.clock.noted >= NOTE {
            self.clock.noted = now;
            self.drop_taken_over();
            if self.options.note_progress {
                note(self.folder, &snapshot);
            }
        }
    }

    pub(super) fn snapshot(&mut self, now: Instant) -> Snapshot {
        let mut tally = self.summary.tally.clone();
        self.finishing.values().for_each(|part| tally.add(part));
        self.open.iter().for_each(|part| tally.add(&part.tally));
        let history = &mut self.clock.history;
        history.push_back((now, tally.records));
        while history.len() > 2 && now - history[0].0 > Duration::from_secs(5) {
            history.pop_front();
        }
        let (since, records) = history[0];
        let seconds = (now - since).as_secs_f64();
        let rate = if seconds > 0.0 {
            (tally.records - records.min(tally.records)) as f64 / seconds
        } else {
            0.0
        };
        let hosts = self.open.iter().flat_map(|part| part.hosts.slowest(5, now));
        Snapshot {
            inputs: self.plan.inputs,
            tally,
            parts: self.plan.parts.len() as u64,
            parts_done: self.parts_done,
            in_flight: self.in_flight as u64,
            rate,
            seconds: (now - self.clock.begun).as_secs_f64(),
            pid: std::process::id(),
            hosts: hosts.take(20).collect(),
        }
    }
}

/// For `status`. Whoever cannot write it says nothing: the records say all of it.
pub(super) fn note(folder: &Folder, snapshot: &Snapshot) {
    if let Ok(text) = serde_json::to_vec(snapshot) {
        let _ = write_whole(&folder.progress(), &text);
    }
}
