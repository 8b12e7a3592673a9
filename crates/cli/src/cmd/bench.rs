//! `hecaton bench`: the gem beside its peers, part by part, and the goals that it is held against.

use std::io::{Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use clap::Args;
use console::Term;
use hecaton_lab::findings::{Findings, judge, judge_goal};
use hecaton_lab::ledger::{Environment, Folder, SCHEMA};
use hecaton_lab::plan::{estimate, visits};
use hecaton_lab::report::{self, BenchDocument, JudgedGoal, PartDocument, Style};
use hecaton_lab::run::{self, DriverError, Stage};
use hecaton_lab::spec::{
    BenchScenario, Catalogue, Goal, Part, Sweep, SweepRequest, Usage, parse_duration, project_root,
};

use super::recording::{Recording, command_line};
use super::style;
use crate::progress::{Progress, words};
use crate::stop;

/// Measures the gem beside other Ruby clients, and says which of its goals it meets.
///
/// What is measured and what is asked is in scenarios/bench/client.toml. A goal that is missed is no failure of the
/// command; clients that are not installed are left out.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Fewer and shorter rounds, in about two minutes: to see that everything works, not for figures.
    #[arg(long)]
    quick: bool,
    /// A part to measure; repeat it for several [default: all].
    #[arg(long, value_name = "NAME")]
    part: Vec<String>,
    /// Seed of the order and of the delays; a random one, kept in the documents, when absent.
    #[arg(long)]
    seed: Option<u64>,
    /// Print the document on stdout, and everything else on stderr.
    #[arg(long)]
    json: bool,
    /// Folder for bench.json, and a folder for each part [default: hecaton-report/<time>-bench].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print nothing but the result.
    #[arg(long)]
    quiet: bool,
    /// How long a driver may be late beyond three times what is expected.
    #[arg(long, hide = true, value_parser = parse_duration, default_value = "10s")]
    patience: Duration,
}

const EXAMPLES: &str = "\
Examples:
  hecaton bench                                  all parts, in less than a quarter of an hour
  hecaton bench --quick                          the same in two minutes, without meaning
  hecaton bench --part many --part memory --out /tmp/bench
  hecaton bench --json --quiet > bench.json";

/// A part that has been measured.
struct Measured<'a> {
    part: &'a Part,
    recording: Recording,
    findings: Findings,
}

/// What all parts share.
struct Bench<'a> {
    arguments: &'a Arguments,
    root: PathBuf,
    out: PathBuf,
    catalogue: Catalogue,
    subject: String,
    /// The same in every part, once one was drawn.
    seed: Option<u64>,
    stop: Arc<AtomicBool>,
    progress: Progress,
    left_out: Vec<String>,
}

/// Measures part by part, prints tables and judgements.
pub fn run(arguments: &Arguments, drivers: Option<&Path>) -> Result<()> {
    let root = project_root()?;
    let mut scenario = BenchScenario::load(&root)?;
    if arguments.quick {
        scenario = scenario.quick();
    }
    let parts = chosen(&scenario, &arguments.part)?;
    let mut bench = Bench {
        arguments,
        out: Folder::place(arguments.out.as_deref(), "bench"),
        root,
        catalogue: super::catalogue(drivers)?,
        subject: scenario.subject.clone(),
        seed: arguments.seed,
        stop: stop::on_request()?,
        progress: Progress::new(0, true),
        left_out: Vec::new(),
    };
    let sweeps = bench.sweeps(&parts)?;
    let planned = sweeps.iter().map(|(_, sweep)| visits(sweep).len() as u64);
    bench.progress = Progress::new(planned.sum(), arguments.quiet);
    bench.progress.say(&format!(
        "about {}, seed {}",
        words(sweeps.iter().map(|(_, sweep)| estimate(sweep)).sum()),
        bench.seed.unwrap_or_default()
    ));
    let mut measured = Vec::new();
    for (part, sweep) in sweeps {
        measured.extend(bench.measure(part, sweep)?);
    }
    bench.progress.end();
    bench.finish(&scenario, &parts, &measured)
}

