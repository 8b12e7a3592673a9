//! `hecaton fetch status`: how far a job is, from another terminal.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::show::{Status, status};

use super::Home;
use super::live::{hosts, line};
use super::workers;

/// How often it is told while it is watched.
const PERIOD: Duration = Duration::from_secs(2);

/// Tells how far a job is, with all of its workers.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// Again every two seconds, until all parts are done.
    #[arg(long)]
    watch: bool,
}

/// Tells it.
///
/// # Errors
/// When the folder holds no job.
pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::at(&arguments.home.folder);
    loop {
        let status = status(&folder)?;
        let told = match arguments.json {
            true => serde_json::to_string_pretty(&status)?,
            false => lines(&status).join("\n"),
        };
        if arguments.watch && std::io::stdout().is_terminal() {
            // From the top left corner, on an empty screen.
            print!("\x1b[H\x1b[2J");
        }
        println!("{told}");
        let is_done = status.snapshot.parts_done >= status.snapshot.parts;
        if !arguments.watch || is_done {
            return Ok(());
        }
        std::thread::sleep(PERIOD);
    }
}

fn lines(status: &Status) -> Vec<String> {
    let snapshot = &status.snapshot;
    let tally = &snapshot.tally;
    let mut lines = vec![line(snapshot)];
    lines.push(format!(
        "{} of {} parts done; {} responses ({} good), {} errors, {} skipped, {} unknown, {} invalid",
        snapshot.parts_done,
        snapshot.parts,
        tally.responses,
        tally.ok,
        tally.errors,
        tally.skipped,
        tally.unknown,
        tally.invalid
    ));
    lines.extend(workers::lines(&status.workers));
    let is_left = snapshot.parts_done < snapshot.parts;
    if status.is_running {
        lines.push(format!(
            "process {} works on it{}",
            snapshot.pid,
            hosts(snapshot)
        ));
    } else if is_left && !status.workers.iter().any(|worker| worker.is_here()) {
        lines.push("nobody works on it: the command that began it goes on".into());
    }
    lines
}
