//! A job in a folder.

use super::{Change, Finished, PartEnd, Place, run_one};
use crate::again::{self, Choice, Chosen, Kept};
use crate::error::Result;
use crate::finish;
use crate::job::Job;
use crate::plan::Folder;
use crate::run::{Running, Summary, tally};
use crate::start::{self, Added, More, Started};

impl Place for Folder {
    fn shown(&self) -> String {
        Folder::shown(self)
    }

    fn results_shown(&self) -> String {
        self.results().display().to_string()
    }

    fn resume_with(&self) -> String {
        format!("hecaton fetch -o {}", self.path().display())
    }

    fn plan_job(&self, job: Job) -> Result<Started> {
        start::prepare(self.clone(), job)
    }

    fn load(&self) -> Result<Started> {
        start::load(self.clone())
    }

    fn add(&self, more: More<'_>, change: Change<'_>) -> Result<(Started, Added)> {
        finish::job(self)?;
        start::add(self.clone(), more, change)
    }

    fn make_ready(
        &self,
        choice: Choice<'_>,
        change: Change<'_>,
        with: &mut Running<'_>,
    ) -> Result<()> {
        if matches!(choice, Choice::Damaged) {
            return again::stand_in_for_lost_results(self);
        }
        let mut job = self.load()?.job;
        change(&mut job);
        finish::rounds(self, &job, with).map(drop)
    }

    fn again(&self, choice: Choice<'_>, change: Change<'_>) -> Result<Chosen<Started>> {
        again::prepare(self, choice, change)
    }

    fn finish(&self, mut started: Started, with: &mut Running<'_>) -> Result<Finished> {
        let is_round = started.plan.round.is_some();
        let (mut summary, kept) = match is_round {
            true => again::run(self, &mut started, with)?,
            false => (started.run(with)?, Kept::default()),
        };
        let job = started.job.clone();
        drop(started);
        let made = finish::rounds(self, &job, with)?;
        let made = made.filter(|_| !is_round).unwrap_or_default();
        let whole = self.load()?;
        if !is_round {
            summary.tally = tally(self, &whole.plan)?;
        }
        let products = made.tables.iter().chain(&made.page);
        Ok(Finished {
            summary,
            results: self.results_shown(),
            products: products.map(|path| path.display().to_string()).collect(),
            whole,
            kept,
        })
    }

    fn whole(&self) -> Result<Started> {
        self.load()
    }

    fn for_workers(&self) -> Result<Started> {
        finish::job(self)?;
        finish::parts(self)?;
        let job = self.load()?;
        Ok(again::current(self)?.unwrap_or(job))
    }

    fn run_part(&self, with: &mut Running<'_>) -> Result<PartEnd> {
        let summary = run_one(&self.for_workers()?, with)?;
        finish::last(self)?;
        let is_ours = |part| !summary.elsewhere.contains(part);
        Ok(match with.options.parts.iter().all(is_ours) {
            true => PartEnd::Ran(summary),
            false => PartEnd::Elsewhere,
        })
    }

    fn work(
        &self,
        started: &Started,
        worker: &mut dyn FnMut(&Started) -> Result<Summary>,
    ) -> Result<Option<Summary>> {
        let summary = worker(started)?;
        finish::last(self)?;
        Ok(Some(summary))
    }

    fn report(&self) -> Result<String> {
        finish::parts(self)?;
        finish::report(self).map(|page| page.display().to_string())
    }

    fn gather(&self) -> Result<Folder> {
        // A folder that may only be read is read as it is.
        let _ = finish::parts(self);
        Ok(self.clone())
    }

    fn glance(&self) -> Result<Folder> {
        self.gather()
    }

    fn refresh(&self, _: &Folder) -> Result<()> {
        Ok(())
    }
}
