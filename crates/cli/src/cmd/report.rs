//! `hecaton report`: shows recorded runs again, from their documents.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use console::Term;
use hecaton_lab::findings::judge_run;
use hecaton_lab::ledger::{self, Bench, Document, read, runs_below};
use hecaton_lab::report::{self, Beside, View, beside};
use hecaton_lab::spec::{BenchScenario, Project, Usage};

use crate::ending::Worse;

/// Shows recorded runs again, one or side by side: in the terminal, as Markdown, CSV, JSON, SVG or HTML.
///
/// One run is shown as its report. Several runs are compared, the first with each of the others. Each speed is divided
/// by that of the baseline loader in the same run, so a change of the machine's own speed does not count.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A run's run.json or its folder, or the folder of a benchmark; if you give several, the first is the oldest.
    #[arg(required_unless_present = "index")]
    runs: Vec<PathBuf>,
    /// Print Markdown instead of the report for the terminal.
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    md: bool,
    /// Print the rows as comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print the document; of several runs, the changes.
    #[arg(long)]
    json: bool,
    /// Write the charts into this folder, one file each.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write index.html and README.md into this folder, and report.html and README.md into each run below it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["runs", "md", "csv", "json", "svg", "html", "fail_if_worse"])]
    index: Option<PathBuf>,
    /// Exit with status 3 if a client is slower in the last run than in the first by more than this, such as 5%, or can
    /// no longer be ranked.
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    fail_if_worse: Option<f64>,
}

const EXAMPLES: &str = "\
Examples:
  hecaton report hecaton-report/20261121T010000Z-sweep
  hecaton report run.json --md > table.md
  hecaton report run.json --html report.html --svg charts
  hecaton report before/ after/ --html changes.html
  hecaton report before/ after/ --fail-if-worse 5%
      exits with status 3 if a client became slower
  hecaton report --index docs/results
      writes a page that links to every run below it";

/// Reads, shows, compares.
pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(folder) = &arguments.index {
        return index(folder);
    }
    if let [folder] = arguments.runs.as_slice()
        && let Some(bench) = ledger::bench(folder)?
    {
        arguments.refuse_gate()?;
        return write(
            &of_bench(&bench),
            || Ok(serde_json::to_string(&bench.document)?),
            arguments,
        );
    }
    let runs: Vec<(String, Document)> = arguments
        .runs
        .iter()
        .map(|path| Ok((path.display().to_string(), opened(path)?)))
        .collect::<Result<_>>()?;
    if let [(_, run)] = runs.as_slice() {
        arguments.refuse_gate()?;
        let findings = judge_run(run);
        let document = report::document(run, &findings);
        return write(
            &report::view(run, &findings),
            || Ok(serde_json::to_string(&document)?),
            arguments,
        );
    }
    let pairs = beside(&runs);
    let view = report::changed(&pairs);
    write(&view, || Ok(view.json().to_string()), arguments)?;
    match (pairs.last(), arguments.fail_if_worse) {
        (Some(pair), Some(share)) => gate(pair, share),
        _ => Ok(()),
    }
}

impl Arguments {
    /// Refuses to compare a run with nothing.
    fn refuse_gate(&self) -> Result<()> {
        if self.fail_if_worse.is_some() {
            let why = "--fail-if-worse compares two runs; give the one before and the one after";
            bail!(Usage(why.into()));
        }
        Ok(())
    }
}

/// The document of a run. Prints a notice if the run did not end.
fn opened(path: &Path) -> Result<Document> {
    let run = read(path)?;
    if let Some(planned) = run.unfinished {
        crate::say!(
            "{}: INCOMPLETE {}/{planned}: this run did not end",
            path.display(),
            run.rounds.len()
        );
    }
    Ok(run)
}

fn of_bench(bench: &Bench) -> View {
    let titles = titles();
    let title = |name: &str| titles.iter().find(|(part, _)| part == name);
    let parts: Vec<report::Part> = bench
        .parts
        .iter()
        .map(|part| report::Part {
            title: title(&part.title).map_or(&part.title, |(_, title)| title),
            subject: &part.subject,
            run: &part.run,
        })
        .collect();
    report::bench(&parts, &bench.goals, &bench.left_out)
}

/// The titles of the parts that a benchmark has, by their names: a folder of a part has its name alone.
fn titles() -> Vec<(String, String)> {
    let Ok(project) = Project::find() else {
        return Vec::new();
    };
    let Some(root) = project.root() else {
        return Vec::new();
    };
    let scenarios = [BenchScenario::load(root), BenchScenario::against(root, "")];
    let parts = scenarios.into_iter().flatten().flat_map(|it| it.part);
    parts.map(|part| (part.name, part.title)).collect()
}

