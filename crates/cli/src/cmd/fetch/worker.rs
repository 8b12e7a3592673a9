//! `hecaton fetch worker`: runs the parts of a planned job that NATS hands out.

use anyhow::Result;
use clap::Args;

use super::watching::Watching;
use super::{Home, Server, Threads};

/// Runs parts of an enqueued job until all parts are done.
///
/// Start one worker on each machine, at any time. After Ctrl-C, a worker returns its parts at once. If a worker is
/// killed, other workers take its parts when the lease expires.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) home: Home,
    #[command(flatten)]
    server: Server,
    /// Maximum parts to run at once. Another part starts only if more requests may be in flight.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=32))]
    parts: u32,
    #[command(flatten)]
    threads: Threads,
    /// After a crash, send POST and PATCH requests again even if the server may have got them already.
    #[arg(long)]
    resend_unknown: bool,
    #[command(flatten)]
    watching: Watching,
    /// Print nothing unless something goes wrong.
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the worker.
///
/// # Errors
/// When there is no planned job, NATS cannot be reached, or a part cannot be done.
#[cfg(feature = "nats")]
pub fn run(arguments: &Arguments) -> Result<()> {
    use hecaton_fetch::finish;
    use hecaton_fetch::plan::Folder;
    use hecaton_fetch::start::load;

    use super::open::open;
    use super::verdict;

    #[cfg(feature = "objects")]
    if let Some(url) = hecaton_fetch::remote::url(&arguments.home.folder) {
        return elsewhere(arguments, url);
    }
    super::elsewhere::refuse(&arguments.home.folder, " worker")?;
    let folder = Folder::at(&arguments.home.folder);
    let started = open(&folder)?;
    let summary = work(arguments, &started)?;
    finish::last(&folder)?;
    say(arguments, &folder.results(), &summary);
    let home = folder.shown();
    verdict::judge(&load(folder)?, &started.job, &home)
}

/// Works on a job in object storage.
#[cfg(all(feature = "nats", feature = "objects"))]
fn elsewhere(arguments: &Arguments, url: &str) -> Result<()> {
    use hecaton_fetch::remote::{Notes, Remote, Scratch};

    use super::verdict;

    let (remote, scratch) = (Remote::current(url)?, Scratch::new(None)?);
    let started = remote.prepare(&scratch)?;
    remote.refresh(&started.folder)?;
    let notes = Notes::begin(&remote, &started.folder, true)?;
    let ended = work(arguments, &started);
    drop(notes);
    let is_done = || {
        let known = remote.refresh(&started.folder).is_ok();
        known && started.plan.undone(&started.folder).next().is_none()
    };
    match ended {
        Ok(summary) => say(arguments, format!("{url}/results").as_ref(), &summary),
        // A worker that slept may fail at any step although other workers have done the rest.
        Err(_) if is_done() => {}
        Err(error) => return Err(error),
    }
    remote.finish(&started)?;
    verdict::judge(&remote.whole(&Scratch::new(None)?)?, &started.job, url)
}

#[cfg(feature = "nats")]
fn say(arguments: &Arguments, results: &std::path::Path, summary: &hecaton_fetch::run::Summary) {
    if !arguments.quiet {
        crate::say!(
            "all parts are done; this worker: {}",
            super::run::sentence(results, summary)
        );
    }
}

/// Runs parts until all are done.
#[cfg(feature = "nats")]
fn work(
    arguments: &Arguments,
    started: &hecaton_fetch::start::Started,
) -> Result<hecaton_fetch::run::Summary> {
    use hecaton_fetch::dispatch::{WorkerOptions, run_worker};

    use super::live::Live;

    let stop = crate::stop::on_request()?;
    let options = WorkerOptions {
        url: arguments.server.url.clone(),
        most: arguments.parts as usize,
        threads: arguments.threads.threads,
        resend_unknown: arguments.resend_unknown,
    };
    let mut live = Live::new(arguments.quiet, &arguments.watching)?;
    let summary = run_worker(started, &options, &stop, &mut live);
    live.end();
    Ok(summary?)
}

#[cfg(not(feature = "nats"))]
pub fn run(_: &Arguments) -> Result<()> {
    super::without_nats("worker")
}
