//! The progress of a thread, reported to the view of all threads.

use std::time::Instant;

use super::{Driver, LOOK_EVERY, REPORT_EVERY};
use crate::error::Result;
use crate::run::watch::{News, Progress};

/// Most hosts of a part that are reported.
const MOST_HOSTS: usize = 5;

impl Driver<'_> {
    /// Reports the progress, and looks whether parts were taken over.
    pub(super) fn look_around(&mut self) -> Result<()> {
        let now = Instant::now();
        if now - self.reported < REPORT_EVERY {
            return Ok(());
        }
        self.reported = now;
        self.leave_lost()?;
        if now - self.looked >= LOOK_EVERY {
            self.looked = now;
            self.drop_taken_over()?;
        }
        self.report();
        Ok(())
    }

    /// Says something that a person should know.
    pub(super) fn say(&self, sentence: String) {
        // Fails when nobody watches any more.
        let _ = self.news.send(News::Sentence(sentence));
    }

    pub(super) fn report(&self) {
        let now = Instant::now();
        let mut tally = self.summary.tally.clone();
        self.finishing.values().for_each(|part| tally.add(part));
        self.open.iter().for_each(|part| tally.add(&part.tally));
        let hosts = self.open.iter();
        let progress = Progress {
            tally,
            parts_done: self.parts_done,
            in_flight: self.flights.count() as u64,
            found: self.found,
            open: self.open.iter().map(|part| part.view(now)).collect(),
            hosts: hosts
                .flat_map(|part| part.hosts.slowest(MOST_HOSTS, now))
                .collect(),
        };
        let _ = self.news.send(News::Progress(self.number, progress));
    }
}
