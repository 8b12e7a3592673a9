//! The workers of a folder, as each of them noted how far it is, and which part holds up the end.

use std::fs;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::plan::Folder;
use crate::run::Snapshot;

/// A worker writes every second. One that has written nothing for so long is gone, or stopped.
const SILENCE: Duration = Duration::from_secs(10);

/// A note that is as old as this is nobody's any more.
const FORGOTTEN: Duration = Duration::from_secs(24 * 3600);

/// A worker.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worker {
    /// Seconds since its last sign of life, by this machine's clock and the folder's.
    pub silent: f64,
    /// How far it was.
    #[serde(flatten)]
    pub snapshot: Snapshot,
}

impl Worker {
    /// Whether its last sign of life is recent.
    pub fn is_here(&self) -> bool {
        self.silent < SILENCE.as_secs_f64()
    }
}

/// The workers of a folder that have not ended, by their names. One that was killed stays, silent.
pub fn workers(folder: &Folder) -> Vec<Worker> {
    let Ok(entries) = fs::read_dir(folder.workers()) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let notes = paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    let mut found: Vec<Worker> = notes
        .filter_map(|path| {
            // One that ends meanwhile takes its note away.
            let written = fs::metadata(&path)
                .and_then(|about| about.modified())
                .ok()?;
            let silent = SystemTime::now()
                .duration_since(written)
                .unwrap_or_default();
            let snapshot = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
            (silent < FORGOTTEN).then_some(Worker {
                silent: silent.as_secs_f64(),
                snapshot,
            })
        })
        .collect();
    found.sort_by(|one, other| one.snapshot.worker.cmp(&other.snapshot.worker));
    found
}
