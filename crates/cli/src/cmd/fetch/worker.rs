//! `hecaton fetch worker`: runs the parts of a planned job that NATS hands out.

use anyhow::Result;
use clap::Args;
use hecaton_fetch::dispatch::{self, WorkerOptions, run_worker};
use hecaton_fetch::place;
use hecaton_fetch::run::{Options, Running};

use super::live::Live;
use super::options::{Home, Server, Threads};
use super::run::sentence;
use super::verdict;
use super::watching::Watching;
use crate::stop;

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
}

/// Runs the worker.
///
/// # Errors
/// When there is no planned job, NATS cannot be reached, or a part cannot be done.
pub fn run(arguments: &Arguments) -> Result<()> {
    dispatch::check("worker")?;
    let place = place::at(&arguments.home.folder, " worker")?;
    let started = place.for_workers()?;
    let stop = stop::on_request()?;
    let worker = WorkerOptions {
        url: arguments.server.url.clone(),
        most: arguments.parts as usize,
    };
    let options = Options {
        threads: arguments.threads.threads,
        resend_unknown: arguments.resend_unknown,
        note_worker: true,
        ..Options::default()
    };
    let mut live = Live::new(&arguments.watching)?;
    let summary = place.work(&started, &mut |started| {
        let mut with = Running::new(&options, &stop, &mut live);
        let summary = run_worker(started, &worker, &mut with);
        live.end();
        summary
    })?;
    if let Some(summary) = summary.filter(|_| !arguments.watching.quiet) {
        let ended = sentence(&place.results_shown(), &summary);
        crate::say!("all parts are done; this worker: {ended}");
    }
    verdict::judge(&place.whole()?, &started.job, &place.shown())
}
