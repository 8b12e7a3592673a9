//! `hecaton fetch run-part`: one part of a planned job, for any engine that hands out numbers.

use anyhow::Result;
use clap::Args;
use hecaton_fetch::error::Error;
use hecaton_fetch::finish;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::{Options, Summary};
use hecaton_fetch::start::Started;

use super::Home;
use super::live::Live;
use super::open::open;
use super::run::sentence;
use super::watching::Watching;
use crate::stop;

/// Runs one part of a planned job, and takes it over if another process is running it.
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
    #[cfg(feature = "objects")]
    if let Some(url) = hecaton_fetch::remote::url(&arguments.home.folder) {
        return elsewhere(arguments, url);
    }
    super::elsewhere::refuse(&arguments.home.folder, " run-part")?;
    let folder = Folder::at(&arguments.home.folder);
    let started = open(&folder)?;
    let summary = run_one(arguments, &started)?;
    finish::last(&folder)?;
    if !arguments.quiet {
        let ended = if summary.elsewhere.contains(&arguments.part) {
            "done by another worker".to_owned()
        } else {
            sentence(&folder.results(), &summary)
        };
        crate::say!("part {}: {ended}", arguments.part);
    }
    Ok(())
}

/// Runs a part of a job in object storage.
#[cfg(feature = "objects")]
fn elsewhere(arguments: &Arguments, url: &str) -> Result<()> {
    use hecaton_fetch::remote::{Notes, Remote, Scratch};
    let (remote, scratch) = (Remote::current(url)?, Scratch::new(None)?);
    let started = remote.prepare(&scratch)?;
    let (folder, part) = (&started.folder, arguments.part);
    if started.plan.part(part)?.added > 0 {
        // A part of an addition begins when the parts before it are done.
        remote.refresh(folder)?;
    }
    let ended = if remote.complete(folder, part)? {
        "done already".to_owned()
    } else {
        let _notes = Notes::begin(&remote, folder, false)?;
        match run_one(arguments, &started) {
            Ok(summary) => sentence(format!("{url}/results").as_ref(), &summary),
            // A worker that slept may fail at anything, when another has done the part.
            Err(_) if remote.complete(folder, part).unwrap_or(false) => {
                "done by another worker".to_owned()
            }
            Err(error) => return Err(error),
        }
    };
    remote.finish(&started)?;
    if !arguments.quiet {
        crate::say!("part {}: {ended}", arguments.part);
    }
    Ok(())
}

/// Does the part.
fn run_one(arguments: &Arguments, started: &Started) -> Result<Summary> {
    let stop = stop::on_request()?;
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
    let is_done =
        started.plan.part(arguments.part)?.inputs == 0 || started.folder.is_done(arguments.part);
    if !is_done {
        let what = format!(
            "part {} was taken over by another worker, which has not done it yet",
            arguments.part
        );
        return Err(Error::failed(what).into());
    }
    Ok(summary)
}
