//! `hecaton measure`: any program that sends requests, as it is, by the log of a test server of its own.

use std::io::{Write, stdout};
use std::sync::atomic::Ordering;

use anyhow::{Result, bail};
use clap::Args;
use hecaton_lab::findings::stats::median;
use hecaton_lab::findings::words::{count, figure, short};
use hecaton_lab::findings::{Column, Threshold, milliseconds, number};
use hecaton_lab::run::Interrupted;
use hecaton_lab::run::program::{Program, Ran};
use hecaton_lab::spec::{Usage, parse_memory};
use hecaton_test_server::{Delay, Summary};
use serde_json::json;

use crate::ending::Beyond;
use crate::stop;

use super::session::quoted;

/// Runs any program that sends requests, unchanged, and shows what the test server saw.
///
/// The program needs no driver. The server's address replaces {url} in its arguments, and is in the variable
/// HECATON_URL. The server's pages are /r/1, /r/2 and so on; `hecaton serve --help` lists the others.
///
/// The counts are the server's. Whether the program read the bodies is unverified, because it does not report their
/// check values; `hecaton sweep` verifies that, with a driver. Time, CPU time and memory include the program's start.
#[derive(Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub struct Arguments {
    /// How often to run the program, each time with a new server.
    #[arg(short = 'r', long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Bytes of a response's body, at least 8.
    #[arg(short = 'b', long, value_name = "BYTES", default_value_t = 133, value_parser = clap::value_parser!(u32).range(8..))]
    body: u32,
    /// How long the server waits before each response: 15ms, uniform:5ms..20ms, lognormal:p50=5ms,p99=40ms; 0 means no
    /// delay.
    #[arg(short = 'd', long, default_value = "0")]
    delay: Delay,
    /// Show the program's standard output, not only its errors.
    #[arg(long, conflicts_with = "json")]
    show_output: bool,
    /// Print the runs as JSON, with the totals of the server's log for each.
    #[arg(long)]
    json: bool,
    /// End with status 3 if a run is beyond this limit, as in 'time > 2s' or 'duplicates > 0'; may be repeated. Columns:
    /// time, cpu, requests, speed (requests a second), in-flight, connections, reused, duplicates, whole (responses
    /// written whole), cut (all others), bytes (of bodies), memory.
    #[arg(long, value_name = "LIMIT", value_parser = limit)]
    fail_if: Vec<Threshold<Ran>>,
    /// The program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

const USAGE: &str = "hecaton measure [OPTIONS] -- <COMMAND>...";

const EXAMPLES: &str = "\
Examples:
  hecaton measure -- ruby script.rb {url}/r/1
  hecaton measure -d 20ms -- curl --silent --parallel '{url}/r/[1-200]'
  hecaton measure --fail-if 'duplicates > 0' --fail-if 'in-flight < 50' -- ruby script.rb {url}/r/1
  hecaton measure -r 10 --json -- sh -c 'wget -q -O - $HECATON_URL/r/1'";

/// Runs, prints.
pub fn run(arguments: &Arguments) -> Result<()> {
    refuse_without_dashes(&std::env::args().collect::<Vec<_>>(), &arguments.command)?;
    let program = Program {
        line: arguments.command.clone(),
        body_bytes: arguments.body as usize,
        delay: arguments.delay,
        shown: arguments.show_output,
    };
    let stop = stop::on_request()?;
    let mut runs = Vec::new();
    for _ in 0..arguments.runs {
        runs.push(checked(program.run()?)?);
        if stop.load(Ordering::Relaxed) {
            bail!(Interrupted);
        }
    }
    let text = match arguments.json {
        true => json!({"command": arguments.command, "runs": runs}).to_string(),
        false => table(&runs),
    };
    writeln!(stdout().lock(), "{}", text.trim_end())?;
    within(&runs, &arguments.fail_if)
}

/// Without `--` before it, an option behind the program's name would be the program's, and perhaps meant for us.
fn refuse_without_dashes(line: &[String], program: &[String]) -> Result<()> {
    let own = &line[1..line.len() - program.len()];
    if own.last().is_some_and(|word| word == "--") {
        return Ok(());
    }
    // Before `--`, the first word that is no option of ours begins the program.
    if let Some(unknown) = program.first().filter(|word| word.starts_with('-')) {
        bail!(Usage(format!(
            "measure has no option {}; `hecaton measure --help` lists them, with their short forms",
            quoted(unknown)
        )));
    }
    let shown = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>();
    let shown = [shown(own), vec!["--".to_owned()], shown(program)].concat();
    bail!(Usage(format!(
        "write `--` between the options and the program, as in\n  hecaton {}",
        shown.join(" ")
    )))
}

fn limit(text: &str) -> Result<Threshold<Ran>, String> {
    let columns = FACTS.iter().map(|(_, column)| column).chain([&MEMORY]);
    Threshold::parse(text, "time > 2s", columns)
}

/// Fails if a run is beyond a limit, and names each.
fn within(runs: &[Ran], limits: &[Threshold<Ran>]) -> Result<()> {
    let failures = limits.iter().flat_map(|limit| {
        let numbered = (1..).zip(runs);
        numbered.filter_map(|(number, run)| limit.failure(run, &format!("run {number}")))
    });
    Beyond::if_any(failures)
}

