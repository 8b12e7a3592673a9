//! `hecaton fetch work`: does the parts of a planned job as NATS hands them out.

use anyhow::Result;
use clap::Args;

use super::{Home, Server};

/// Does parts of an offered job, until all of them are done, by whomever.
///
/// Start as many as there are machines, at any time, and end any of them: Ctrl-C gives back what it holds, and what a killed one
/// held goes to others when its lease is over.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    #[command(flatten)]
    server: Server,
    /// Most parts at once. Another is begun only while fewer requests are in flight than may be.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=32))]
    parts: u32,
    /// Send requests again of which nobody knows whether they were sent (POST and PATCH after a crash).
    #[arg(long)]
    resend_unknown: bool,
    /// Say nothing while it goes well.
    #[arg(short, long)]
    quiet: bool,
}

/// Does it.
///
/// # Errors
/// When there is no planned job, NATS cannot be reached, or a part cannot be done.
#[cfg(feature = "nats")]
pub fn run(arguments: &Arguments) -> Result<()> {
    use hecaton_fetch::dispatch::{Asked, work};
    use hecaton_fetch::plan::Folder;

    use super::live::Live;
    use super::products;
    use super::run::sentence;
    use crate::stop;

    let stop = stop::on_request()?;
    let folder = Folder::at(&arguments.home.folder);
    let started = products::open(&folder)?;
    let asked = Asked {
        url: arguments.server.url.clone(),
        most: arguments.parts as usize,
        resend_unknown: arguments.resend_unknown,
    };
    let mut live = Live::new(arguments.quiet);
    let summary = work(&started, &asked, &stop, &mut live);
    live.end();
    let summary = summary?;
    products::end(&folder, &started)?;
    if !arguments.quiet {
        eprintln!(
            "all parts are done; this worker: {}",
            sentence(&folder.results(), &summary)
        );
    }
    Ok(())
}

#[cfg(not(feature = "nats"))]
pub fn run(arguments: &Arguments) -> Result<()> {
    let Arguments {
        home,
        server,
        parts,
        resend_unknown,
        quiet,
    } = arguments;
    let _ = (&home.folder, &server.url, parts, resend_unknown, quiet);
    super::without_nats("work")
}
