//! `hecaton report`: the views of runs, made again from their documents.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use console::Term;
use hecaton_lab::findings::{Change, changes, judge};
use hecaton_lab::ledger::{Document, read};
use hecaton_lab::report;

use crate::ending::Worse;

/// Shows runs again from their documents: in the terminal, as Markdown, CSV, SVG or HTML, or side by side.
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
    #[arg(long, conflicts_with = "csv")]
    md: bool,
    /// Print the rows as comma-separated values.
    #[arg(long)]
    csv: bool,
    /// Write the charts into this folder, one file each.
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Write the page to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// End with status 3 when a client of the last run is slower than in the first by more than this, as in 5%.
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    fail_if_worse: Option<f64>,
}

const EXAMPLES: &str = "\
Examples:
  hecaton report hecaton-report/20261121T010000Z-sweep
  hecaton report run.json --md > table.md
  hecaton report run.json --html report.html --svg charts
  hecaton report before/run.json after/run.json --fail-if-worse 5%";

/// Reads, shows, compares.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runs: Vec<(String, Document)> = arguments
        .runs
        .iter()
        .map(|path| Ok((path.display().to_string(), read(path)?)))
        .collect::<Result<_>>()?;
    if runs.len() > 1 {
        return compare(arguments, &runs);
    }
    if arguments.fail_if_worse.is_some() {
        bail!(hecaton_lab::spec::Usage(
            "--fail-if-worse compares two runs; give the one before and the one after".into()
        ));
    }
    show(arguments, &runs[0].1)
}

fn show(arguments: &Arguments, document: &Document) -> Result<()> {
    let findings = judge(&document.rounds, &document.plan.delay);
    if let Some(path) = &arguments.html {
        write(path, report::html(document, &findings))?;
    }
    if let Some(folder) = &arguments.svg {
        std::fs::create_dir_all(folder).with_context(|| {
            format!(
                "cannot make the folder {}; choose another with --svg",
                folder.display()
            )
        })?;
        for (name, drawing) in report::drawings(document, &findings) {
            write(&folder.join(name), drawing)?;
        }
    }
    let text = if arguments.md {
        report::markdown(document, &findings)
    } else if arguments.csv {
        report::csv(document, &findings)
    } else if arguments.html.is_some() || arguments.svg.is_some() {
        return Ok(());
    } else {
        report::shown(document, &super::style(&Term::stdout()))
    };
    print(&text)
}

fn compare(arguments: &Arguments, runs: &[(String, Document)]) -> Result<()> {
    if arguments.md || arguments.csv || arguments.svg.is_some() || arguments.html.is_some() {
        bail!(hecaton_lab::spec::Usage(
            "--md, --csv, --svg and --html show one run; give one, or leave the option out".into()
        ));
    }
    let (name, first) = &runs[0];
    let mut worse = Vec::new();
    for (other, run) in &runs[1..] {
        let changed = changes(
            (&first.rounds, &first.plan.delay),
            (&run.rounds, &run.plan.delay),
        );
        print(&report::side_by_side(
            &changed,
            [name, other],
            &super::style(&Term::stdout()),
        ))?;
        worse = arguments
            .fail_if_worse
            .map_or_else(Vec::new, |share| named(&changed, share));
    }
    match worse.is_empty() {
        true => Ok(()),
        false => Err(Worse(worse.join(", ")).into()),
    }
}

fn named(changed: &[Change], share: f64) -> Vec<String> {
    let slower = changed.iter().filter(|change| change.is_worse(share));
    slower
        .map(|change| {
            format!(
                "{} at concurrency {}",
                change.new.client, change.new.concurrency
            )
        })
        .collect()
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
