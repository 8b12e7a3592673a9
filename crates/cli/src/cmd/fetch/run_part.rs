//! `hecaton fetch run-part`: one part of a planned job, for any engine that hands out numbers.

use anyhow::Result;
use clap::Args;
use hecaton_fetch::error::Error;
use hecaton_fetch::finish;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::Options;

use super::Home;
use super::live::Live;
use super::open::open;
use super::run::sentence;
use super::watching::Watching;
use crate::stop;

/// Does one part of a planned job; takes it over if another process works on it.
///
/// Ends with status 0 when the part is done, by this process or another.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    /// The number of the part, from 0.
    #[arg(value_name = "N")]
    part: u32,
    /// After a crash, send POST and PATCH requests again even if the server may have got them already.
    #[arg(long)]
    resend_unknown: bool,
    #[command(flatten)]
    watching: Watching,
    /// Print nothing unless something goes wrong.
    #[arg(short, long)]
    quiet: bool,
}

/// Does it.
///
/// # Errors
/// When it cannot be done, or another worker took it over and has not done it yet.
pub fn run(arguments: &Arguments) -> Result<()> {
    let stop = stop::on_request()?;
    let folder = Folder::at(&arguments.home.folder);
    let started = open(&folder)?;
    let options = Options {
        parts: vec![arguments.part],
        resend_unknown: arguments.resend_unknown,
        note_worker: true,
        ..Options::default()
    };
    let mut live = Live::new(arguments.quiet, &arguments.watching)?;
    let summary = started.run(&options, &stop, &mut live);
    live.end();
    let summary = summary?;
    let is_done = started.plan.part(arguments.part)?.inputs == 0
        || started.folder.commit(arguments.part).exists()
        // A round is removed when another process has merged its records.
        || !started.folder.plan().exists();
    if !is_done {
        let what = format!(
            "part {} was taken over by another worker, which has not done it yet",
            arguments.part
        );
        return Err(Error::failed(what).into());
    }
    finish::job(&folder)?;
    if !arguments.quiet {
        crate::say!(
            "part {}: {}",
            arguments.part,
            sentence(&folder.results(), &summary)
        );
    }
    Ok(())
}
