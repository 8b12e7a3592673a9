//! How far a job is: what the folder says, and what the process noted that works on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use nix::fcntl::{Flock, FlockArg};
use serde::Serialize;

use crate::error::Result;
use crate::plan::{Folder, Part, Plan};
use crate::run::{PartView, Snapshot};
use crate::segment::load;

use super::workers::{Worker, workers};

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// Whether a process works on all of it now.
    pub is_running: bool,
    /// The workers that do parts of it.
    pub workers: Vec<Worker>,
    /// How far it is.
    #[serde(flatten)]
    pub snapshot: Snapshot,
}

impl Status {
    /// Whether all parts are done.
    pub fn is_done(&self) -> bool {
        self.snapshot.parts_done >= self.snapshot.parts
    }
}

/// How far the job of a folder is.
///
/// # Errors
/// When there is none.
pub fn status(folder: &Folder) -> Result<Status> {
    let plan = Plan::planned(folder)?;
    let is_running = is_locked(folder);
    let noted = std::fs::read(folder.progress()).ok();
    let noted: Option<Snapshot> = noted.and_then(|text| serde_json::from_slice(&text).ok());
    let (mut done, are_done) = committed(folder, &plan)?;
    let workers = workers(folder);
    add_workers(&mut done, &workers, &are_done);
    // The note is newer than the last part that is done, unless another process finished a part since.
    let snapshot = match noted {
        Some(noted)
            // A round writes other records in their place, and none when the job is not done.
            if workers.is_empty()
                && done.parts_done < done.parts
                && noted.tally.records >= done.tally.records
                && noted.inputs == done.inputs =>
        {
            let live = match is_running {
                true => noted,
                false => Snapshot {
                    rate: 0.0,
                    in_flight: 0,
                    hosts: Vec::new(),
                    open: Vec::new(),
                    ..noted
                },
            };
            Snapshot {
                parts_done: done.parts_done,
                parts: done.parts,
                ..live
            }
        }
        _ => done,
    };
    Ok(Status {
        is_running,
        workers,
        snapshot,
    })
}

/// The counts of all commits, and the parts that have one.
fn committed(folder: &Folder, plan: &Plan) -> Result<(Snapshot, BTreeSet<u32>)> {
    let mut done = Snapshot {
        inputs: plan.inputs,
        ..Snapshot::default()
    };
    let mut are_done = BTreeSet::new();
    // A round may select no input of a part.
    let is_in_round = |part: &&Part| plan.round.is_none() || part.inputs > 0;
    for part in plan.parts.iter().filter(is_in_round) {
        done.parts += 1;
        if let Some(commit) = load(folder, part.number)? {
            done.tally.add(&commit.tally);
            done.parts_done += 1;
            are_done.insert(part.number);
        }
    }
    Ok((done, are_done))
}

/// Adds the parts that workers have open. The newest attempt at a part counts.
fn add_workers(done: &mut Snapshot, workers: &[Worker], are_done: &BTreeSet<u32>) {
    let mut newest: BTreeMap<u32, &PartView> = BTreeMap::new();
    for view in workers.iter().flat_map(|worker| &worker.snapshot.open) {
        let known = newest.entry(view.part).or_insert(view);
        if known.attempt < view.attempt {
            *known = view;
        }
    }
    newest.retain(|part, _| !are_done.contains(part));
    newest.values().for_each(|view| done.tally.add(&view.tally));
    for worker in workers.iter().filter(|worker| worker.is_here()) {
        done.rate += worker.snapshot.rate;
        done.in_flight = done.in_flight.saturating_add(worker.snapshot.in_flight);
    }
}

/// Whether a process holds the folder.
fn is_locked(folder: &Folder) -> bool {
    let Ok(file) = File::open(folder.lock()) else {
        return false;
    };
    Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
}
