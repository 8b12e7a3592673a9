//! Parts that end: finalized and committed, or lost to another worker.

use std::time::Instant;

use super::Driver;
use crate::error::{Result, at};
use crate::finalize::finalize;
use crate::plan::Folder;
use crate::run::part::OpenPart;
use crate::run::supply::Standing;
use crate::segment::{Commit, Counted, settle};

impl Driver<'_> {
    /// Hands lines over that have waited for long enough.
    pub(super) fn write_due(&mut self, all: bool) -> Result<()> {
        let now = Instant::now();
        for part in &mut self.open {
            let lines = part.take_lines(now, all || part.is_done());
            let lines = lines.map_err(at("write bodies below", self.folder.path()))?;
            if let Some(lines) = lines {
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
            part.sink
                .finish()
                .map_err(at("write bodies below", self.folder.path()))?;
            self.finishing.insert(part.number, part.tally.clone());
            let (folder, inputs) = (self.folder.clone(), part.inputs);
            let (number, attempt, mut counts) = (part.number, part.attempt, part.counts);
            let finish = move |bytes| {
                counts.push(Counted { attempt, bytes });
                finish(&folder, (number, attempt), counts, inputs)
            };
            self.writer.finish(number, Box::new(finish));
        }
        Ok(())
    }

    pub(super) fn drop_taken_over(&mut self) {
        let folder = self.folder;
        let is_taken = |part: &OpenPart| is_taken_over(folder, part.number, part.attempt);
        while let Some(index) = self.open.iter().position(is_taken) {
            let part = self.open.remove(index);
            self.summary.written += part.written();
            self.writer.close(part.number);
            self.gone(part.number);
            self.supply.left(part.number);
            self.parts_done += 1;
        }
    }

    /// Looks at whether the parts are still ours: those that may not be are left, with what is known of them on the disk.
    pub(super) fn leave_lost(&mut self) -> Result<()> {
        let mut index = 0;
        while let Some(part) = self.open.get_mut(index) {
            let standing = self.supply.standing(part.number);
            part.is_silent = standing != Standing::Held;
            if standing != Standing::Lost {
                index += 1;
                continue;
            }
            let mut part = self.open.remove(index);
            self.summary.written += part.written();
            let lines = part.take_lines(Instant::now(), true);
            if let Some(lines) = lines.map_err(at("write bodies below", self.folder.path()))? {
                self.writer.lines(part.number, lines);
            }
            self.writer.close(part.number);
            self.supply.left(part.number);
            self.observer.say(&format!(
                "part {} is left to whoever gets it next: its lease is over",
                part.number
            ));
        }
        Ok(())
    }
}

/// Whether another worker has begun a part after this attempt, or done it: then no later attempt may be left to see.
fn is_taken_over(folder: &Folder, part: u32, attempt: u32) -> bool {
    folder.attempt(part, attempt + 1).exists() || folder.commit(part).exists()
}

/// Seals a part and commits it; false if another worker was first.
fn finish(
    folder: &Folder,
    (part, attempt): (u32, u32),
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
    };
    let is_ours = commit.create(folder)?;
    match is_ours {
        true => settle(folder, &commit)?,
        false => drop(std::fs::remove_file(&draft_results)),
    }
    Ok(is_ours)
}
