//! Rounds of `again` in object storage. Nothing is replaced: each round makes another set of all records.
//!
//! `again/K/round` is round K, a job of its own. It begins with a change of the job (`changes`), so that no inputs are
//! added at the same moment. When all of its parts are done, the records of the round replace the
//! older ones, and all records of the job are written to `again/K/results`. The counts of each part are written to
//! `again/K/commits`. `again/K/done` is created last: from then on, these are the records of the job. Two workers that
//! both do this write the same.

use std::fs;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::changes::Change;
use super::scratch::Scratch;
use super::{PLAN, Remote, Round, home_of_plan, result_of};
use crate::again::{self, Choice, Chosen};
use crate::error::{Error, Result, at};
use crate::job::Job;
use crate::objects::Store;
use crate::plan::{Folder, replace};
use crate::start::{self, Started};

/// In a scratch folder: the round whose commits it has, and for which parts.
#[derive(Default, Serialize, Deserialize)]
struct Mark {
    round: u32,
    parts: Vec<u32>,
}

impl Mark {
    fn of(folder: &Folder) -> Mark {
        let text = fs::read(folder.path().join("round.json"));
        let mark = text
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        mark.unwrap_or_default()
    }

    fn write(&self, folder: &Folder) -> Result<()> {
        let path = folder.path().join("round.json");
        let text = serde_json::to_vec(self).expect("numbers become JSON");
        replace(&path, &text).map_err(at("write", &path))
    }
}

fn home_of_round(round: u32) -> String {
    format!("again/{round:06}")
}

/// The folder of a round in one worker's copy of the job.
pub(super) fn within(folder: &Folder, round: u32) -> Folder {
    folder.round(&format!("{round:06}"))
}

fn done_of(round: u32) -> String {
    format!("{}/done", home_of_round(round))
}

impl Remote {
    /// How many rounds are merged into the records.
    pub(super) fn rounds(&self) -> Result<u32> {
        if self.base.is_some() {
            return Ok(0);
        }
        let mut rounds = self.state().rounds;
        while self.store.about(&done_of(rounds + 1))?.is_some() {
            rounds += 1;
        }
        self.state().rounds = rounds;
        Ok(rounds)
    }

