//! A job in object storage as a folder that anyone can read, and the products that are made from it.

use std::fs;

use super::{Remote, Scratch, result_of};
use crate::error::{Result, at};
use crate::finish;
use crate::plan::Folder;
use crate::start::Started;

/// It says which records the products were made from. It is written after them.
const STAMPS: &str = "products.json";

impl Remote {
    /// Brings all that is committed into a scratch folder, as a job that anyone can read.
    ///
    /// # Errors
    /// When there is no job, or something cannot be read.
    pub fn gather(&self, scratch: &Scratch) -> Result<Started> {
        let started = self.load(scratch)?;
        self.gather_into(&started)?;
        Ok(started)
    }

    fn gather_into(&self, started: &Started) -> Result<()> {
        let folder = &started.folder;
        fs::create_dir_all(folder.results()).map_err(at("create", &folder.results()))?;
        self.refresh(folder)?;
        self.complete_all(folder)?;
        for part in &started.plan.parts {
            let number = part.number;
            let home = folder.part(number);
            fs::create_dir_all(&home).map_err(at("create", &home))?;
            if folder.commit(number).exists() {
                self.store
                    .download(&result_of(number), &folder.result(number))?;
            }
        }
        Ok(())
    }

    /// Makes the products of a job if all of its parts are done: the report, and the tables that it names. Their names; none
    /// if parts are left, or if they are there.
    ///
    /// A `COMMIT` never changes, so that products never become stale, and two workers that both make them write the same.
    ///
    /// # Errors
    /// When the store cannot be read or written, or a product cannot be made.
    pub fn finish(&self, started: &Started) -> Result<Vec<String>> {
        self.refresh(&started.folder)?;
        let is_done = started.plan.undone(&started.folder).next().is_none();
        let has_none =
            started.job.final_tables.is_empty() && started.plan.inputs > finish::MOST_REPORTED;
        if !is_done || has_none || self.store.about(STAMPS)?.is_some() {
            return Ok(Vec::new());
        }
        // Beside what the worker still has: a folder without a mirror.
        let scratch = Scratch::new(started.folder.path().parent())?;
        let whole = self.gather(&scratch)?;
        let made = finish::job(&whole.folder)?.unwrap_or_default();
        let mut names = Vec::new();
        for path in made.tables.iter().chain(&made.page) {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or_default().to_owned();
            self.store.upload(path, &name)?;
            names.push(name);
        }
        let stamps = whole.folder.products();
        match stamps.exists() {
            true => self.store.upload(&stamps, STAMPS)?,
            false => self.store.write(STAMPS, "{}")?,
        }
        Ok(names)
    }

    /// Writes the report of a job, done or not. Its URL.
    ///
    /// # Errors
    /// When there is no job, or the report cannot be made or written.
    pub fn report(&self, scratch: &Scratch) -> Result<String> {
        let started = self.gather(scratch)?;
        let page = finish::report(&started.folder)?;
        self.store.upload(&page, "report.html")?;
        Ok(format!("{}/report.html", self.store.url()))
    }

    /// Brings what `status` reads into a folder: which parts are done, and what workers noted.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn glance(&self, folder: &Folder) -> Result<()> {
        self.refresh(folder)?;
        self.bring_notes(folder)
    }
}
