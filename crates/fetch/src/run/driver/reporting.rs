//! The progress of a run, reported now and then.

use std::time::{Duration, Instant};

use super::{Driver, NOTE_EVERY, REPORT_EVERY};
use crate::error::Result;
use crate::plan::replace;
use crate::run::supply::worker_name;
use crate::run::view::{PartView, Snapshot};

impl Driver<'_> {
    /// Reports the progress, and looks whether parts were taken over.
    pub(super) fn look_around(&mut self) -> Result<()> {
        let now = Instant::now();
        if now - self.clock.reported < REPORT_EVERY {
            return Ok(());
        }
        self.clock.reported = now;
        self.leave_lost()?;
        let snapshot = self.snapshot(now);
        self.observer.progress(&snapshot);
        if snapshot.trouble != self.trouble {
            let sentence = snapshot.trouble.as_deref();
            self.observer.say(sentence.unwrap_or("the worker resumes"));
            self.trouble.clone_from(&snapshot.trouble);
        }
        if now - self.clock.noted >= NOTE_EVERY {
            self.clock.noted = now;
            self.drop_taken_over()?;
            self.note(&snapshot);
        }
        Ok(())
    }

    /// Writes the progress for `status`. A failure is ignored, because the records have everything.
    pub(super) fn note(&self, snapshot: &Snapshot) {
        let text = serde_json::to_vec(snapshot).unwrap_or_default();
        if self.options.note_progress {
            let _ = replace(&self.folder.progress(), &text);
        }
        if self.options.note_worker {
            // Not with the folders above it: a round that is done takes its own away.
            let _ = std::fs::create_dir(self.folder.workers());
            let _ = replace(&self.folder.worker(&worker_name()), &text);
        }
    }

    pub(super) fn snapshot(&mut self, now: Instant) -> Snapshot {
        let mut tally = self.summary.tally.clone();
        self.finishing.values().for_each(|part| tally.add(part));
        self.open.iter().for_each(|part| tally.add(&part.tally));
        let history = &mut self.clock.history;
        // Records of earlier attempts do not count for the rate of this run.
        let records = tally.records.saturating_sub(self.found);
        history.push_back((now, records));
        while history.len() > 2 && now - history[0].0 > Duration::from_secs(5) {
            history.pop_front();
        }
        let (since, before) = history[0];
        let seconds = (now - since).as_secs_f64();
        let rate = if seconds > 0.0 {
            records.saturating_sub(before) as f64 / seconds
        } else {
            0.0
        };
        let open: Vec<PartView> = self.open.iter().map(|part| part.view(now)).collect();
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
            worker: worker_name(),
            hosts: hosts.take(20).collect(),
            open,
            trouble: self.supply.trouble(),
        }
    }
}
