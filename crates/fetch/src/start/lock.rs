//! The lock of a job's folder: one process works on it at a time, and whoever comes second is refused.

use std::fs::File;

use nix::fcntl::Flock;

use crate::error::{Error, Result, at};
use crate::plan::{Folder, Holder, try_lock};

/// A process holds the folder until this is dropped, or until it ends in any way.
pub type Lock = Flock<File>;

/// Locks a folder.
///
/// # Errors
/// When another process holds it: who that is, and what to do.
pub fn lock(folder: &Folder) -> Result<Lock> {
    lock_if_free(folder)?.ok_or_else(|| Error::failed(is_held(folder)))
}

/// The process that holds a folder, if it says who it is.
fn holder(folder: &Folder) -> Option<Holder> {
    Holder::noted(&mut File::open(folder.lock()).ok()?)
}

/// Whether the process that holds a folder is stopped. Nobody needs to wait for it.
pub fn is_stopped(folder: &Folder) -> bool {
    holder(folder).is_some_and(|holder| holder.is_stopped())
}

/// Says who holds a folder, and what to do.
fn is_held(folder: &Folder) -> String {
    let path = folder.base().display();
    match holder(folder) {
        Some(holder) if holder.is_stopped() => format!(
            "{holder} works on {path} and is stopped: {}; this command can be run after that",
            holder.remedy()
        ),
        holder => {
            let who = holder.map(|holder| holder.to_string());
            let who = who.unwrap_or_else(|| "another process".into());
            format!(
                "{who} works on {path} already: `hecaton fetch status {path}` shows its progress"
            )
        }
    }
}

/// Refuses a folder that another process holds.
///
/// # Errors
/// Who holds it, and what to do.
pub fn refuse_held(folder: &Folder) -> Result<()> {
    lock(folder).map(drop)
}

/// Locks a folder; none when another process holds it.
///
/// # Errors
/// When the file cannot be created.
pub fn lock_if_free(folder: &Folder) -> Result<Option<Lock>> {
    let path = folder.lock();
    let Ok(mut lock) = try_lock(&path).map_err(at("create", &path))? else {
        return Ok(None);
    };
    Holder::note(&mut lock);
    Ok(Some(lock))
}
