//! `hecaton bench`: the gem beside its peers, part by part, and its goals.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use hecaton_lab::findings::judge_goal;
use hecaton_lab::ledger::{Folder, SCHEMA};
use hecaton_lab::measure::{self, Measured};
use hecaton_lab::plan::{estimate, trials};
use hecaton_lab::report::{self, BenchDocument, JudgedGoal, PartDocument};
use hecaton_lab::run;
use hecaton_lab::spec::{
    BenchScenario, Catalogue, Experiment, Goal, Kind, Part, Project, Sweep, SweepRequest, Usage,
};

use super::session::{Common, command_line};
use crate::progress::{Progress, words};

/// Measures the gem against other Ruby clients and reports which goals it meets.
///
/// The measured parts and their goals are in scenarios/bench/client.toml. A missed goal does not make the command
/// fail; clients that are not installed are left out.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A smoke test of about two minutes, with fewer and shorter rounds; do not quote its numbers.
    #[arg(long)]
    quick: bool,
    /// Compare two builds of the gem instead, by scenarios/bench/against.toml. `bin/bench --against REV` builds both:
    /// clients NAME@checkout beside clients NAME@BUILD. `--drivers` names their folder.
    #[arg(long, value_name = "BUILD")]
    against: Option<String>,
    /// Rounds of each row; six or more give 95 % confidence intervals [default: each part's own number].
    #[arg(short = 'r', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// A part to measure; repeat it for several [default: all].
    #[arg(long, value_name = "NAME")]
    part: Vec<String>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  hecaton bench
      all parts, in less than a quarter of an hour
  hecaton bench --quick
      a two-minute smoke test; do not quote its numbers
  hecaton bench --part many --part memory -o /tmp/bench
  bin/bench --against HEAD~3
      the gem of this checkout beside the one of another revision
  hecaton bench --json --quiet > bench.json";

/// A part that has been measured.
struct MeasuredPart<'a> {
    part: &'a Part,
    measured: Measured,
}

/// State shared by all parts.
struct Bench<'a> {
    arguments: &'a Arguments,
    out: PathBuf,
    catalogue: Catalogue,
    subject: String,
    /// The seed of every part, once one was drawn.
    seed: Option<u64>,
    progress: Progress,
    left_out: Vec<String>,
}

/// Measures part by part, prints tables and judgements.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let project = Project::find()?;
    let root = project.checkout()?;
    let catalogue = super::catalogue(drivers)?;
    let scenario = scenario(arguments, root, &catalogue)?;
    let parts = chosen(&scenario, &arguments.part)?;
    let mut bench = Bench {
        arguments,
        out: out(&arguments.common)?,
        catalogue,
        subject: scenario.subject.clone(),
        seed: arguments.common.seed,
        progress: Progress::new(0, true),
        left_out: Vec::new(),
    };
    let sweeps = bench.sweeps(&parts)?;
    Folder::make(&bench.out)?;
    let planned = sweeps.iter().map(|(_, sweep)| trials(sweep).len() as u64);
    bench.progress = Progress::new(planned.sum(), arguments.common.quiet);
    bench.progress.say(&format!(
        "at least {}, seed {}",
        words(
            sweeps
                .iter()
                .filter_map(|(_, sweep)| estimate(sweep, None))
                .sum()
        ),
        bench.seed.unwrap_or_default()
    ));
    let mut measured = Vec::new();
    for (part, sweep) in sweeps {
        measured.extend(bench.measure(part, sweep)?);
    }
    bench.progress.end();
    bench.finish(&scenario, &parts, &measured)?;
    bench.nobody_broke(&measured)
}

fn scenario(arguments: &Arguments, root: &Path, catalogue: &Catalogue) -> Result<BenchScenario> {
    let mut scenario = match &arguments.against {
        Some(build) => against(root, build, catalogue)?,
        None => BenchScenario::load(root)?,
    };
    if arguments.quick {
        scenario = scenario.quick();
    }
    Ok(match arguments.rounds {
        Some(rounds) => scenario.with_rounds(rounds),
        None => scenario,
    })
}

