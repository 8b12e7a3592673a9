//! `hecaton fetch report`: the outcome of a job on one page.

use std::io::{Write, stdout};

use anyhow::Result;
use clap::Args;
use hecaton_fetch::place;

use super::options::Home;

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
    let page = place::at(&arguments.home.folder, " report")?.report()?;
    Ok(writeln!(stdout(), "{page}")?)
}