fn chosen<'a>(scenario: &'a BenchScenario, names: &[String]) -> Result<Vec<&'a Part>, Usage> {
    let all: Vec<&Part> = scenario.part.iter().collect();
    if let Some(unknown) = names
        .iter()
        .find(|name| all.iter().all(|part| part.name != **name))
    {
        let known: Vec<&str> = all.iter().map(|part| part.name.as_str()).collect();
        return Err(Usage(format!(
            "no part is called {unknown}; the parts are {}",
            known.join(", ")
        )));
    }
    let wanted = |part: &&Part| names.is_empty() || names.contains(&part.name);
    Ok(all.into_iter().filter(wanted).collect())
}

impl Bench<'_> {
    /// The sweep of each part, with the clients that are there.
    fn sweeps<'p>(&mut self, parts: &[&'p Part]) -> Result<Vec<(&'p Part, Sweep)>> {
        let mut sweeps = Vec::new();
        for part in parts {
            let mut clients = Vec::new();
            for name in &part.load.clients {
                match run::receipt(self.catalogue.find(name)?) {
                    Ok(_) => clients.push(name.clone()),
                    Err(missing) if *name == self.subject => return Err(missing.into()),
                    Err(missing) => self.leave_out(missing.to_string()),
                }
            }
            if clients.is_empty() {
                continue;
            }
            let request = SweepRequest {
                clients,
                seed: self.seed,
                ..SweepRequest::default()
            };
            let sweep = Sweep::new(request, &part.load, &self.catalogue)?;
            self.seed = Some(sweep.seed);
            sweeps.push((*part, sweep));
        }
        Ok(sweeps)
    }

    /// Measures one part. A peer that breaks is left out and the part begun again; a part that cannot be measured here
    /// is left out.
    fn measure<'p>(&mut self, part: &'p Part, mut sweep: Sweep) -> Result<Option<Measured<'p>>> {
        loop {
            let descriptors = match run::allow_descriptors(run::descriptors_needed(&sweep)) {
                Ok(descriptors) => descriptors,
                Err(why) => {
                    self.leave_out(format!("part {}: {why}", part.name));
                    return Ok(None);
                }
            };
            self.progress.say(&part.title);
            let folder = Folder::create(Some(&self.out.join(&part.name)), "bench")?;
            let mut recording = Recording::begin((&sweep).into(), folder, &self.root, descriptors)?;
            let stage = Stage {
                program: std::env::current_exe()?,
                logs: std::path::absolute(recording.folder.drivers())?,
                pinning: recording.document.environment.pinning,
                patience: self.arguments.patience,
                tolerant: false,
                stop: self.stop.clone(),
            };
            let result = recording.measure(&sweep, &stage, &mut self.progress);
            let Err(error) = result else {
                let document = &recording.document;
                let findings = judge(&document.rounds, &document.plan.delay);
                let full = report::document(document, &findings);
                recording.folder.finish(&full)?;
                return Ok(Some(Measured {
                    part,
                    recording,
                    findings,
                }));
            };
            match self.broken_peer(&error, &sweep) {
                Some(client) => {
                    self.leave_out(format!("{client}, in part {}: {error:#}", part.name));
                    sweep.clients.retain(|manifest| manifest.client != client);
                }
                None if error.is::<Usage>() => {
                    recording.folder.discard();
                    self.leave_out(format!("part {}: {error:#}", part.name));
                    return Ok(None);
                }
                None => {
                    self.progress.end();
                    let error = recording.keep(error);
                    let _ = std::fs::remove_dir(&self.out); // only when no other part is in it
                    return Err(error);
                }
            }
        }
    }

    /// The client whose driver failed, unless it is the one that all is about, or the only one.
    fn broken_peer(&self, error: &Error, sweep: &Sweep) -> Option<String> {
        let DriverError { client, .. } = error.downcast_ref()?;
        let is_peer = sweep.clients.len() > 1
            && *client != self.subject
            && sweep.clients.iter().any(|known| known.client == *client);
        is_peer.then(|| client.clone())
    }

    fn leave_out(&mut self, why: String) {
        if !self.left_out.contains(&why) {
            self.progress.say(&format!("left out: {why}"));
            self.left_out.push(why);
        }
    }

    fn finish(
        &self,
        scenario: &BenchScenario,
        parts: &[&Part],
        measured: &[Measured<'_>],
    ) -> Result<()> {
        let goals = judgements(scenario, parts, measured);
        let command = command_line();
        let document = BenchDocument {
            schema: SCHEMA,
            command: &command,
            parts: measured.iter().map(part_document).collect(),
            goals: &goals,
            left_out: &self.left_out,
        };
        let path = self.out.join("bench.json");
        std::fs::create_dir_all(&self.out)
            .and_then(|()| std::fs::write(&path, serde_json::to_vec(&document)?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        if self.arguments.json {
            let mut out = stdout().lock();
            serde_json::to_writer(&mut out, &document)?;
            writeln!(out)?;
        } else {
            let text = self.text(measured, &goals, &style(&Term::stdout()));
            stdout().lock().write_all(text.as_bytes())?;
        }
        if !self.arguments.quiet {
            if self.arguments.json {
                let text = self.text(measured, &goals, &style(&Term::stderr()));
                stderr().lock().write_all(text.as_bytes())?;
            }
            eprintln!("document: {}", path.display());
        }
        Ok(())
    }

    /// The tables of all parts, what was left out, and the judgements.
    fn text(&self, measured: &[Measured<'_>], goals: &[JudgedGoal], style: &Style) -> String {
        let environment = measured
            .first()
            .map(|first| &first.recording.document.environment);
        let mut text =
            environment.map_or_else(String::new, |environment| machine(environment, style));
        for Measured {
            part,
            recording,
            findings,
        } in measured
        {
            let subject = part.subject.as_ref().unwrap_or(&self.subject);
            text += &report::heading(&part.title, style);
            text += &report::comparison(&recording.document, findings, subject, style);
        }
        let sentences: Vec<&str> = goals
            .iter()
            .map(|goal| goal.judgement.sentence.as_str())
            .collect();
        text += &report::list("Goals", &sentences, style);
        let left_out: Vec<&str> = self.left_out.iter().map(String::as_str).collect();
        text + &report::list("Left out", &left_out, style)
    }
}

/// Where it was measured, in two lines: figures of a busy machine mean little.
fn machine(environment: &Environment, style: &Style) -> String {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let load = environment.load_average.map_or_else(String::new, |load| {
        format!(", load average {load} before the run")
    });
    let lines = [
        format!(
            "{}, kernel {}",
            known(&environment.processor),
            known(&environment.kernel)
        ),
        format!("{} cores{load}, {}", environment.cores, environment.date),
    ];
    report::list("Measured on", &lines.each_ref().map(String::as_str), style)
}

/// Of all goals of the parts that were to be measured: what came of them, or that nothing did.
fn judgements(
    scenario: &BenchScenario,
    parts: &[&Part],
    measured: &[Measured<'_>],
) -> Vec<JudgedGoal> {
    let wanted = |goal: &&Goal| parts.iter().any(|part| part.name == goal.part);
    let mut judged = Vec::new();
    for goal in scenario.goal.iter().filter(wanted) {
        let found = measured
            .iter()
            .find(|measured| measured.part.name == goal.part);
        let (rounds, rows) = found.map_or((&[][..], &[][..]), |found| {
            (&found.recording.document.rounds, &found.findings.rows)
        });
        let judgements = judge_goal(goal, rounds, rows).into_iter();
        judged.extend(judgements.map(|judgement| JudgedGoal {
            part: goal.part.clone(),
            judgement,
        }));
    }
    judged
}

fn part_document<'a>(measured: &'a Measured<'_>) -> PartDocument<'a> {
    PartDocument {
        name: &measured.part.name,
        title: &measured.part.title,
        run: report::document(&measured.recording.document, &measured.findings),
    }
}