/// The scenario of two builds, both of which are there.
fn against(root: &Path, build: &str, catalogue: &Catalogue) -> Result<BenchScenario> {
    let unknown = || {
        Usage(format!(
            "no clients of a build called {build} are known; `bin/bench --against REV` builds a revision, and names its clients"
        ))
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if build.is_empty() || !build.chars().all(plain) {
        return Err(unknown().into());
    }
    let scenario = BenchScenario::against(root, build)?;
    let clients = scenario.part.iter().flat_map(|part| &part.load.clients);
    let mut found = clients.map(|client| catalogue.find(client));
    if found.any(|client| client.is_err()) {
        return Err(unknown().into());
    }
    Ok(scenario)
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
                    Err(missing) if self.is_indispensable(name) => return Err(missing.into()),
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

    /// A peer may be missing; whom it is all about may not, and of two builds neither.
    fn is_indispensable(&self, client: &str) -> bool {
        client == self.subject || self.arguments.against.is_some()
    }

    /// Measures one part; one that cannot be measured here is left out.
    fn measure<'p>(&mut self, part: &'p Part, sweep: Sweep) -> Result<Option<MeasuredPart<'p>>> {
        let experiment = Experiment::new(sweep, Kind::Bench);
        let conditions = self
            .arguments
            .common
            .conditions(self.out.join(&part.name))?;
        let bar = &mut self.progress;
        let measured = measure::measure(&experiment, &conditions, &mut |event| match event {
            measure::Progress::Begun(..) => bar.say(&part.title),
            measure::Progress::ServiceTimed(..) => {} // a part has the test server
            measure::Progress::Left(..) => {}         // of this part alone
            measure::Progress::Said(says) => bar.say(&says),
            measure::Progress::Measured(round) => bar.advance(round),
        });
        match measured {
            Ok(measured) => {
                for why in &measured.document.left_out {
                    self.left_out.push(format!("in part {}: {why}", part.name));
                }
                measured.finish()?;
                Ok(Some(MeasuredPart { part, measured }))
            }
            Err(error) if error.is::<Usage>() => {
                self.leave_out(format!("part {}: {error:#}", part.name));
                Ok(None)
            }
            Err(error) => {
                self.progress.end();
                let _ = std::fs::remove_dir(&self.out); // only when no other part is in it
                Err(error)
            }
        }
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
        measured: &[MeasuredPart<'_>],
    ) -> Result<()> {
        let goals = judgements(scenario, parts, measured);
        let command = command_line();
        let document = BenchDocument {
            schema: SCHEMA,
            command: &command,
            parts: measured.iter().map(|own| self.part_document(own)).collect(),
            goals: &goals,
            left_out: &self.left_out,
        };
        let sentences: Vec<String> = goals
            .iter()
            .map(|goal| goal.judgement.sentence.clone())
            .collect();
        let parts: Vec<report::Part> = measured.iter().map(|own| self.part(own)).collect();
        let view = report::bench(&parts, &sentences, &self.left_out);
        // Printed first: a disk that is full does not take the result away.
        let printed = self
            .arguments
            .common
            .print(&view, || serde_json::to_string(&document), None);
        let path = self.out.join("bench.json");
        std::fs::create_dir_all(&self.out)
            .and_then(|()| std::fs::write(&path, serde_json::to_vec(&document)?))
            .and_then(|()| std::fs::write(self.out.join("report.html"), view.html()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        if !self.arguments.common.quiet {
            crate::say!("document: {}", path.display());
        }
        printed
    }

    /// A peer may break; who it is all about may not.
    fn nobody_broke(&self, measured: &[MeasuredPart<'_>]) -> Result<()> {
        let broken = measured.iter().find(|own| {
            let subject = own.part.subject.as_ref().unwrap_or(&self.subject);
            let broken = &own.measured.broken;
            broken.contains(subject) || broken.iter().any(|client| self.is_indispensable(client))
        });
        broken.map_or(Ok(()), |own| own.measured.nobody_broke())
    }

    fn part<'m>(&'m self, measured: &'m MeasuredPart<'_>) -> report::Part<'m> {
        report::Part {
            title: &measured.part.title,
            subject: measured.part.subject.as_ref().unwrap_or(&self.subject),
            run: &measured.measured.document,
        }
    }

    fn part_document<'m>(&'m self, measured: &'m MeasuredPart<'_>) -> PartDocument<'m> {
        PartDocument {
            name: &measured.part.name,
            title: &measured.part.title,
            subject: measured.part.subject.as_ref().unwrap_or(&self.subject),
            run: measured.measured.full(),
        }
    }
}

/// Of all goals of the parts that were to be measured: what came of them, or that nothing did.
fn judgements(
    scenario: &BenchScenario,
    parts: &[&Part],
    measured: &[MeasuredPart<'_>],
) -> Vec<JudgedGoal> {
    let wanted = |goal: &&Goal| parts.iter().any(|part| part.name == goal.part);
    let mut judged = Vec::new();
    for goal in scenario.goal.iter().filter(wanted) {
        let found = measured
            .iter()
            .find(|measured| measured.part.name == goal.part);
        let (rounds, rows) = found.map_or((&[][..], &[][..]), |found| {
            (
                &found.measured.document.rounds,
                &found.measured.findings.rows,
            )
        });
        let judgements = judge_goal(goal, rounds, rows).into_iter();
        judged.extend(judgements.map(|judgement| JudgedGoal {
            part: goal.part.clone(),
            judgement,
        }));
    }
    judged
}

/// The folder of the benchmark, whose goals are its only limits.
fn out(common: &Common) -> Result<PathBuf> {
    if !common.fail_if.is_empty() {
        bail!(Usage(
            "--fail-if is for sweep, shootout and compare; a benchmark has goals".into()
        ));
    }
    common.folder("bench")
}