/// The run, if the program did what can be measured.
fn checked(run: Ran) -> Result<Ran> {
    match run.status {
        Some(0) => {}
        Some(status) => bail!("the program ended with status {status}, so its run is not shown"),
        None => bail!("a signal ended the program, so its run is not shown"),
    }
    if run.server.arrived == 0 {
        bail!(Usage(
            "the program sent no request to the test server; write {url} where its arguments have the server's \
             address, or let it read HECATON_URL"
                .into()
        ));
    }
    Ok(run)
}

/// The lines of the table: the title of each, and its figure with the name that `--fail-if` knows.
static FACTS: [(&str, Column<Ran>); 11] = [
    (
        "time, ms",
        time("time", |run| Some(run.wall_ns as f64 / 1e6)),
    ),
    (
        "CPU time, ms",
        time("cpu", |run| Some(run.cpu_ns as f64 / 1e6)),
    ),
    (
        "requests",
        counted("requests", |run| Some(run.server.arrived as f64)),
    ),
    (
        "requests a second",
        counted("speed", |run| {
            Some(run.server.arrived as f64 / (run.wall_ns as f64 / 1e9))
        }),
    ),
    (
        "most in flight",
        counted("in-flight", |run| Some(run.server.peak_in_flight as f64)),
    ),
    (
        "connections",
        counted("connections", |run| Some(run.server.connections as f64)),
    ),
    (
        "requests on a reused connection",
        counted("reused", |run| Some(run.server.reused as f64)),
    ),
    (
        "duplicates of /r/<id>",
        counted("duplicates", |run| Some(run.server.duplicates as f64)),
    ),
    (
        "responses written whole",
        counted("whole", |run| Some(run.server.requests as f64)),
    ),
    (
        "responses cut short",
        counted("cut", |run| {
            Some(run.server.arrived.saturating_sub(run.server.requests) as f64)
        }),
    ),
    (
        "bytes of bodies written",
        counted("bytes", |run| Some(run.server.body_bytes_out as f64)),
    ),
];

/// Not in the table, because it is a bound.
static MEMORY: Column<Ran> = column("memory", " MB", parse_memory, |run| Some(memory_mb(run)));

const fn time(name: &'static str, of: fn(&Ran) -> Option<f64>) -> Column<Ran> {
    column(name, " ms", milliseconds, of)
}

const fn counted(name: &'static str, of: fn(&Ran) -> Option<f64>) -> Column<Ran> {
    column(name, "", number, of)
}

const fn column(
    name: &'static str,
    unit: &'static str,
    read: fn(&str) -> Result<f64, String>,
    of: fn(&Ran) -> Option<f64>,
) -> Column<Ran> {
    Column {
        name,
        unit,
        read,
        of,
        unknown: |_| String::new(),
    }
}

/// The most memory that its largest process can have had.
fn memory_mb(run: &Ran) -> f64 {
    run.peak_rss_kb.max(run.least_rss_kb) as f64 / 1e3
}

/// The facts, a column for each run, with the medians before them if there are several.
fn table(runs: &[Ran]) -> String {
    let mut heads: Vec<String> = (1..=runs.len()).map(|run| format!("run {run}")).collect();
    if runs.len() > 1 {
        heads.insert(0, "median".into());
    }
    let mut lines = vec![line("", &heads)];
    for (title, column) in &FACTS {
        let mut figures: Vec<f64> = runs.iter().filter_map(column.of).collect();
        if runs.len() > 1 {
            figures.insert(0, median(&figures).unwrap_or(f64::NAN));
        }
        let figures: Vec<String> = figures.into_iter().map(short).collect();
        lines.push(line(title, &figures));
    }
    lines.push(String::new());
    lines.extend(notes(runs));
    lines.join("\n")
}

fn line(name: &str, cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>11}")).collect();
    format!("{name:<31}{}", cells.join(""))
}

/// The sentences about requests for another path than `/r/<id>`.
fn other_paths(runs: &[Ran]) -> Vec<String> {
    let sum = |of: fn(&Summary) -> u64| runs.iter().map(|run| of(&run.server)).sum::<u64>();
    let of_all = |number: u64, one: &str, several: &str| {
        let are = if number == 1 { one } else { several };
        format!("{} of the requests {are}", count(number))
    };
    let other = sum(|server| server.elsewhere);
    let other = (other > 0).then(|| {
        let which = of_all(other, "was for another path", "were for other paths");
        format!("{which} than /r/<id>; duplicates are not counted there.")
    });
    let unknown = sum(|server| server.unknown);
    let unknown = (unknown > 0).then(|| {
        let which = of_all(
            unknown,
            "got 404, because its path is",
            "got 404, because their paths are",
        );
        format!("{which} not on the test server; its pages are /r/1, /r/2 and so on.")
    });
    [other, unknown].into_iter().flatten().collect()
}

/// The sentences below the figures: memory, other paths, and the limits of such a run.
fn notes(runs: &[Ran]) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(last) = runs.last() {
        let seen = last.peak_rss_kb > last.least_rss_kb;
        let bound = if seen { "at most" } else { "less than" };
        let most = figure(memory_mb(last));
        notes.push(format!(
            "Its largest process had {bound} {most} MB of memory."
        ));
    }
    notes.extend(other_paths(runs));
    notes.push("Unverified: the program does not report the bodies that it read.".into());
    notes
}
