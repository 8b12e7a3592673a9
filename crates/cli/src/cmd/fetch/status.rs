//! `hecaton fetch status`: how far a job is, from another terminal.

use anyhow::Result;
use clap::Args;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::show::status;

use super::Home;
use super::live::{hosts, line};

/// Tells how far a job is.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Tells it.
///
/// # Errors
/// When the folder holds no job.
pub fn run(arguments: &Arguments) -> Result<()> {
    let status = status(&Folder::at(&arguments.home.folder))?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&status)?);
        return Ok(());
    }
    let snapshot = &status.snapshot;
    println!("{}", line(snapshot));
    let tally = &snapshot.tally;
    println!(
        "{} of {} parts done; {} responses ({} good), {} errors, {} skipped, {} unknown, {} invalid",
        snapshot.parts_done,
        snapshot.parts,
        tally.responses,
        tally.ok,
        tally.errors,
        tally.skipped,
        tally.unknown,
        tally.invalid
    );
    match status.is_running {
        true => println!("process {} works on it{}", snapshot.pid, hosts(snapshot)),
        false if snapshot.parts_done < snapshot.parts => {
            println!("nobody works on it: the command that began it goes on");
        }
        false => {}
    }
    Ok(())
}
