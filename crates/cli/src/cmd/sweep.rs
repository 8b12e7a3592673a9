//! `hecaton sweep`: measures clients over a range of concurrencies and recommends one.

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use console::Term;
use hecaton_lab::findings::judge;
use hecaton_lab::ledger::{Document, Folder};
use hecaton_lab::plan::{estimate, visits};
use hecaton_lab::report;
use hecaton_lab::run::{self, Stage};
use hecaton_lab::spec::{Sweep, SweepRequest, SweepScenario, Target, parse_duration, project_root};
use hecaton_origin::Delay;

use super::recording::Recording;
use crate::progress::{Progress, words};
use crate::stop;

/// Measures clients over a range of concurrencies and recommends one.
///
/// Without a URL the clients run against the lab's own server, whose ledger verifies everything they claim. With
/// one they run against that server, unverified.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Method of the requests to URL, such as GET.
    #[arg(requires = "url")]
    method: Option<String>,
    /// An absolute URL, requested as it is.
    #[arg(conflicts_with_all = ["body", "delay", "time"])]
    url: Option<String>,
    /// Requests of each round to URL.
    #[arg(default_value_t = 500)]
    requests: u64,
    /// Rounds of each row with URL.
    #[arg(default_value_t = 10, conflicts_with = "rounds")]
    repeats: u32,
    /// A client to measure; repeat it for several [default: hecaton-ruby and typhoeus].
    #[arg(long, value_name = "NAME")]
    client: Vec<String>,
    /// Requests in flight, separated by commas [default: 1,2,3,4,5,10,20,40,…,200].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    concurrency: Vec<usize>,
    /// Bytes of the body of an answer; repeat it for several [default: 133 and 13801].
    #[arg(long, value_name = "BYTES")]
    body: Vec<usize>,
    /// Wait before each answer: 15ms, uniform:5ms..20ms, exponential:10ms, lognormal:p50=5ms,p99=40ms; 0 is none
    /// [default: 10ms].
    #[arg(long)]
    delay: Option<Delay>,
    /// Rounds of each row; fewer than six allow no statement with 95 % confidence [default: 6].
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// How long a round lasts, as in 500ms or 1s; the number of requests follows from it [default: 200ms].
    #[arg(long, value_parser = parse_duration)]
    time: Option<Duration>,
    /// Seed of the order and of the delays; a random one, kept in the document, when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Print the document on stdout, and everything else on stderr.
    #[arg(long)]
    json: bool,
    /// Folder for run.json and report.html [default: hecaton-report/<time>-sweep].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print nothing but the result.
    #[arg(long)]
    quiet: bool,
    /// Allow a URL on another machine: a sweep sends as many requests as it can.
    #[arg(long)]
    i_own_this_host: bool,
    /// How long a driver may be late beyond three times what is expected.
    #[arg(long, hide = true, value_parser = parse_duration, default_value = "10s")]
    patience: Duration,
}

const EXAMPLES: &str = "\
Examples:
  hecaton sweep
  hecaton sweep --client hecaton-ruby --client net-http --concurrency 1,10,50 --body 133 --delay 0
  hecaton sweep --delay lognormal:p50=5ms,p99=40ms --rounds 12 --time 1s
  hecaton sweep --json --quiet > run.json
  hecaton sweep GET http://127.0.0.1:3000/ 500 10";

/// Measures, writes the files, prints the result.
pub fn run(arguments: &Arguments, drivers: Option<&Path>) -> Result<()> {
    let root = project_root()?;
    let sweep = Sweep::new(
        request(arguments)?,
        &SweepScenario::load(&root)?,
        &super::catalogue(drivers)?,
    )?;
    let descriptors = run::allow_descriptors(run::descriptors_needed(&sweep))?;
    for manifest in &sweep.clients {
        run::receipt(manifest)?;
    }
    run::reach(&sweep.target)?;
    let folder = Folder::create(arguments.out.as_deref(), "sweep")?;
    let mut recording = Recording::begin((&sweep).into(), folder, &root, descriptors)?;
    match measure(&sweep, arguments, &mut recording) {
        Ok(()) => finish(&recording.folder, &recording.document, arguments),
        Err(error) => Err(recording.keep(error)),
    }
}

fn request(arguments: &Arguments) -> Result<SweepRequest> {
    let (mut rounds, mut foreign) = (arguments.rounds, None);
    if let (Some(method), Some(url)) = (&arguments.method, &arguments.url) {
        foreign = Some(Target::foreign(
            method,
            url,
            arguments.requests,
            arguments.i_own_this_host,
        )?);
        rounds = rounds.or(Some(arguments.repeats));
    }
    Ok(SweepRequest {
        clients: arguments.client.clone(),
        concurrency: arguments.concurrency.clone(),
        body_bytes: arguments.body.clone(),
        delay: arguments.delay,
        rounds,
        round_time: arguments.time,
        seed: arguments.seed,
        foreign,
    })
}

fn measure(sweep: &Sweep, arguments: &Arguments, recording: &mut Recording) -> Result<()> {
    let stage = Stage {
        program: std::env::current_exe()?,
        logs: recording.folder.drivers(),
        pinning: recording.document.environment.pinning,
        patience: arguments.patience,
        tolerant: false,
        stop: stop::on_request()?,
    };
    let planned = visits(sweep).len() as u64;
    let mut progress = Progress::new(planned, arguments.quiet);
    progress.say(&format!(
        "{planned} rounds, about {}, seed {}",
        words(estimate(sweep)),
        sweep.seed
    ));
    let result = recording.measure(sweep, &stage, &mut progress);
    progress.end();
    result
}

fn finish(folder: &Folder, document: &Document, arguments: &Arguments) -> Result<()> {
    let findings = judge(&document.rounds, &document.plan.delay);
    let full = report::document(document, &findings);
    let page = folder.write("report.html", report::html(document, &findings).as_bytes())?;
    folder.finish(&full)?;
    if arguments.json {
        let mut out = stdout().lock();
        serde_json::to_writer(&mut out, &full)?;
        writeln!(out)?;
    } else {
        stdout().lock().write_all(
            report::terminal(document, &findings, &super::style(&Term::stdout())).as_bytes(),
        )?;
    }
    if !arguments.quiet {
        if arguments.json {
            stderr().lock().write_all(
                report::terminal(document, &findings, &super::style(&Term::stderr())).as_bytes(),
            )?;
        }
        eprintln!("report: {}", page.display());
        eprintln!("SHA-256 of run.json: {}", folder.fingerprint()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The help cannot read the scenario, so this holds them together.
    #[test]
    fn the_help_names_the_defaults_of_the_scenario() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenario = SweepScenario::load(&root).unwrap();
        let help = Line::command().render_help().to_string().replace('\n', " ");
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let bodies: Vec<String> = scenario.body_bytes.iter().map(usize::to_string).collect();
        for default in [
            scenario.clients.join(" and "),
            bodies.join(" and "),
            scenario.delay.to_string(),
            scenario.rounds.to_string(),
            format!("{}ms", scenario.round_seconds * 1000.0),
        ] {
            assert!(
                help.contains(&format!("[default: {default}]")),
                "{default} is not in: {help}"
            );
        }
    }
}
