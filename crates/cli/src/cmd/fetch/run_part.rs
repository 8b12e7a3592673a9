//! `hecaton fetch run-part`: one part of a planned job, for any engine that hands out numbers.

use anyhow::Result;
use clap::Args;
use hecaton_fetch::place::{self, PartEnd};
use hecaton_fetch::run::{Options, Running};

use super::live::Live;
use super::options::Home;
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
}

/// Does it.
///
/// # Errors
/// When it cannot be done, or another worker took it over and has not done it yet.
pub fn run(arguments: &Arguments) -> Result<()> {
    let place = place::at(&arguments.home.folder, " run-part")?;
    let stop = stop::on_request()?;
    let options = Options {
        parts: vec![arguments.part],
        resend_unknown: arguments.resend_unknown,
        note_worker: true,
        ..Options::default()
    };
    let mut live = Live::new(&arguments.watching)?;
    let ended = place.run_part(&mut Running::new(&options, &stop, &mut live));
    live.end();
    let ended = match ended? {
        PartEnd::Ran(summary) => sentence(&place.results_shown(), &summary),
        PartEnd::Already => "done already".to_owned(),
        PartEnd::Elsewhere => "done by another worker".to_owned(),
    };
    if !arguments.watching.quiet {
        crate::say!("part {}: {ended}", arguments.part);
    }
    Ok(())
}
