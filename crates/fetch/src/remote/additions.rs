//! More inputs for a job in object storage: each addition is a whole plan of its own, and the newest one counts.
//!
//! An addition is a change of the job (`changes`). Workers that know an older plan keep using it, because the parts of
//! the newer one begin with the same parts.

use std::sync::Arc;

use uuid::Uuid;

use super::changes::Change;
use super::{PLAN, Remote, Scratch};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::changed;
use crate::start::{self, Added, More, Started};

/// The newest plan of a job.
pub(super) struct Newest {
    /// The number of the newest change; 0 if there is none.
    pub change: u32,
    /// The number of the newest addition; 0 for the first plan.
    pub addition: u32,
    /// As in `plan.json`.
    pub text: Vec<u8>,
    /// The folder with its pieces; none if the plan itself says it.
    pub home: Option<String>,
}

impl Remote {
    /// The newest plan; none if there is none.
    pub(super) fn newest_plan(&self) -> Result<Option<Newest>> {
        let change = self.newest_change()?;
        let newest = (change > 0).then(|| self.change(change)).transpose()?;
        let addition = newest.as_ref().map_or(0, |newest| newest.addition(change));
        if addition == 0 {
            let text = self.store.read(PLAN)?;
            return Ok(text.map(|text| Newest {
                change,
                addition,
                text: text.to_vec(),
                home: None,
            }));
        }
        let found = match newest {
            Some(newest) if addition == change => newest,
            _ => self.change(addition)?,
        };
        Ok(Some(Newest {
            change,
            addition,
            text: found.plan.get().as_bytes().to_vec(),
            home: Some(found.home),
        }))
    }

    /// Adds lists to the job, as [`start::add`] does in a folder.
    ///
    /// # Errors
    /// As [`start::add`], and when another process adds some at the same time.
    pub fn add(self: &Arc<Remote>, more: More<'_>, change: &dyn Fn(&mut Job)) -> Result<Added> {
        let scratch = Scratch::new(None)?;
        let started = self.load(scratch.folder())?;
        if self.round()?.is_some() {
            return Err(start::round_is_open(self.store.url()));
        }
        self.bring_inputs(&started)?;
        let (grown, added) = start::add(started.folder.clone(), more, change)?;
        if added.inputs == 0 {
            return Ok(added);
        }
        let home = format!("plan/{}", Uuid::new_v4());
        self.upload_plan(&grown, &home)?;
        match self.create_change(&Change::adding(&grown.folder, &home)?)? {
            true => Ok(added),
            false => Err(self.was_changed(self, &home)),
        }
    }

    /// Refuses a list that has grown since the job was planned.
    pub(super) fn refuse_grown(&self, started: &Started, job: &Job) -> Result<()> {
        match changed(&started.plan.sources, &job.input.files)? {
            None => Ok(()),
            Some(what) => {
                let url = self.store.url();
                Err(Error::usage(format!(
                    "the input has changed: {what}; `hecaton fetch add {url} LIST` adds the lines that are new"
                )))
            }
        }
    }
}
