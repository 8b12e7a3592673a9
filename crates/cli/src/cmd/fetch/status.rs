//! `hecaton fetch status`: how far a job is, from another terminal.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::again;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::show::{Status, status};
use hecaton_lab::findings::words::{count, plural};

use super::Home;
use super::live::{hosts, line};
use super::workers;

/// How often it is told while it is watched.
const PERIOD: Duration = Duration::from_secs(2);

/// Shows how far a job has come, and what each worker does.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print it again every two seconds, until all parts are done.
    #[arg(long)]
    watch: bool,
}

/// What is told: the job, and the round of `again` that is under way.
struct Told {
    job: Status,
    again: Option<Round>,
}

struct Round {
    /// The records that are asked for again.
    matching: String,
    round: Status,
}

/// Tells it.
///
/// # Errors
/// When the folder holds no job.
pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = Folder::at(&arguments.home.folder);
    loop {
        let told = look(&folder)?;
        let text = match arguments.json {
            true => json(&told)?,
            false => lines(&folder, &told).join("\n"),
        };
        let is_screen = arguments.watch && stdout().is_terminal();
        // From the top left corner, on an empty screen.
        let clear = if is_screen { "\x1b[H\x1b[2J" } else { "" };
        writeln!(stdout(), "{clear}{text}")?;
        if !arguments.watch || (told.job.is_done() && told.again.is_none()) {
            return Ok(());
        }
        std::thread::sleep(PERIOD);
    }
}

/// The job's status, with that of the round in it.
fn json(told: &Told) -> Result<String> {
    let mut all = serde_json::to_value(&told.job)?;
    if let Some(again) = &told.again {
        all["again"] = serde_json::to_value(&again.round)?;
        all["again"]["where"] = again.matching.as_str().into();
    }
    Ok(serde_json::to_string_pretty(&all)?)
}

fn look(folder: &Folder) -> Result<Told> {
    let round = || -> Result<Round> {
        Ok(Round {
            matching: again::asked(folder)?,
            round: status(&folder.again())?,
        })
    };
    Ok(Told {
        job: status(folder)?,
        // One that ends meanwhile takes its folder away.
        again: round().ok(),
    })
}

fn lines(folder: &Folder, told: &Told) -> Vec<String> {
    let path = folder.path().display();
    let goes_on = format!("hecaton fetch -o {path}");
    let mut lines = of_one(&told.job, &goes_on);
    if let Some(again) = &told.again {
        lines.push(format!("again, for the records with {}:", again.matching));
        lines.extend(of_one(&again.round, &format!("hecaton fetch again {path}")));
    }
    lines
}

fn of_one(status: &Status, goes_on: &str) -> Vec<String> {
    let snapshot = &status.snapshot;
    let tally = &snapshot.tally;
    let mut lines = vec![line(snapshot)];
    lines.push(format!(
        "{} of {} done; {} ({} good), {}, {} skipped, {} unknown, {} invalid",
        snapshot.parts_done,
        plural(snapshot.parts, "part"),
        plural(tally.responses, "response"),
        count(tally.ok),
        plural(tally.errors, "error"),
        count(tally.skipped),
        count(tally.unknown),
        count(tally.invalid)
    ));
    lines.extend(workers::lines(&status.workers, status.is_done()));
    if status.is_running {
        // A worker that makes what a job has at its end notes nothing.
        let who = match (status.is_done(), snapshot.pid) {
            (true, _) => {
                "a process makes what it has at its end: its report, and its tables".to_owned()
            }
            (false, 0) => "a process works on it".to_owned(),
            (false, pid) => format!("process {pid} works on it"),
        };
        lines.push(format!("{who}{}", hosts(snapshot)));
    } else if !status.is_done() && !status.workers.iter().any(|worker| worker.is_here()) {
        lines.push(format!("no process works on it: go on with `{goes_on}`"));
    }
    lines
}
