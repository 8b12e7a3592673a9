//! The list of clients with their versions; below it what is missing, a group a language, and why rows are rejected.

use std::io::{Write, stdout};

use anyhow::Result;
use console::Term;
use hecaton_lab::report::{Style, wrapped};
use hecaton_lab::run::{Missing, gaps, receipt};
use hecaton_lab::spec::{Ability, Catalogue, Manifest};

/// From this width on, a line can hold what a client can do.
const WIDE: usize = 100;

/// The width of output that is not a terminal: a program that filters the list needs each client on one line.
const ENDLESS: usize = usize::MAX;

/// Prints a line for each client, and then the commands that install missing clients.
pub fn list(catalogue: &Catalogue) -> Result<()> {
    let loader = Manifest::baseline_loader(&std::env::current_exe()?);
    let term = Term::stdout();
    let mut style = super::super::style(&term);
    if !term.is_term() {
        style.width = ENDLESS;
    }
    let mut out = stdout().lock();
    let titles = ["client", "language", "approach", "can", "version"];
    line(&mut out, titles, &style)?;
    let mut missing = Vec::new();
    for manifest in catalogue.all().chain([&loader]) {
        let receipt = receipt(manifest);
        one(
            &mut out,
            manifest,
            receipt.as_deref().unwrap_or("missing"),
            &style,
        )?;
        if let Err(absent) = receipt {
            missing.push((manifest, absent));
        }
    }
    write_missing(&mut out, &missing, &style)
}

fn one(out: &mut impl Write, manifest: &Manifest, version: &str, style: &Style) -> Result<()> {
    let can: Vec<String> = manifest.can.iter().map(Ability::to_string).collect();
    let own = [
        manifest.client.as_str(),
        &manifest.language,
        manifest.approach.words(),
        &can.join(" "),
        version,
    ];
    line(out, own, style)?;
    let pitfall = manifest.pitfall.as_ref().map(ToString::to_string);
    for line in pitfall.iter().flat_map(|note| wrapped(note, "– ", style)) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A group for each language: what installs its missing clients, and their names.
fn write_missing(
    out: &mut impl Write,
    missing: &[(&Manifest, Missing)],
    style: &Style,
) -> Result<()> {
    for gap in gaps(
        missing
            .iter()
            .map(|(manifest, missing)| (*manifest, missing)),
    ) {
        let (count, language) = (gap.clients.len(), &gap.language);
        writeln!(out, "\n{count} missing of {language}: {}", gap.advice)?;
        for line in wrapped(&gap.clients.join(", "), "", style) {
            writeln!(out, "{line}")?;
        }
    }
    if let Some((manifest, _)) = missing.first() {
        let (name, argument) = (&manifest.client, manifest.argument());
        writeln!(
            out,
            "\n`hecaton drivers check {argument}` says what {name} lacks."
        )?;
    }
    Ok(())
}

fn line(
    out: &mut impl Write,
    [client, language, approach, can, version]: [&str; 5],
    style: &Style,
) -> Result<()> {
    let can = match style.width < WIDE {
        true => String::new(),
        false => format!("{can:<33} "),
    };
    Ok(writeln!(
        out,
        "{client:<27} {language:<9} {approach:<9} {can}{version}"
    )?)
}
