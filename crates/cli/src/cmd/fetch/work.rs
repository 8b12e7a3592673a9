//! `hecaton fetch work`: does the parts of a planned job as NATS hands them out.

use anyhow::Result;
use clap::Args;

use super::{Home, Server};

/// Does parts of an offered job, until all parts of it are done.
///
/// Start one on each machine, at any time, and end any of them: Ctrl-C gives its parts back, and those of a killed
/// worker go to others when its lease is over.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    #[command(flatten)]
    server: Server,
    /// The most parts at once; a further part begins only while there is room for more requests in flight.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=32))]
    parts: u32,
    /// After a crash, send POST and PATCH requests again even if the server may have got them already.
    #[arg(long)]
    resend_unknown: bool,
    /// Print nothing unless something goes wrong.
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
        crate::say!(
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
