//! `hecaton audit explain` and `--list`: what cases there are, and what one does.

use std::io::{Write, stdout};

use anyhow::Result;
use hecaton_audit::case::Case;

/// Explains a case.
pub fn run(case: &Case) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{} {} ({})\n", case.code, case.id, case.group)?;
    writeln!(out, "{}.\n{}\n", case.title, case.why)?;
    if !case.rfc.is_empty() {
        writeln!(out, "Rule: {}", case.rfc)?;
    }
    writeln!(out, "Harm: {}", case.severity)?;
    writeln!(out, "Proved by the sin: {}", case.sin)?;
    if !case.margin.is_empty() {
        writeln!(out, "Margin: {}", case.margin)?;
    }
    if !case.all_needs().is_empty() {
        writeln!(
            out,
            "The client must support: {}",
            case.all_needs().join(", ")
        )?;
    }
    for condition in &case.require {
        writeln!(out, "Applies only if: {condition}")?;
    }
    writeln!(out, "\nVerdicts; the first that holds counts:")?;
    for outcome in &case.outcomes {
        let when: Vec<String> = outcome.when.iter().map(ToString::to_string).collect();
        writeln!(out, "  {:<12} {}", outcome.verdict, when.join(" and "))?;
    }
    Ok(())
}

/// Lists cases.
pub fn list(cases: &[&Case]) -> Result<()> {
    let mut out = stdout().lock();
    for case in cases {
        writeln!(
            out,
            "{:<5} {:<14} {:<28} {}",
            case.code, case.group, case.id, case.title
        )?;
    }
    Ok(())
}
