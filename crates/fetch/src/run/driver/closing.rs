//! Parts that end: finalized and committed, or lost to another worker.

use std::time::{Duration, Instant};

use super::Driver;
use super::taken_over::{is_taken_over, unless_taken_over};
use crate::error::Result;
use crate::finalize::finalize;
use crate::plan::Folder;
use crate::run::part::OpenPart;
use crate::run::supply::Standing;
use crate::segment::{Commit, Counted, publish};
use crate::sink::Partials;

/// How long requests in flight may take to end after another worker has begun their part.
const LEAVING: Duration = Duration::from_secs(3);

impl Driver<'_> {
    /// Hands lines over that have waited for long enough.
    pub(super) fn write_due(&mut self, all: bool) -> Result<()> {
        let now = Instant::now();
        for part in &mut self.open {
            let lines = part.take_lines(now, all || part.is_done());
            let lines = unless_taken_over(self.folder, part.number, part.attempt, lines)?;
            if let Some(lines) = lines.flatten() {
                self.writer.lines(part.number, lines);
            }
        }
        Ok(())
    }

    /// Finalizes the parts that are done.
    pub(super) fn close_done(&mut self) -> Result<()> {
        while let Some(index) = self
            .open
            .iter()
            .position(|part| part.is_done() && part.lines.is_empty())
        {
            let part = self.open.remove(index);
            self.summary.written += part.written();
            part.partials.iter().for_each(Partials::clear);
            let finished = part.sink.finish();
            if unless_taken_over(self.folder, part.number, part.attempt, finished)?.is_none() {
                self.writer.close(part.number);
                self.gone(part.number);
                self.shared.supply.lock().left(part.number);
                continue;
            }
            self.finishing.insert(part.number, part.tally.clone());
            let (folder, inputs) = (self.folder.clone(), part.inputs);
            let (number, attempt, mut counts) = (part.number, part.attempt, part.counts);
            let finish = move |bytes| {
                counts.push(Counted { attempt, bytes });
                finish(&folder, number, attempt, counts, inputs)
            };
            self.writer.finish(number, Box::new(finish));
        }
        Ok(())
    }

    /// Leaves the parts that another worker has begun: nothing more of them is sent, and requests in flight get a while
    /// to end, so that their records still count. A part that another worker has done is dropped at once.
    pub(super) fn drop_taken_over(&mut self) -> Result<()> {
        let now = Instant::now();
        let mut index = 0;
        while let Some(part) = self.open.get_mut(index) {
            let is_done = self.folder.is_done(part.number);
            let is_begun = || self.folder.attempt(part.number, part.attempt + 1).exists();
            if !is_done && part.leaves_at.is_none() && !is_begun() {
                index += 1;
                continue;
            }
            part.is_silent = true;
            let leaves_at = *part.leaves_at.get_or_insert(now + LEAVING);
            if !is_done && part.in_flight > 0 && now < leaves_at {
                index += 1;
                continue;
            }
            let part = self.open.remove(index);
            let number = part.number;
            if is_done {
                part.partials.iter().for_each(Partials::clear);
            }
            self.close_early(part)?;
            self.gone(number);
            self.shared.supply.lock().left(number);
            self.parts_done += u64::from(is_done);
        }
        Ok(())
    }

    /// Hands over what is known of a part that this worker leaves.
    fn close_early(&mut self, mut part: OpenPart) -> Result<()> {
        self.summary.written += part.written();
        let lines = part.take_lines(Instant::now(), true);
        let lines = unless_taken_over(self.folder, part.number, part.attempt, lines)?;
        if let Some(lines) = lines.flatten() {
            self.writer.lines(part.number, lines);
        }
        self.writer.close(part.number);
        Ok(())
    }

    /// Looks at whether the parts are still ours: those that may not be are left, with what is known of them on the
    /// disk.
    pub(super) fn leave_lost(&mut self) -> Result<()> {
        let supply = &self.shared.supply;
        self.announced.retain(|announced| {
            let is_lost = supply.lock().standing(announced.part) == Standing::Lost;
            if is_lost {
                supply.lock().left(announced.part);
            }
            !is_lost
        });
        let mut index = 0;
        while let Some(part) = self.open.get_mut(index) {
            let standing = self.shared.supply.lock().standing(part.number);
            part.is_silent = standing != Standing::Held || part.leaves_at.is_some();
            if standing != Standing::Lost {
                index += 1;
                continue;
            }
            let part = self.open.remove(index);
            let number = part.number;
            self.close_early(part)?;
            self.shared.supply.lock().left(number);
            self.say(format!(
                "part {number} is left to whoever gets it next: its lease is over"
            ));
        }
        Ok(())
    }
}

/// Finalizes a part and commits it; false if another worker was first.
fn finish(
    folder: &Folder,
    part: u32,
    attempt: u32,
    counts: Vec<Counted>,
    inputs: u64,
) -> Result<bool> {
    let draft_results = Commit::final_draft(folder, part, attempt);
    if is_taken_over(folder, part, attempt) {
        return Ok(false);
    }
    let tally = finalize(folder, part, &counts, inputs, &draft_results).inspect_err(|_| {
        // Half a file is of no use, and takes space.
        let _ = std::fs::remove_file(&draft_results);
    })?;
    let commit = Commit {
        part,
        attempt,
        counts,
        tally,
        round: None,
    };
    let is_ours = commit.create(folder)?;
    match is_ours {
        true => publish(folder, &commit)?,
        false => drop(std::fs::remove_file(&draft_results)),
    }
    Ok(is_ours)
}
