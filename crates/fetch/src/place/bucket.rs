//! A job in object storage. Copies of its files lie in scratch folders, which live as long as this.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use super::{Change, Finished, PartEnd, Place, run_one};
use crate::again::{Choice, Chosen, Kept};
use crate::error::Result;
use crate::finish;
use crate::job::Job;
use crate::plan::Folder;
use crate::remote::{Notes, Remote, Scratch};
use crate::run::{Running, Summary};
use crate::start::{Added, More, Started};

/// A job in object storage.
pub struct Bucket {
    url: String,
    job: Arc<Remote>,
    /// The round that is worked on, if it is one.
    round: OnceCell<Arc<Remote>>,
    scratches: RefCell<Vec<Scratch>>,
}

impl Bucket {
    pub fn open(url: &str) -> Result<Bucket> {
        Ok(Bucket {
            url: url.to_owned(),
            job: Remote::open(url)?,
            round: OnceCell::new(),
            scratches: RefCell::default(),
        })
    }

    fn scratch(&self) -> Result<Folder> {
        let scratch = Scratch::new(None)?;
        let folder = scratch.folder();
        self.scratches.borrow_mut().push(scratch);
        Ok(folder)
    }

    /// The job, or the round of it that runs.
    fn remote(&self) -> &Arc<Remote> {
        self.round.get().unwrap_or(&self.job)
    }

    /// Goes on with the round that is not done, if there is one.
    fn enter_round(&self) -> Result<()> {
        if let Some(round) = self.job.round()? {
            let _ = self.round.set(round);
        }
        Ok(())
    }

    fn prepare(&self) -> Result<Started> {
        self.remote().prepare(self.scratch()?)
    }
}

impl Place for Bucket {
    fn shown(&self) -> String {
        self.url.clone()
    }

    fn results_shown(&self) -> String {
        format!("{}/results", self.url)
    }

    fn resume_with(&self) -> String {
        format!("hecaton fetch run-part {} N", self.url)
    }

    fn plan_job(&self, job: Job) -> Result<Started> {
        let planned = self.job.plan(Scratch::new(None)?.folder(), job.clone())?;
        let (is_resumed, robots_cache) = (planned.is_resumed, planned.robots_cache.clone());
        drop(planned);
        let started = self.prepare()?;
        Ok(Started {
            job,
            is_resumed,
            robots_cache,
            ..started
        })
    }

    fn load(&self) -> Result<Started> {
        let started = self.prepare()?;
        Ok(Started {
            is_resumed: true,
            ..started
        })
    }

    fn add(&self, more: More<'_>, change: Change<'_>) -> Result<(Started, Added)> {
        let added = self.job.add(more, change)?;
        let mut started = self.prepare()?;
        change(&mut started.job);
        Ok((started, added))
    }

    fn make_ready(&self, _: Choice<'_>, _: Change<'_>, _: &mut Running<'_>) -> Result<()> {
        Ok(())
    }

    fn again(&self, choice: Choice<'_>, change: Change<'_>) -> Result<Chosen<Started>> {
        let Chosen { round, left } = self.job.again(choice, change)?;
        let Some(round) = round else {
            return Ok(Chosen { round: None, left });
        };
        let _ = self.round.set(round.remote);
        let round = Some(Started {
            job: round.job,
            is_resumed: round.is_resumed,
            ..self.prepare()?
        });
        Ok(Chosen { round, left })
    }

    fn finish(&self, started: Started, with: &mut Running<'_>) -> Result<Finished> {
        let remote = self.remote();
        let summary = remote.run(&started, with)?;
        let made = remote.finish(&started)?.into_iter();
        Ok(Finished {
            summary,
            results: format!("{}/{}", self.url, remote.results_folder()?),
            products: made.map(|name| format!("{}/{name}", self.url)).collect(),
            whole: self.whole()?,
            kept: Kept::default(),
        })
    }

    fn whole(&self) -> Result<Started> {
        self.job.whole(self.scratch()?)
    }

    fn for_workers(&self) -> Result<Started> {
        self.enter_round()?;
        let started = self.prepare()?;
        self.remote().refresh(&started.folder)?;
        Ok(started)
    }

    fn run_part(&self, with: &mut Running<'_>) -> Result<PartEnd> {
        self.enter_round()?;
        let (remote, started) = (self.remote(), self.prepare()?);
        let folder = &started.folder;
        let part = with.options.parts.first().copied().unwrap_or_default();
        if started.plan.part(part)?.added > 0 {
            remote.refresh(folder)?;
        }
        let ended = if remote.complete(folder, part)? {
            PartEnd::Already
        } else {
            let _notes = Notes::begin(remote, folder, false)?;
            match run_one(&started, with) {
                Ok(summary) => PartEnd::Ran(summary),
                Err(_) if remote.complete(folder, part).unwrap_or(false) => PartEnd::Elsewhere,
                Err(error) => return Err(error),
            }
        };
        remote.finish(&started)?;
        Ok(ended)
    }

    fn work(
        &self,
        started: &Started,
        worker: &mut dyn FnMut(&Started) -> Result<Summary>,
    ) -> Result<Option<Summary>> {
        let (remote, folder) = (self.remote(), &started.folder);
        let notes = Notes::begin(remote, folder, true)?;
        let ended = worker(started);
        drop(notes);
        let is_done = || {
            let known = remote.refresh(folder).is_ok();
            known && started.plan.is_done(folder)
        };
        let summary = match ended {
            Ok(summary) => Some(summary),
            Err(_) if is_done() => None,
            Err(error) => return Err(error),
        };
        remote.finish(started)?;
        Ok(summary)
    }

    fn report(&self) -> Result<String> {
        self.job.report(self.scratch()?)
    }

    fn gather(&self) -> Result<Folder> {
        let folder = self.job.gather(self.scratch()?)?.folder;
        let _ = finish::parts(&folder);
        Ok(folder)
    }

    fn glance(&self) -> Result<Folder> {
        let folder = self.job.load(self.scratch()?)?.folder;
        self.refresh(&folder)?;
        let _ = finish::parts(&folder);
        Ok(folder)
    }

    fn refresh(&self, folder: &Folder) -> Result<()> {
        self.job.glance(folder)
    }
}
