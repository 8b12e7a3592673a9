//! All parts of a job in object storage, done by one process.

use std::sync::Arc;

use super::others::Others;
use super::{Notes, Remote};
use crate::error::Result;
use crate::run::{Options, Running, Summary, tally};
use crate::start::Started;

impl Remote {
    /// Does the parts that are not done; those that another process works on are taken over. Parts that other processes
    /// took over meanwhile are waited for, and taken back when their processes have fallen silent.
    ///
    /// # Errors
    /// When it cannot be done, or someone ended it.
    pub fn run(self: &Arc<Remote>, started: &Started, with: &mut Running<'_>) -> Result<Summary> {
        let folder = &started.folder;
        self.refresh(folder)?;
        let notes = Notes::begin(self, folder, true)?;
        let mut summary = Summary::default();
        let mut parts = startable(started);
        while !parts.is_empty() {
            let options = Options {
                parts: parts.clone(),
                note_worker: true,
                note_progress: false,
                ..with.options.clone()
            };
            let ran = started.run(&mut Running::new(&options, with.stop, &mut *with.observer))?;
            summary.took += ran.took;
            summary.written += ran.written;
            self.refresh(folder)?;
            let left = parts.iter().filter(|part| !folder.commit(**part).exists());
            parts = match left.count() {
                0 => startable(started),
                _ => Others::default().wait(self, started, with)?,
            };
        }
        drop(notes);
        summary.tally = tally(folder, &started.plan)?;
        Ok(summary)
    }
}

/// The parts that may be begun. Those of an addition may have the same hosts, so they come after those before it.
pub(super) fn startable(started: &Started) -> Vec<u32> {
    let parts = started.plan.startable(&started.folder);
    parts.map(|part| part.number).collect()
}