    /// The round that is not merged yet, if there is one.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn round(self: &Arc<Remote>) -> Result<Option<Arc<Remote>>> {
        Ok(self.current_round()?.map(|(_, round)| round))
    }

    /// The round that is not merged yet, and its number.
    pub(super) fn current_round(self: &Arc<Remote>) -> Result<Option<(u32, Arc<Remote>)>> {
        if self.base.is_some() {
            return Ok(None);
        }
        let (number, round) = self.next_round()?;
        if round.store.about(PLAN)?.is_none() {
            // A process may have been killed between the change and the plan.
            let Some(plan) = self.begun(number)? else {
                return Ok(None);
            };
            round.store.create(PLAN, plan)?;
        }
        Ok(Some((number, round)))
    }

    /// The job, also for a round, in a scratch folder with what each of its parts came to.
    ///
    /// # Errors
    /// When there is none, or the store cannot be read.
    pub fn whole(&self, scratch: Folder) -> Result<Started> {
        let job = self.base.as_deref().unwrap_or(self);
        let started = job.load(scratch)?;
        job.refresh(&started.folder)?;
        Ok(started)
    }

    /// The folder with the results of the job, below its URL.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn results_folder(&self) -> Result<String> {
        let job = self.base.as_deref().unwrap_or(self);
        Ok(match job.rounds()? {
            0 => "results".to_owned(),
            round => format!("{}/results", home_of_round(round)),
        })
    }

    /// The number of the next round, and where it is stored.
    fn next_round(self: &Arc<Remote>) -> Result<(u32, Arc<Remote>)> {
        let number = self.rounds()? + 1;
        let home = home_of_round(number);
        let store = Store::open(&format!("{}/{home}/round", self.store.url()))?;
        Ok((number, Remote::at(store.patient()?, Some(self.clone()))?))
    }

    /// Where the results of each part are: those of the last round, unless the part was added later. The folder has the
    /// commits.
    pub(super) fn results(&self, folder: &Folder) -> impl Fn(u32) -> String + use<> {
        let mark = Mark::of(folder);
        move |part| match mark.parts.contains(&part) {
            true => format!("{}/{}", home_of_round(mark.round), result_of(part)),
            false => result_of(part),
        }
    }

    /// Brings the commits of the last round that was merged into a folder that has those of the job.
    pub(super) fn bring_round(&self, folder: &Folder) -> Result<()> {
        let round = self.rounds()?;
        if round == Mark::of(folder).round {
            return Ok(());
        }
        let home = format!("{}/commits", home_of_round(round));
        let listed = self.store.list(&home)?.into_iter();
        let numbers = listed.filter_map(|found| found.name.strip_prefix("part-")?.parse().ok());
        let parts: Vec<u32> = numbers.collect();
        let commits: Vec<_> = parts
            .iter()
            .map(|part| (format!("{home}/part-{part:06}"), None))
            .collect();
        self.store.read_each(&commits, &mut |number, text| {
            let (path, home) = (folder.commit(parts[number]), folder.part(parts[number]));
            fs::create_dir_all(&home).map_err(at("create", &home))?;
            replace(&path, &text).map_err(at("write", &path))
        })?;
        Mark { round, parts }.write(folder)
    }

    /// Refuses a round of a job that is not done.
    fn refuse_undone(&self, base: &Started) -> Result<()> {
        let (url, left) = (self.store.url(), base.plan.undone(&base.folder).count());
        if left == 0 {
            return Ok(());
        }
        Err(Error::usage(format!(
            "{url} is not done yet, {left} of its {} parts are left: `hecaton fetch -o {url}` does them, and `again` comes after that",
            base.plan.parts.len()
        )))
    }

    /// Plans a round, or finds the one to resume, as [`again::prepare`] does in a folder.
    ///
    /// # Errors
    /// As [`again::prepare`].
    pub fn again(
        self: &Arc<Remote>,
        which: Choice<'_>,
        change: &dyn Fn(&mut Job),
    ) -> Result<Chosen<Round>> {
        self.merge()?;
        let scratch = Scratch::new(None)?;
        let base = self.gather(scratch.folder())?;
        self.refuse_undone(&base)?;
        self.bring_inputs(&base)?;
        let current = self.current_round()?;
        let is_begun = current.is_some();
        let (number, remote) = current.map_or_else(|| self.next_round(), Ok)?;
        let within = within(&base.folder, number);
        if is_begun {
            remote.planned(&within)?;
            let began = again::condition(&within)?;
            again::refuse_other(which.given(), &began, self.store.url())?;
        }
        let Chosen { round, left } = again::prepare(&base.folder, which, change)?;
        let Some(round) = round else {
            return Ok(Chosen { round: None, left });
        };
        if !round.is_resumed {
            self.publish(&remote, number, &round)?;
        }
        let round = Some(Round {
            remote,
            job: round.job,
            is_resumed: round.is_resumed,
        });
        Ok(Chosen { round, left })
    }

    /// Makes a round known that was chosen.
    fn publish(&self, remote: &Remote, number: u32, round: &Started) -> Result<()> {
        let home = home_of_plan(&round.plan);
        remote.upload_plan(round, &home)?;
        let change = Change::beginning(&round.folder, &home, number, self)?;
        if !self.create_change(&change)? {
            return Err(self.was_changed(remote, &home));
        }
        remote.create_plan(round).map(drop)
    }

    /// Merges the round into the records once all of its parts are done; whether it was.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn merge(self: &Arc<Remote>) -> Result<bool> {
        let Some((number, round)) = self.current_round()? else {
            return Ok(false);
        };
        let look = Scratch::new(None)?;
        let planned = round.load(look.folder())?;
        round.refresh(&planned.folder)?;
        if !planned.plan.is_done(&planned.folder) {
            return Ok(false);
        }
        let scratch = Scratch::new(None)?;
        let base = self.gather(scratch.folder())?;
        let within = Scratch::within(within(&base.folder, number).path())?;
        let done = round.gather(within.folder())?;
        let lock = start::lock(&base.folder)?;
        again::merge_if_done(&base.folder, &done, &lock)?;
        self.keep_merged(&base, number)?;
        let id = done.plan.round.unwrap_or_default();
        self.store.create(&done_of(number), id)?;
        Ok(true)
    }

    /// Writes all records and commits of a folder as those after a round.
    fn keep_merged(&self, base: &Started, round: u32) -> Result<()> {
        let (folder, home) = (&base.folder, home_of_round(round));
        let numbers = base.plan.parts.iter().map(|part| part.number);
        let files: Vec<_> = numbers
            .filter(|number| folder.commit(*number).exists())
            .flat_map(|number| {
                let result = format!("{home}/{}", result_of(number));
                let commit = format!("{home}/commits/part-{number:06}");
                [
                    (folder.result(number), result),
                    (folder.commit(number), commit),
                ]
            })
            .collect();
        self.store.upload_all(&files)
    }
}
