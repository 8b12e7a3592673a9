//! `hecaton fetch enqueue`: puts the parts of a planned job into a NATS queue, for any number of workers.

use std::io::{Write, stdout};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::job::duration;
use hecaton_fetch::record::plural;
use hecaton_fetch::{dispatch, place};

use super::options::{Home, Server};

/// Puts the parts of a planned job that are not done into a NATS queue.
///
/// Run it again at any time: no part is in the queue twice. If NATS lost its queue, this is how to fill it again.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) home: Home,
    #[command(flatten)]
    server: Server,
    /// A worker that is silent for this long loses its parts to other workers.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    lease: Duration,
}

/// Does it.
///
/// # Errors
/// When there is no planned job, or NATS does not take it.
pub fn run(arguments: &Arguments) -> Result<()> {
    dispatch::check("enqueue")?;
    // It holds the folder where it puts what it reads of a bucket.
    let place = place::at(&arguments.home.folder, " enqueue")?;
    let started = place.for_workers()?;
    let enqueued = dispatch::enqueue(&started, &arguments.server.url, arguments.lease)?;
    let next = match enqueued.new + enqueued.known {
        0 => String::new(),
        _ => {
            let folder = arguments.home.folder.display();
            format!("; `hecaton fetch worker {folder} --nats URL` on any machine runs them")
        }
    };
    writeln!(
        stdout(),
        "{} queued, {} in the queue already, {} done{next}",
        plural(enqueued.new, "part"),
        enqueued.known,
        enqueued.done
    )?;
    Ok(())
}
