//! A job in object storage as a folder that anyone can read.

use std::fs;
use std::sync::Arc;

use super::Remote;
use super::rounds::within;
use crate::error::{Result, at};
use crate::finish;
use crate::plan::Folder;
use crate::start::Started;

impl Remote {
    /// Brings all that is committed into a scratch folder, as a job that anyone can read.
    ///
    /// # Errors
    /// When there is no job, or something cannot be read.
    pub fn gather(&self, scratch: Folder) -> Result<Started> {
        let started = self.load(scratch)?;
        self.gather_into(&started)?;
        Ok(started)
    }

    pub(super) fn gather_into(&self, started: &Started) -> Result<()> {
        let folder = &started.folder;
        fs::create_dir_all(folder.results()).map_err(at("create", &folder.results()))?;
        self.refresh(folder)?;
        self.complete_all(folder)?;
        let results = self.results(folder);
        for part in &started.plan.parts {
            let number = part.number;
            let home = folder.part(number);
            fs::create_dir_all(&home).map_err(at("create", &home))?;
            if folder.commit(number).exists() {
                let result = folder.result(number);
                self.store.download(&results(number), &result)?;
            }
        }
        Ok(())
    }

    /// Writes the report of a job, done or not. Its URL.
    ///
    /// # Errors
    /// When there is no job, or the report cannot be made or written.
    pub fn report(&self, scratch: Folder) -> Result<String> {
        let started = self.gather(scratch)?;
        let page = finish::report(&started.folder)?;
        self.store.upload(&page, "report.html")?;
        Ok(format!("{}/report.html", self.store.url()))
    }

    /// Brings what `status` reads into a folder, and of a round that is not merged yet into the folder of a round:
    /// which parts are done, and what workers noted.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn glance(self: &Arc<Remote>, folder: &Folder) -> Result<()> {
        self.refresh(folder)?;
        self.bring_notes(folder)?;
        let current = self.current_round()?;
        let current = current.map(|(number, round)| (within(folder, number), round));
        for round in folder.all_rounds()? {
            // Merged since the last glance.
            if current.as_ref().is_none_or(|(now, _)| *now != round) {
                let _ = fs::remove_dir_all(round.path());
            }
        }
        let Some((within, round)) = current else {
            return Ok(());
        };
        round.planned(&within)?;
        round.refresh(&within)?;
        round.bring_notes(&within)
    }
}
