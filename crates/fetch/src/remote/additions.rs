//! More inputs for a job in object storage: each addition is a whole plan of its own, and the newest one counts.
//!
//! `plans/N.json` is created exclusively, after the pieces that it names. Workers that know an older plan keep
//! using it, because the parts of the newer one begin with the same parts.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{PLAN, Remote, Scratch};
use crate::error::{Error, Result, at};
use crate::job::Job;
use crate::plan::changed;
use crate::start::{self, Started};

/// The newest plan of a job.
pub(super) struct Newest {
    /// 0 for the first plan.
    pub number: u32,
    /// As in `plan.json`.
    pub text: Vec<u8>,
    /// The folder with its pieces; none if the plan itself says it.
    pub home: Option<String>,
}

/// An addition.
#[derive(Serialize, Deserialize)]
struct Addition {
    home: String,
    plan: Box<RawValue>,
}

fn addition_of(number: u32) -> String {
    format!("plans/{number:06}.json")
}

impl Remote {
    /// The newest plan; none if there is none.
    pub(super) fn newest_plan(&self) -> Result<Option<Newest>> {
        let number = self.newest_addition()?;
        if number == 0 {
            let text = self.store.read(PLAN)?;
            return Ok(text.map(|text| Newest {
                number,
                text: text.to_vec(),
                home: None,
            }));
        }
        let name = addition_of(number);
        let text = self.store.read(&name)?.unwrap_or_default();
        let addition: Addition = serde_json::from_slice(&text).map_err(|error| {
            Error::failed(format!("{}/{name} is damaged: {error}", self.store.url()))
        })?;
        Ok(Some(Newest {
            number,
            text: addition.plan.get().as_bytes().to_vec(),
            home: Some(addition.home),
        }))
    }

    /// The number of the newest addition; 0 if there is none.
    pub(super) fn newest_addition(&self) -> Result<u32> {
        let listed = self.store.list("plans")?.into_iter();
        let numbers = listed.filter_map(|found| found.name.strip_suffix(".json")?.parse().ok());
        Ok(numbers.max().unwrap_or(0))
    }

    /// Adds lists to the job, as [`start::add`] does in a folder. How many inputs were added.
    ///
    /// # Errors
    /// As [`start::add`], and when another process adds some at the same time.
    pub fn add(
        self: &Arc<Remote>,
        files: &[PathBuf],
        format: Option<&str>,
        change: &dyn Fn(&mut Job),
    ) -> Result<u64> {
        let scratch = Scratch::new(None)?;
        let started = self.load(&scratch)?;
        if self.round()?.is_some() {
            let url = self.store.url();
            return Err(Error::usage(format!(
                "a round of `again` is not done in {url}: `hecaton fetch again {url}` resumes it, and inputs are added after that"
            )));
        }
        self.bring_inputs(&started)?;
        let number = self.state().additions + 1;
        let (more, added) = start::add(started.folder.clone(), files, format, change)?;
        if added == 0 {
            return Ok(0);
        }
        let home = format!("plan/{}", Uuid::new_v4());
        self.upload_plan(&more, &home)?;
        let path = more.folder.plan();
        let text = fs::read_to_string(&path).map_err(at("read", &path))?;
        let plan = RawValue::from_string(text);
        let plan = plan.map_err(|error| Error::failed(format!("the plan is damaged: {error}")))?;
        let addition = serde_json::to_vec(&Addition { home, plan }).expect("texts become JSON");
        match self.store.create(&addition_of(number), addition)? {
            true => Ok(added),
            false => Err(self.was_planned()),
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
