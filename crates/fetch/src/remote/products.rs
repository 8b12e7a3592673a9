//! The products of a job in object storage: made again when the records are others than those that they were made from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Remote, Scratch};
use crate::error::Result;
use crate::finish;
use crate::start::Started;

/// It says which records each product was made from. It is written after them.
const STAMPS: &str = "products.json";

impl Remote {
    /// Finishes a job whose parts are done. Merges a round that is done, and makes the products (the report, and the
    /// tables that the job names) that are missing or stale. Returns their names; none if parts are left, or if all
    /// products are current.
    ///
    /// Two workers that both make them write the same. A worker that is late may replace them by older ones, and older
    /// stamps with them, so that whoever finishes next makes them again.
    ///
    /// # Errors
    /// When the store cannot be read or written, or a product cannot be made.
    pub fn finish(self: &Arc<Remote>, started: &Started) -> Result<Vec<String>> {
        if let Some(base) = &self.base {
            // Inputs may have been added while the round was planned. Their parts come after the round.
            base.merge()?;
            let scratch = Scratch::new(started.folder.path().parent())?;
            return base.finish(&base.load(scratch.folder())?);
        }
        if !self.is_done(started)? {
            return Ok(Vec::new());
        }
        self.merge()?;
        loop {
            // Beside what the worker still has: a folder without a mirror.
            let scratch = Scratch::new(started.folder.path().parent())?;
            let now = self.load(scratch.folder())?;
            self.refresh(&now.folder)?;
            let is_done = now.plan.is_done(&now.folder);
            let has_none =
                now.job.final_tables.is_empty() && now.plan.inputs > finish::MOST_REPORTED;
            if !is_done || has_none || self.are_fresh(&now)? {
                return Ok(Vec::new());
            }
            let change = self.state().change;
            let rounds = self.rounds()?;
            let names = self.make(&now)?;
            if (change, rounds) == (self.newest_change()?, self.rounds()?) {
                return Ok(names);
            }
        }
    }

    /// Whether as many parts are done as the job has, by the numbers that are known here. It reads one list.
    fn is_done(&self, started: &Started) -> Result<bool> {
        let parts = started.plan.parts.iter();
        let needed = parts.filter(|part| part.inputs > 0).count();
        Ok(self.store.list("commits")?.len() >= needed)
    }

    /// Whether the products were made from these very records.
    fn are_fresh(&self, now: &Started) -> Result<bool> {
        let Some(text) = self.store.read(STAMPS)? else {
            return Ok(false);
        };
        let stamps: BTreeMap<String, String> = serde_json::from_slice(&text).unwrap_or_default();
        let stamp = finish::stamp(&now.folder, &now.plan)?;
        Ok(!stamps.is_empty() && stamps.values().all(|made| *made == stamp))
    }

    fn make(&self, now: &Started) -> Result<Vec<String>> {
        self.gather_into(now)?;
        let made = finish::job(&now.folder)?.unwrap_or_default();
        let mut names = Vec::new();
        for path in made.tables.iter().chain(&made.page) {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or_default().to_owned();
            self.store.upload(path, &name)?;
            names.push(name);
        }
        self.store.upload(&now.folder.products(), STAMPS)?;
        Ok(names)
    }
}
