//! The source of a run's parts: a list, or a dispatcher that hands them out while the run works.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{Folder, Part, Plan, machine};
use crate::segment::{Tally, is_held, load, publish};

/// How often a part that another worker took over is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How it stands with a part that is worked on here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is ours.
    Held,
    /// The dispatcher was silent for long. No request leaves a queue, and responses are still recorded.
    Silent,
    /// It may be someone else's by now: it is left.
    Lost,
}

/// Hands out parts.
pub trait Supply: Send {
    /// The next part, if one is there now. It does not wait.
    fn next(&mut self) -> Option<u32>;

    /// Whether no other will ever come.
    fn is_over(&mut self) -> bool;

    /// How it stands with a part that was handed out.
    fn standing(&mut self, part: u32) -> Standing;

    /// The reason why it cannot hand out parts, if there is one.
    fn trouble(&mut self) -> Option<String> {
        None
    }

    /// The run is through with a part: it is done, by whomever, or it was left.
    fn left(&mut self, part: u32);
}

/// Parts that are known from the start.
pub struct GivenParts {
    folder: Folder,
    to_do: VecDeque<u32>,
    /// The parts that must be done before the first of an addition.
    first: Vec<(u32, u32)>,
    /// Whether a part that another worker took over and left is taken back. A scheduler that hands out single parts
    /// decides that itself: a copy of a task that it started beside the first must not be fought over.
    takes_back: bool,
    /// Parts that another worker took over. The run waits for them.
    elsewhere: Vec<u32>,
    looked: Instant,
}

/// How far the parts of a list are.
pub struct Found {
    /// Those that are not done.
    pub given: GivenParts,
    /// How the inputs of the others ended.
    pub tally: Tally,
    /// How many others there are.
    pub done: u64,
}

impl Supply for GivenParts {
    fn next(&mut self) -> Option<u32> {
        match self.to_do.front().copied() {
            Some(part) if self.may_begin(part) => self.to_do.pop_front(),
            _ => self.abandoned(),
        }
    }

    fn is_over(&mut self) -> bool {
        let (folder, takes_back) = (&self.folder, self.takes_back);
        self.elsewhere
            .retain(|part| !folder.is_done(*part) && (takes_back || is_held(folder, *part)));
        self.to_do.is_empty() && self.elsewhere.is_empty()
    }

    fn standing(&mut self, _: u32) -> Standing {
        Standing::Held
    }

    fn left(&mut self, part: u32) {
        if !self.folder.is_done(part) {
            self.elsewhere.push(part);
        }
    }
}

impl GivenParts {
    /// Whether no part of an earlier addition is left: it may have the same hosts.
    fn may_begin(&mut self, part: u32) -> bool {
        let added = |of: u32| self.first.iter().find(|(part, _)| *part == of);
        let Some((_, addition)) = added(part).copied() else {
            return true;
        };
        let folder = &self.folder;
        let mut others = self.first.iter();
        others.all(|(part, added)| *added >= addition || folder.is_done(*part))
    }

    /// A part that another worker took over and left without finishing it.
    fn abandoned(&mut self) -> Option<u32> {
        if !self.takes_back || self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        if self.is_over() {
            return None;
        }
        let folder = &self.folder;
        let index = self
            .elsewhere
            .iter()
            .position(|part| !is_held(folder, *part))?;
        Some(self.elsewhere.swap_remove(index))
    }
}

impl GivenParts {
    /// How many parts are left to do.
    pub fn count(&self) -> usize {
        self.to_do.len()
    }

    /// The parts of this list, done or not; an empty list means all parts.
    pub fn find(folder: &Folder, job: &Job, plan: &Plan, parts: &[u32]) -> Result<Found> {
        let (mut tally, mut done, mut to_do) = (Tally::default(), 0, VecDeque::new());
        let all: Vec<u32> = plan.parts.iter().map(|part| part.number).collect();
        let selected = if parts.is_empty() { &all } else { parts };
        let first = match plan.parts.iter().any(|part| part.added > 0) {
            true => plan
                .undone(folder)
                .map(|part| (part.number, part.added))
                .collect(),
            false => Vec::new(),
        };
        for number in selected.iter().copied() {
            check_shards(job, plan.part(number)?)?;
            let done_part = load(folder, number)?;
            if done_part.is_none() && !parts.is_empty() {
                refuse_early(folder, plan, number)?;
            }
            match done_part {
                // A round may select no input of a part.
                None if plan.part(number)?.inputs == 0 => done += 1,
                Some(commit) => {
                    publish(folder, &commit)?;
                    tally.add(&commit.tally);
                    done += 1;
                }
                None => to_do.push_back(number),
            }
        }
        let given = GivenParts {
            folder: folder.clone(),
            to_do,
            first,
            takes_back: parts.is_empty(),
            elsewhere: Vec::new(),
            looked: Instant::now(),
        };
        Ok(Found { given, tally, done })
    }
}

/// A part of an addition waits for those before it.
fn refuse_early(folder: &Folder, plan: &Plan, number: u32) -> Result<()> {
    let part = plan.part(number)?;
    let mut undone = plan.undone(folder);
    match undone.find(|other| other.added < part.added) {
        None => Ok(()),
        Some(other) => Err(Error::usage(format!(
            "part {number} was added later, and part {} before it is not done: do that first, because both may have the same hosts",
            other.number
        ))),
    }
}

/// Whether a job's limits are enough for all parts of a plan.
///
/// # Errors
/// The first part that has too little of a limit.
pub fn check_plan(job: &Job, plan: &Plan) -> Result<()> {
    plan.parts
        .iter()
        .try_for_each(|part| check_shards(job, part))
}

/// A host's limit must be enough for every shard to have some of it.
fn check_shards(job: &Job, part: &Part) -> Result<()> {
    let most = job.most_shards();
    match part.shard {
        Some(shard) if shard.of as usize > most => Err(Error::usage(format!(
            "part {} is one of {} that share their hosts, and {} requests at once to a host cannot be shared by so many: use a larger per_host, or plan the job anew in another folder",
            part.number, shard.of, most
        ))),
        _ => Ok(()),
    }
}

/// This process among all that work on a folder: its machine and its number.
pub fn worker_name() -> String {
    format!("{}-{}", machine(), std::process::id())
}
