//! `hecaton doctor`: what on this machine would disturb a measurement, and the command that mends it.

use std::io::{Write, stdout};
use std::path::Path;

use anyhow::Result;
use clap::Args;
use console::style;
use hecaton_lab::doctor::{Finding, Root, Standing, machine, noise, tools};

/// Checks this machine for anything that skews measurements, and suggests fixes; changes nothing itself.
///
/// Looks at cores, their clock, other work, limits and ports, tries how steady the clients' core is, and
/// which clients are installed. Takes a few seconds.
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
  hecaton doctor --json | jq '.[] | select(.standing == \"mend\")'";

/// Examines and prints.
pub fn run(arguments: &Arguments, drivers: Option<&Path>) -> Result<()> {
    let mut findings = machine(&Root::default());
    findings.push(noise());
    findings.extend(tools(&super::catalogue(drivers)?));
    let mut out = stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
        return Ok(());
    }
    for finding in &findings {
        writeln!(out, "{}", line(finding))?;
    }
    writeln!(out, "\n{}", verdict(&findings))?;
    Ok(())
}

fn line(finding: &Finding) -> String {
    let mark = match finding.standing {
        Standing::Good => style("✓").green(),
        Standing::Note => style("·").dim(),
        Standing::Mend => style("!").yellow().bold(),
    };
    let first = format!("{mark} {:<16} {}", finding.about, finding.seen);
    match &finding.mend {
        Some(deed) => format!("{first}\n  {:<16} → {}", "", style(deed).bold()),
        None => first,
    }
}

fn verdict(findings: &[Finding]) -> String {
    let bad = findings
        .iter()
        .filter(|found| found.standing == Standing::Mend);
    let names: Vec<&str> = bad.map(|found| found.about).collect();
    match names[..] {
        [] => "This machine is fit to measure on.".to_owned(),
        _ => format!("To mend before figures are trusted: {}.", names.join(", ")),
    }
}
