//! `hecaton serve`: the origin alone, until it is told to end.

use std::io::{Write, stdout};
use std::net::SocketAddr;

use anyhow::Result;
use clap::Args;
use hecaton_lab::run::choose_cores;
use hecaton_origin::{Delay, Options, Origin};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Serves as the origin does under every client, until Ctrl-C or SIGTERM.
///
/// The first line on stdout is the base URL; the last is the summary of the ledger, as JSON.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Bytes of the body of an answer, at least 8.
    #[arg(long, value_name = "BYTES", default_value_t = 133, value_parser = clap::value_parser!(u32).range(8..))]
    body: u32,
    /// Wait before each answer: 15ms, uniform:5ms..20ms, exponential:10ms, lognormal:p50=5ms,p99=40ms; 0 is none.
    #[arg(long, default_value = "0")]
    delay: Delay,
    /// Seed of the delays.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  hecaton serve
  hecaton serve --listen 127.0.0.1:8080 --body 13801 --delay lognormal:p50=5ms,p99=40ms
Then, from another terminal: curl http://127.0.0.1:8080/r/1";

/// Serves until a signal comes.
pub fn run(arguments: &Arguments) -> Result<()> {
    // Before the first line is printed: who reads it may send the signal at once.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let origin = Origin::start(Options {
        listen: arguments.listen,
        body_bytes: arguments.body as usize,
        delay: arguments.delay,
        seed: arguments.seed,
        core: choose_cores().map(|pinning| pinning.origin_core),
    })?;
    let mut out = stdout().lock();
    writeln!(out, "{}", origin.base_url())?;
    out.flush()?;
    signals.forever().next();
    writeln!(out, "{}", serde_json::to_string(&origin.stop())?)?;
    Ok(())
}
