//! Leaves out what a plan has already: the pages of a sitemap that is added once more.
//!
//! Entries wait in a file until all of them are there. Their digests are then compared with those of the plan in order, in
//! memory that does not grow with their number.

use std::fs;
use std::path::PathBuf;

use super::entry::{Planned, write_planned};
use super::folder::Folder;
use super::inputs::InputFile;
use super::make::{Routing, in_words};
use super::plan_file::Plan;
use super::repeats::Repeats;
use super::requests::{Run, repeated};
use super::spool::Spool;
use crate::error::{Result, at};
use crate::input::{Bad, Entry, Held};

/// Entries of which a plan may have some.
pub struct OnlyNew<'a> {
    folder: &'a Folder,
    base: &'a Plan,
    path: PathBuf,
    waiting: Spool,
    /// Their digests, with the numbers that they would have.
    digests: Repeats,
    next: u64,
    any_invalid: bool,
}

impl<'a> OnlyNew<'a> {
    /// None yet.
    ///
    /// # Errors
    /// When their file cannot be created.
    pub fn new(folder: &'a Folder, base: &'a Plan, part_size: u64) -> Result<OnlyNew<'a>> {
        let path = folder.planned().join("pages");
        Ok(OnlyNew {
            folder,
            base,
            waiting: Spool::create(&path, part_size)?,
            digests: Repeats::new(folder.planned().join("page-digests")),
            path,
            next: base.inputs,
            any_invalid: false,
        })
    }

    /// Takes an entry.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn take(&mut self, entry: Entry, route: Routing<'_>) -> Result<()> {
        let number = self.next;
        self.next += 1;
        let (digest, is_invalid) = digest(&entry.held, route);
        self.any_invalid |= is_invalid;
        self.digests.note(digest, number)?;
        let planned = Planned::new(number, entry.line, entry.held);
        let add = self.waiting.add(0, |out| write_planned(&planned, out));
        add.map_err(at("write", &self.path))
    }

    /// Hands over each entry that the plan does not have, once. `runs` says where the requests of the plan are.
    ///
    /// # Errors
    /// When a file cannot be read, and those of `take`.
    pub fn each(
        mut self,
        runs: &[Run],
        route: Routing<'_>,
        take: &mut dyn FnMut(Entry, Routing<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.any_invalid {
            self.note_invalid(route)?;
        }
        let frames = self.waiting.finish().map_err(at("write", &self.path))?;
        let had = repeated(self.folder, runs, self.digests)?;
        let extents = frames.into_iter().flatten().map(|(extent, _)| extent);
        InputFile::at(self.path.clone())?.each(extents, &mut |planned| match had
            .contains(planned.number)
        {
            true => Ok(()),
            false => take(entry(planned), route),
        })?;
        fs::remove_file(&self.path).map_err(at("remove", &self.path))
    }

    /// Notes the invalid inputs of the plan, of which no digests are kept.
    fn note_invalid(&mut self, route: Routing<'_>) -> Result<()> {
        let mut file = InputFile::open(self.folder)?;
        for part in &self.base.parts {
            let groups = Plan::index(self.folder, part.number)?.groups;
            file.each(
                groups.into_iter().flatten().flatten(),
                &mut |planned| match digest(&planned.held.held(), route) {
                    (digest, true) => self.digests.note(digest, planned.number),
                    (_, false) => Ok(()),
                },
            )?;
        }
        Ok(())
    }
}

/// The digest of a request, or of an input that is none. Also whether it is none.
fn digest(held: &Held, route: Routing<'_>) -> (u128, bool) {
    let columns = match held {
        Ok(columns) => columns,
        Err(Bad { text, reason }) => return (of_invalid(text, reason), true),
    };
    let mut request = 0;
    match route(columns, &mut |routed| request = routed.request) {
        Ok(()) => (request, false),
        Err(reason) => (of_invalid(&in_words(columns), &reason), true),
    }
}

fn of_invalid(text: &str, reason: &str) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for part in [text, reason] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut digest = [0; 16];
    hasher.finalize_xof().fill(&mut digest);
    u128::from_le_bytes(digest)
}

fn entry(planned: Planned) -> Entry {
    Entry {
        number: planned.number,
        line: planned.line,
        held: planned.held.held(),
    }
}
