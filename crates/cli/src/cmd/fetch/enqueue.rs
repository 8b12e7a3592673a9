//! `hecaton fetch enqueue`: puts the parts of a planned job into a NATS queue, for any number of workers.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use super::arguments::duration;
use super::{Home, Server};

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
#[cfg(feature = "nats")]
pub fn run(arguments: &Arguments) -> Result<()> {
    use hecaton_fetch::plan::Folder;

    use super::open::open;

    #[cfg(feature = "objects")]
    if let Some(url) = hecaton_fetch::remote::url(&arguments.home.folder) {
        use hecaton_fetch::remote::{Remote, Scratch};
        let (remote, scratch) = (Remote::current(url)?, Scratch::new(None)?);
        let started = remote.load(&scratch)?;
        remote.refresh(&started.folder)?;
        return publish(arguments, &started);
    }
    super::elsewhere::refuse(&arguments.home.folder, " enqueue")?;
    publish(arguments, &open(&Folder::at(&arguments.home.folder))?)
}

#[cfg(feature = "nats")]
fn publish(arguments: &Arguments, started: &hecaton_fetch::start::Started) -> Result<()> {
    use std::io::{Write, stdout};

    use hecaton_fetch::dispatch::enqueue;
    use hecaton_lab::findings::words::plural;

    let enqueued = enqueue(started, &arguments.server.url, arguments.lease)?;
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

#[cfg(not(feature = "nats"))]
pub fn run(_: &Arguments) -> Result<()> {
    super::without_nats("enqueue")
}
