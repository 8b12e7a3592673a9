//! `hecaton fetch status`: how far a job is, from another terminal.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::again;
use hecaton_fetch::place::{self, Place};
use hecaton_fetch::plan::Folder;
use hecaton_fetch::record::plural;
use hecaton_fetch::run::check_fail_if;
use hecaton_fetch::show::{Status, status};

use super::live::{hosts, line};
use super::options::Home;
use super::run::outcomes;
use super::verdict::judge_by;
use super::worker_lines;
use crate::terminal::safe;

/// How often `--watch` prints the status.
const PERIOD: Duration = Duration::from_secs(2);

/// Shows how far a job has come, and what each worker does.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub(super) home: Home,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print it again every two seconds, until all parts are done.
    #[arg(long)]
    watch: bool,
    /// Exit with status 3 if this is true of the counts, such as 'not_ok > 1 %'.
    #[arg(long, value_name = "EXPRESSION")]
    fail_if: Option<String>,
}

/// The status of the job, and of the round of `again` that is under way.
struct JobStatus {
    job: Status,
    again: Option<Round>,
}

struct Round {
    /// The condition of the round.
    matching: String,
    round: Status,
}

/// Prints the status.
///
/// # Errors
/// When the folder holds no job.
pub fn run(arguments: &Arguments) -> Result<()> {
    check_fail_if(arguments.fail_if.as_deref())?;
    let place = place::at(&arguments.home.folder, "")?;
    let folder = place.glance()?;
    loop {
        let status = look(&folder)?;
        let text = match arguments.json {
            true => json(&status)?,
            false => lines(&*place, &status).join("\n"),
        };
        let is_screen = arguments.watch && stdout().is_terminal();
        // From the top left corner, on an empty screen.
        let clear = if is_screen { "\x1b[H\x1b[2J" } else { "" };
        writeln!(stdout(), "{clear}{}", safe(&text))?;
        if !arguments.watch || (status.job.is_done() && status.again.is_none()) {
            return match &arguments.fail_if {
                limit @ Some(_) => {
                    judge_by(limit.as_deref(), &status.job.snapshot.tally, &place.shown())
                }
                None => Ok(()),
            };
        }
        std::thread::sleep(PERIOD);
        place.refresh(&folder)?;
    }
}

/// The job's status, with that of the round in it.
fn json(status: &JobStatus) -> Result<String> {
    let mut all = serde_json::to_value(&status.job)?;
    if let Some(again) = &status.again {
        all["again"] = serde_json::to_value(&again.round)?;
        all["again"]["where"] = again.matching.as_str().into();
    }
    Ok(serde_json::to_string_pretty(&all)?)
}

fn look(folder: &Folder) -> Result<JobStatus> {
    let round = || -> Result<Option<Round>> {
        let Some(round) = folder.current_round()? else {
            return Ok(None);
        };
        Ok(Some(Round {
            matching: again::condition(&round)?,
            round: status(&round)?,
        }))
    };
    Ok(JobStatus {
        job: status(folder)?,
        // A round that ends meanwhile removes its folder.
        again: round().ok().flatten(),
    })
}

fn lines(place: &dyn Place, status: &JobStatus) -> Vec<String> {
    let mut lines = of_one(&status.job, &place.resume_with());
    if let Some(again) = &status.again {
        lines.push(format!("again, for the records with {}:", again.matching));
        let again_with = format!("hecaton fetch again {}", place.shown());
        lines.extend(of_one(&again.round, &again_with));
    }
    lines
}

fn of_one(status: &Status, resume_with: &str) -> Vec<String> {
    let snapshot = &status.snapshot;
    let tally = &snapshot.tally;
    let mut lines = vec![line(snapshot)];
    lines.push(format!(
        "{} of {} done; {}",
        snapshot.parts_done,
        plural(snapshot.parts, "part"),
        outcomes(tally)
    ));
    lines.extend(worker_lines::lines(&status.workers, status.is_done()));
    if status.is_running {
        // A process that makes the report and the tables at the end of a job records no progress.
        let who = match (status.is_done(), snapshot.pid) {
            (true, _) => {
                "a process makes what it has at its end: its report, and its tables".to_owned()
            }
            (false, 0) => "a process works on it".to_owned(),
            (false, pid) => format!("process {pid} works on it"),
        };
        lines.push(format!("{who}{}", hosts(snapshot)));
    } else if !status.is_done() && !status.workers.iter().any(|worker| worker.is_here()) {
        lines.push(format!(
            "no process works on it: resume with `{resume_with}`"
        ));
    }
    lines
}
