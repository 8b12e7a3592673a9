//! All parts of a job in object storage, done by one process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Notes, Remote};
use crate::error::{Error, Result};
use crate::run::{Observer, Options, Summary, tally};
use crate::start::Started;

impl Remote {
    /// Does the parts that are not done; those that another process works on are taken over.
    ///
    /// # Errors
    /// When it cannot be done, someone ended it, or other processes took parts over and have not done them yet.
    pub fn run(
        self: &Arc<Remote>,
        started: &Started,
        options: &Options,
        stop: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Summary> {
        let folder = &started.folder;
        self.refresh(folder)?;
        let notes = Notes::begin(self, folder, true)?;
        let mut summary = Summary::default();
        loop {
            // Those of an addition may have the same hosts, so they come after those before it.
            let parts: Vec<u32> = started
                .plan
                .startable(folder)
                .map(|part| part.number)
                .collect();
            if parts.is_empty() {
                break;
            }
            let options = Options {
                parts: parts.clone(),
                note_worker: true,
                note_progress: false,
                ..options.clone()
            };
            let ran = started.run(&options, stop, observer)?;
            summary.took += ran.took;
            summary.written += ran.written;
            self.refresh(folder)?;
            let left = parts.iter().filter(|part| !folder.commit(**part).exists());
            let left = left.count();
            if left > 0 {
                return Err(Error::failed(format!(
                    "{left} parts were taken over by other processes, which have not done them yet: the same command does what they leave"
                )));
            }
        }
        drop(notes);
        summary.tally = tally(folder, &started.plan)?;
        Ok(summary)
    }
}
