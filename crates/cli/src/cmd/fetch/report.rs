//! `hecaton fetch report`: the outcome of a job on one page.

use std::io::{Write, stdout};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::finish;
use hecaton_fetch::plan::Folder;

use super::Home;

/// Writes report.html beside the job's results: outcomes over time, hosts, latencies, and what went wrong.
///
/// A job of up to a million inputs writes it by itself when it is done.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) home: Home,
}

/// Writes it.
///
/// # Errors
/// When the folder holds no job, or it cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    #[cfg(feature = "objects")]
    if let Some(url) = hecaton_fetch::remote::url(&arguments.home.folder) {
        use hecaton_fetch::remote::{Remote, Scratch};
        let page = Remote::open(url)?.report(&Scratch::new(None)?)?;
        return Ok(writeln!(stdout(), "{page}")?);
    }
    super::elsewhere::refuse(&arguments.home.folder, " report")?;
    let folder = Folder::at(&arguments.home.folder);
    finish::parts(&folder)?;
    let page = finish::report(&folder)?;
    Ok(writeln!(stdout(), "{}", page.display())?)
}
