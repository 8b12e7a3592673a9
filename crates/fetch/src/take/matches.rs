//! Which values of `--take` were found in any good response of a run.

use std::collections::BTreeSet;

use super::{Take, Taken};
use crate::record::count;

/// The values that were found.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// How many good responses were searched.
    responses: u64,
    /// The names of those that were found.
    found: BTreeSet<String>,
}

impl Matches {
    /// Notes the values of a good response.
    pub fn note(&mut self, taken: &Taken) {
        self.responses += 1;
        let names = taken.values.keys();
        for name in names.filter(|name| !taken.missing.contains(name)) {
            if !self.found.contains(name) {
                self.found.insert(name.clone());
            }
        }
    }

    /// Adds those of another thread.
    pub fn add(&mut self, other: &Matches) {
        self.responses += other.responses;
        self.found.extend(other.found.iter().cloned());
    }

    /// A sentence about the takes that found nothing, if there are any.
    pub fn lacking(&self, takes: &[String]) -> Option<String> {
        let is_found =
            |take: &str| Take::parse(take).is_ok_and(|take| self.found.contains(take.name()));
        let missing = takes.iter().filter(|take| !is_found(take));
        let missing: Vec<_> = missing.map(|take| format!("--take '{take}'")).collect();
        if missing.is_empty() || self.responses == 0 {
            return None;
        }
        Some(format!(
            "{} found nothing in any good response of this run ({} searched): does the place have another name?",
            missing.join(" and "),
            count(self.responses)
        ))
    }
}
