//! `hecaton report`: the views of runs, made again from their documents.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use console::Term;
use hecaton_lab::findings::{Findings, judge};
use hecaton_lab::ledger::{Document, is_unfinished, read};
use hecaton_lab::report::changed::{self, Beside, beside};
use hecaton_lab::report::{self, Style};
use hecaton_lab::spec::Usage;

use crate::ending::Worse;

/// Shows runs again from their documents: in the terminal, as Markdown, CSV, JSON, SVG or HTML, one or side by side.
///
/// With one document, its report. With several, the first next to each of the others: what was measured in both, as
/// a share of each run's own ceiling, so that what the machine changed is left out.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The run.json of a run, or its folder; several are shown side by side, the first as the one before.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Print Markdown instead of the report for the terminal.
    #[arg(long, conflicts_with_all = ["csv", "json"])]
    md: bool,
    /// Print the rows as comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print the document; of several runs, what changed.
    #[arg(long)]
    json: bool,
    /// Write the charts into this folder, one file each.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// End with status 3 when a client of the last run is slower than in the first by more than this, as in 5%, or can no
    /// longer be ranked.
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    fail_if_worse: Option<f64>,
}

const EXAMPLES: &str = "\
Examples:
  hecaton report hecaton-report/20261121T010000Z-sweep
  hecaton report run.json --md > table.md
  hecaton report run.json --html report.html --svg charts
  hecaton report before/run.json after/run.json --html changes.html
  hecaton report before/run.json after/run.json --fail-if-worse 5%";

/// What is shown: one run, or several side by side.
enum Shown<'a> {
    One(&'a Document, Findings),
    Several(Vec<Beside<'a>>),
}

/// Reads, shows, compares.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runs: Vec<(String, Document)> = arguments
        .runs
        .iter()
        .map(|path| Ok((path.display().to_string(), opened(path)?)))
        .collect::<Result<_>>()?;
    let shown = match runs.as_slice() {
        [(_, run)] => Shown::One(run, judge(&run.rounds, &run.plan.delay)),
        runs => Shown::Several(beside(runs)),
    };
    let last = match (&shown, arguments.fail_if_worse) {
        (Shown::One(..), Some(_)) => bail!(Usage(
            "--fail-if-worse compares two runs; give the one before and the one after".into()
        )),
        (Shown::Several(pairs), Some(share)) => pairs.last().map(|pair| (pair, share)),
        (_, None) => None,
    };
    shown.write(arguments)?;
    last.map_or(Ok(()), |(pair, share)| gate(pair, share))
}

/// The document of a run; says so of one that has not ended.
fn opened(path: &Path) -> Result<Document> {
    let run = read(path)?;
    if is_unfinished(path) {
        let rounds = run.rounds.len();
        eprintln!(
            "{}: this run did not end; these are its {rounds} rounds until then",
            path.display()
        );
    }
    Ok(run)
}

impl Shown<'_> {
    /// Writes the files that were asked for, and prints what was asked for; without either, the report.
    fn write(&self, arguments: &Arguments) -> Result<()> {
        if let Some(path) = &arguments.html {
            write(path, self.html())?;
        }
        if let Some(folder) = &arguments.svg {
            self.write_drawings(folder)?;
        }
        let files = arguments.html.is_some() || arguments.svg.is_some();
        if arguments.md {
            print(&self.markdown())
        } else if arguments.csv {
            print(&self.csv())
        } else if arguments.json {
            print(&(self.json()? + "\n"))
        } else if !files {
            print(&self.text(&super::style(&Term::stdout())))
        } else {
            Ok(())
        }
    }

    fn write_drawings(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| {
            format!(
                "cannot make the folder {}; choose another with --svg",
                folder.display()
            )
        })?;
        self.drawings()
            .into_iter()
            .try_for_each(|(name, drawing)| write(&folder.join(name), drawing))
    }

    fn text(&self, style: &Style) -> String {
        match self {
            Shown::One(run, _) => report::shown(run, style),
            Shown::Several(pairs) => changed::terminal(pairs, style),
        }
    }

    fn markdown(&self) -> String {
        match self {
            Shown::One(run, findings) => report::markdown(run, findings),
            Shown::Several(pairs) => changed::markdown(pairs),
        }
    }

    fn csv(&self) -> String {
        match self {
            Shown::One(run, findings) => report::csv(run, findings),
            Shown::Several(pairs) => changed::csv(pairs),
        }
    }

    fn json(&self) -> Result<String> {
        Ok(match self {
            Shown::One(run, findings) => serde_json::to_string(&report::document(run, findings))?,
            Shown::Several(pairs) => changed::json(pairs).to_string(),
        })
    }

    fn html(&self) -> String {
        match self {
            Shown::One(run, findings) => report::html(run, findings),
            Shown::Several(pairs) => changed::html(pairs),
        }
    }

    fn drawings(&self) -> Vec<(String, String)> {
        match self {
            Shown::One(run, findings) => report::drawings(run, findings),
            Shown::Several(pairs) => changed::drawings(pairs),
        }
    }
}

/// Fails when something became worse by more than `share`, and when nothing can be said of it.
fn gate(pair: &Beside, share: f64) -> Result<()> {
    let worse = pair.found.worse(share);
    if !worse.is_empty() {
        let named = worse
            .iter()
            .map(|row| format!("{} at concurrency {}", row.client, row.concurrency));
        let named: Vec<String> = named.collect();
        return Err(Worse(named.join(", ")).into());
    }
    match pair.doubt() {
        Some(why) => bail!(
            "--fail-if-worse can not tell: {}",
            why.trim_end_matches('.')
        ),
        None => Ok(()),
    }
}

/// `5%` and `5` are both 0.05.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%');
    match number.parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a share; write it as in 5%")),
    }
}

fn write(path: &Path, content: String) -> Result<()> {
    std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

fn print(text: &str) -> Result<()> {
    Ok(stdout().lock().write_all(text.as_bytes())?)
}
