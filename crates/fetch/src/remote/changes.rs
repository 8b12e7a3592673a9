//! The changes of a job in object storage, one after another: inputs that are added, and rounds of `again` that begin.
//!
//! `plans/N.json` is change N. It is created exclusively, after the pieces that it names, and by a process that knows
//! change N-1. So one of two processes that change a job at the same time wins, and the other has changed nothing.

use std::fs;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Remote;
use crate::error::{Error, Result, at};
use crate::plan::Folder;

/// A change.
#[derive(Serialize, Deserialize)]
pub(super) struct Change {
    /// The folder with the pieces of the plan.
    pub home: String,
    /// The plan: of the job with more inputs, or of the round.
    pub plan: Box<RawValue>,
    /// The round that begins, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Begun>,
}

/// A round that begins.
#[derive(Serialize, Deserialize)]
pub(super) struct Begun {
    /// Its number.
    number: u32,
    /// The number of the newest addition before it; 0 if there is none.
    addition: u32,
}

impl Change {
    /// One that adds inputs: the folder has the plan with them.
    pub fn adding(folder: &Folder, home: &str) -> Result<Change> {
        let path = folder.plan();
        let text = fs::read_to_string(&path).map_err(at("read", &path))?;
        let plan = RawValue::from_string(text);
        Ok(Change {
            home: home.to_owned(),
            plan: plan.map_err(|error| Error::failed(format!("the plan is damaged: {error}")))?,
            round: None,
        })
    }

    /// One that begins this round of the job, whose folder has its plan.
    pub fn beginning(folder: &Folder, home: &str, number: u32, job: &Remote) -> Result<Change> {
        let addition = job.state().addition;
        Ok(Change {
            round: Some(Begun { number, addition }),
            ..Change::adding(folder, home)?
        })
    }

    /// The number of the newest addition, where this is the newest change and has this number.
    pub fn addition(&self, number: u32) -> u32 {
        let begun = self.round.as_ref();
        begun.map_or(number, |begun| begun.addition)
    }
}

fn change_of(number: u32) -> String {
    format!("plans/{number:06}.json")
}

impl Remote {
    /// The number of the newest change; 0 if there is none.
    pub(super) fn newest_change(&self) -> Result<u32> {
        let listed = self.store.list("plans")?.into_iter();
        let numbers = listed.filter_map(|found| found.name.strip_suffix(".json")?.parse().ok());
        Ok(numbers.max().unwrap_or(0))
    }

    /// The change of this number.
    pub(super) fn change(&self, number: u32) -> Result<Change> {
        let name = change_of(number);
        let text = self.store.read(&name)?.unwrap_or_default();
        serde_json::from_slice(&text).map_err(|error| {
            Error::failed(format!("{}/{name} is damaged: {error}", self.store.url()))
        })
    }

    /// Creates the change after the newest that this process knows; false if another process did.
    pub(super) fn create_change(&self, change: &Change) -> Result<bool> {
        let number = self.state().change + 1;
        let text = serde_json::to_vec(change).expect("texts become JSON");
        self.store.create(&change_of(number), text)
    }

    /// The plan of the round that the newest change begins, if it has this number.
    pub(super) fn begun(&self, round: u32) -> Result<Option<String>> {
        let number = self.newest_change()?;
        if number == 0 {
            return Ok(None);
        }
        let change = self.change(number)?;
        let is_it = change.round.is_some_and(|begun| begun.number == round);
        Ok(is_it.then(|| change.plan.get().to_owned()))
    }

    /// The error for a change that another process was faster than. Removes its pieces in `owner`, which nobody will
    /// read.
    pub(super) fn was_changed(&self, owner: &Remote, home: &str) -> Error {
        for found in owner.store.list(home).unwrap_or_default() {
            let _ = owner.store.remove(&format!("{home}/{}", found.name));
        }
        Error::failed(format!(
            "another process added inputs to {} or began a round of `again` there at the same time, so this command changed nothing: run it again",
            self.store.url()
        ))
    }
}
