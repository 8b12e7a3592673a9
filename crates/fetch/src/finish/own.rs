//! Which paths in a job's folder are the job's own, so that no table is written over them.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::PAGE;
use super::stamp::noted;
use crate::error::{Error, Result, at};
use crate::plan::{Folder, end_of_links};
use crate::run::BODIES;

/// Refuses to write to a path that the job of a folder has for itself.
///
/// # Errors
/// When the path is the job's own, or its links have no end.
pub fn refuse_own(folder: &Folder, path: &Path) -> Result<()> {
    let home = Folder::at(folder.base());
    match is_own(&home, &end_of_links(path).map_err(at("write", path))?) {
        true => Err(Error::usage(format!(
            "{} belongs to the job itself: name another file",
            path.display()
        ))),
        false => Ok(()),
    }
}

fn is_own(home: &Folder, path: &Path) -> bool {
    let resolved = std::path::absolute(path).ok();
    let resolved = resolved.as_deref().and_then(|path| {
        let parent = fs::canonicalize(path.parent()?).ok()?;
        Some(parent.join(path.file_name()?))
    });
    let inside = resolved.as_deref().and_then(|path| {
        let home = fs::canonicalize(home.path()).ok()?;
        path.strip_prefix(home).ok()
    });
    inside
        .and_then(|inside| inside.iter().next())
        .is_some_and(|first| is_own_name(home, first))
}

/// Whether an entry of the job's folder with this name is the job's, or a draft of the job's.
fn is_own_name(home: &Folder, name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let name = name.strip_suffix(".draft").unwrap_or(&name);
    let paths = [
        home.job(),
        home.plan(),
        home.planned(),
        home.parts(),
        home.results(),
        home.progress(),
        home.rounds(),
        home.workers(),
        home.products(),
        home.lock(),
    ];
    let mut names = paths.iter().filter_map(|path| path.file_name());
    names.any(|own| own == name) || [PAGE, BODIES].contains(&name) || noted(home).contains_key(name)
}
