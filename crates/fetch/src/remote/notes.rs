//! The notes of workers in object storage: each writes how far it is every few seconds, and `status` reads them.

use std::fs::{self, File};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use super::Remote;
use crate::error::{Error, Result, at};
use crate::plan::{Folder, replace};
use crate::run::worker_name;

/// How often a worker writes its note, and learns which parts others have done.
const EVERY: Duration = Duration::from_secs(3);

/// How long the end waits for the last request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes the note of this worker until it is dropped. A failure is ignored, because the records have everything.
pub struct Notes {
    ending: Option<Sender<()>>,
    ended: Receiver<()>,
}

impl Notes {
    /// Begins; whether the worker needs to know which parts others have done.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn begin(remote: &Arc<Remote>, folder: &Folder, knows_done: bool) -> Result<Notes> {
        let (remote, folder) = (remote.clone(), folder.clone());
        let (ending, is_ending) = channel();
        let (end, ended) = channel();
        let write = move || {
            let mut is_written = false;
            while let Err(RecvTimeoutError::Timeout) = is_ending.recv_timeout(EVERY) {
                if knows_done {
                    let _ = remote.refresh(&folder);
                }
                if let Ok(text) = fs::read(folder.worker(&worker_name())) {
                    is_written |= remote.store.write(&name(), text).is_ok();
                }
            }
            if is_written {
                // Gone, and not silent.
                let _ = remote.store.remove(&name());
            }
            drop(end);
        };
        let thread = Builder::new().name("notes".into()).spawn(write);
        thread.map_err(|error| Error::failed(format!("cannot start a thread: {error}")))?;
        Ok(Notes {
            ending: Some(ending),
            ended,
        })
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.ending = None;
        // A store that is away must not delay the end.
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

fn name() -> String {
    format!("workers/{}.json", worker_name())
}

impl Remote {
    /// Brings the notes of all workers into a folder, as old as they are.
    pub(super) fn bring_notes(&self, folder: &Folder) -> Result<()> {
        let home = folder.workers();
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(&home).map_err(at("create", &home))?;
        for found in self.store.list("workers")? {
            // The name of a file, and nothing that leads elsewhere.
            let Some(worker) = found
                .name
                .strip_suffix(".json")
                .filter(|it| !it.contains('/'))
            else {
                continue;
            };
            // One that ends meanwhile takes its note away.
            let Some(text) = self.store.read(&format!("workers/{}", found.name))? else {
                continue;
            };
            let path = folder.worker(worker);
            let written = replace(&path, &text).and_then(|()| {
                let file = File::options().write(true).open(&path)?;
                file.set_modified(found.modified)
            });
            written.map_err(at("write", &path))?;
        }
        Ok(())
    }
}
