//! Which parts of a job in object storage are done.

use std::fs;

use super::{Remote, commit_of, draft_of, result_of};
use crate::error::{Error, Result, at};
use crate::plan::{Folder, replace};
use crate::segment::load;

impl Remote {
    /// Brings the `COMMIT` of each part that is done into a folder.
    ///
    /// # Errors
    /// When the store cannot be read, or the folder cannot be written.
    pub fn refresh(&self, folder: &Folder) -> Result<()> {
        let mut done = Vec::new();
        for found in self.store.list("commits")? {
            let number = found.name.strip_prefix("part-");
            done.extend(number.and_then(|number| number.parse::<u32>().ok()));
        }
        self.bring_done(folder, &done)?;
        self.bring_round(folder)
    }

    /// Brings the `COMMIT` of a part into a folder, if it is done.
    pub(super) fn bring(&self, folder: &Folder, part: u32) -> Result<()> {
        match self.store.about(&commit_of(part))? {
            Some(_) => self.bring_done(folder, &[part]),
            None => Ok(()),
        }
    }

    /// Brings the `COMMIT` of each of these parts, which are done, into a folder.
    pub(super) fn bring_done(&self, folder: &Folder, done: &[u32]) -> Result<()> {
        let _bringing = self.bringing.lock();
        let missing = done.iter().filter(|part| !folder.commit(**part).exists());
        let missing: Vec<u32> = missing.copied().collect();
        let commits: Vec<_> = missing
            .iter()
            .map(|part| (commit_of(*part), None))
            .collect();
        self.store.read_each(&commits, &mut |number, text| {
            let path = folder.commit(missing[number]);
            let home = folder.part(missing[number]);
            fs::create_dir_all(&home).map_err(at("create", &home))?;
            replace(&path, &text).map_err(at("write", &path))
        })
    }

    /// Completes a part that is committed, after a crash; false if it is not committed.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn complete(&self, folder: &Folder, part: u32) -> Result<bool> {
        self.bring(folder, part)?;
        let Some(commit) = load(folder, part)? else {
            return Ok(false);
        };
        if self.store.about(&result_of(part))?.is_none() {
            self.store
                .copy(&draft_of(part, commit.attempt), &result_of(part))?;
        }
        Ok(true)
    }

    /// Copies the results of parts whose worker was killed after the commit.
    pub(super) fn complete_all(&self, folder: &Folder) -> Result<()> {
        let there = self.store.list("results")?;
        let there: std::collections::HashSet<String> =
            there.into_iter().map(|found| found.name).collect();
        for entry in fs::read_dir(folder.parts()).into_iter().flatten() {
            let name = entry.map_err(at("read", folder.path()))?.file_name();
            let part = name.to_str().and_then(|name| name.parse().ok());
            let part: u32 = part.ok_or_else(|| Error::failed("a part has no number"))?;
            let result = result_of(part);
            let is_there = result
                .strip_prefix("results/")
                .is_some_and(|it| there.contains(it));
            if !is_there {
                self.complete(folder, part)?;
            }
        }
        Ok(())
    }
}
