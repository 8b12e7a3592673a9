//! Opens the folder of a job for a verb that works on its parts.

use anyhow::Result;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::start::{Started, load};
use hecaton_fetch::{again, finish};

/// The job of a folder, or its round that is not done: the parts to enqueue and to run. A job that is done is finished
/// first, as far as a crash left something to do.
///
/// # Errors
/// When there is none, or something cannot be written.
pub fn open(folder: &Folder) -> Result<Started> {
    finish::job(folder)?;
    finish::parts(folder)?;
    let base = load(folder.clone())?;
    Ok(again::current(folder)?.unwrap_or(base))
}