/// Writes the page of every run below a folder, and the page that links them.
fn index(folder: &Path) -> Result<()> {
    let mut entries = Vec::new();
    let titles = titles();
    let part = |name: &str| {
        let (_, part) = name.split_once('/')?;
        let (_, title) = titles.iter().find(|(name, _)| name == part)?;
        Some(title.clone())
    };
    for (name, run) in runs_below(folder)? {
        let home = "../".repeat(name.split('/').count()) + "index.html";
        let view = report::view(&run, &judge_run(&run)).at_home(home);
        entries.push(report::Entry {
            part: part(&name).unwrap_or_default(),
            ..entry(folder, &name, view)?
        });
    }
    for path in ledger::folders(folder)? {
        entries.extend(entry_of_folder(folder, &path)?);
    }
    if entries.is_empty() {
        bail!(
            "{} holds no run: no run.json is in it or in a folder of it",
            folder.display()
        );
    }
    let (path, view) = (folder.join("index.html"), report::index(&entries));
    save(&path, view.html())?;
    let text = format!("# Results\n\n{}", view.markdown());
    save(&folder.join("README.md"), text)?;
    crate::say!("index: {}", path.display());
    Ok(())
}

/// The entry of a folder that is a benchmark, or has a README and no run.
fn entry_of_folder(folder: &Path, path: &Path) -> Result<Option<report::Entry>> {
    let name = path.file_name().unwrap_or_default();
    let place = name.to_string_lossy().into_owned();
    if let Some(bench) = ledger::bench(path)?.filter(|bench| !bench.parts.is_empty()) {
        let view = of_bench(&bench).at_home("../index.html");
        return entry(folder, &place, view).map(Some);
    }
    Ok(readme(path)?.map(|what| report::Entry {
        // The site shows a README as the page of its folder.
        page: format!("{place}/"),
        part: String::new(),
        what,
    }))
}

/// Writes the page of a run, and returns its entry in the index.
fn entry(folder: &Path, name: &str, view: View) -> Result<report::Entry> {
    let place = folder.join(name);
    save(&place.join("report.html"), view.html())?;
    save(
        &place.join("README.md"),
        format!(
            "# {name}\n\n[The page with charts](report.html)\n\n{}",
            view.markdown()
        ),
    )?;
    Ok(report::Entry {
        page: format!("{name}/report.html"),
        part: String::new(),
        what: report::What::Run(Box::new(view)),
    })
}

/// Title and first sentence of a folder's README; none if it has no README, or a run, which has a page of its own.
fn readme(folder: &Path) -> Result<Option<report::What>> {
    let path = folder.join("README.md");
    if ledger::run_in(folder).is_some() || !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let (title, page) = text
        .trim_start()
        .split_once('\n')
        .unwrap_or((text.as_str(), ""));
    Ok(Some(report::What::Other {
        title: title.trim_start_matches(['#', ' ']).trim_end().to_owned(),
        words: crate::markdown::first_sentence(page),
    }))
}

/// Writes the files and prints the tables that options name; without either, prints the report.
fn write(view: &View, json: impl FnOnce() -> Result<String>, arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.html {
        save(path, view.html())?;
    }
    if let Some(folder) = &arguments.svg {
        let problem = || {
            format!(
                "cannot make the folder {}; choose another with --svg",
                folder.display()
            )
        };
        std::fs::create_dir_all(folder).with_context(problem)?;
        for (name, drawing) in view.drawings() {
            save(&folder.join(name), drawing)?;
        }
    }
    let files = arguments.html.is_some() || arguments.svg.is_some();
    match (arguments.md, arguments.csv, arguments.json) {
        (true, ..) => print(&view.markdown()),
        (_, true, _) => print(&view.csv()),
        (.., true) => print(&(json()? + "\n")),
        _ if files => Ok(()),
        _ => print(&view.terminal(&super::style(&Term::stdout()))),
    }
}

/// Fails when a client became slower by more than `share`, and when that cannot be decided.
fn gate(pair: &Beside, share: f64) -> Result<()> {
    let worse = pair.found.worse(share);
    if !worse.is_empty() {
        let named = worse
            .iter()
            .map(|row| format!("{} at concurrency {}", row.client, row.load.concurrency));
        let named: Vec<String> = named.collect();
        return Err(Worse(named.join(", ")).into());
    }
    match pair.doubt() {
        Some(why) => bail!(
            "--fail-if-worse cannot decide: {}",
            why.trim_end_matches('.')
        ),
        None => Ok(()),
    }
}

/// `5%` and `5` are both 0.05.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::parse::<f64>);
    match number {
        Some(Ok(percent)) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        None if text.trim().parse::<f64>().is_ok() => {
            Err(format!("{text} has no unit: write {text}%"))
        }
        _ => Err(format!("`{text}` is not a percentage; write it as in 5%")),
    }
}

fn save(path: &Path, content: String) -> Result<()> {
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

fn print(text: &str) -> Result<()> {
    Ok(stdout().lock().write_all(text.as_bytes())?)
}
