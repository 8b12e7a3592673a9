//! `hecaton doctor`: conditions of this machine that disturb measurements, each with the command that fixes it.

use std::io::{self, Write, stdout};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use console::{Term, style};
use hecaton_lab::doctor::{Finding, Standing, machine, noise, tools};
use hecaton_lab::ledger::Root;
use hecaton_lab::report::{Style, wrapped};
use hecaton_lab::spec::Project;

/// Checks this machine for anything that skews measurements, and suggests fixes; changes nothing itself.
///
/// It checks cores, clock, other load, limits and ports, measures how steady the clients' core is, and lists which
/// clients are installed. It asks each client for its version, which can take a minute.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print the findings as JSON: a list of {about, standing: good|note|mend, seen, mend}.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hecaton doctor
  hecaton doctor --json | jq '.[] | select(.mend)'
      only what can be fixed";

/// Examines and prints.
pub fn run(arguments: &Arguments, drivers: &[PathBuf]) -> Result<()> {
    let mut findings = machine(&Root::default());
    findings.push(noise());
    let clients = super::known_clients(&Project::find()?, drivers)?;
    if clients.all().next().is_some() {
        findings.extend(tools(&clients));
    }
    let look = super::style(&Term::stdout());
    let mut out = stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
        return Ok(());
    }
    writeln!(out, "{}\n", verdict(&findings))?;
    // Findings that need action stand first; the sort keeps the order otherwise.
    findings.sort_by_key(|finding| finding.standing != Standing::Mend);
    for finding in &findings {
        write_finding(&mut out, finding, &look)?;
    }
    Ok(())
}

/// One finding, and below it what mends it; lines are broken where a terminal ends.
fn write_finding(out: &mut impl Write, finding: &Finding, look: &Style) -> io::Result<()> {
    let mark = match finding.standing {
        Standing::Good => style("✓").green(),
        Standing::Note => style("·").dim(),
        Standing::Mend => style("!").yellow().bold(),
    };
    let about = format!("{:<16} ", finding.about);
    for (place, line) in wrapped(&finding.seen, &about, look).iter().enumerate() {
        match place {
            0 => writeln!(out, "{mark} {}", line.trim_start())?,
            _ => writeln!(out, "{line}")?,
        }
    }
    let deed = finding.mend.iter().flat_map(|deed| {
        let arrow = format!("{:<16} → ", "");
        wrapped(deed, &arrow, look)
    });
    deed.into_iter()
        .try_for_each(|line| writeln!(out, "{}", style(line).bold()))
}

fn verdict(findings: &[Finding]) -> String {
    let bad = findings
        .iter()
        .filter(|found| found.standing == Standing::Mend);
    let names: Vec<&str> = bad.map(|found| found.about).collect();
    match names[..] {
        [] => "This machine is fit to measure on.".to_owned(),
        _ => format!("Fix these before you trust figures: {}.", names.join(", ")),
    }
}
