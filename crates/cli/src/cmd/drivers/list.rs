//! The list of clients: version, or what is missing and the command that installs it; and why rows are rejected.

use std::io::{Write, stdout};

use anyhow::Result;
use console::Term;
use hecaton_lab::report::{Style, wrapped};
use hecaton_lab::run::receipt;
use hecaton_lab::spec::{Ability, Catalogue, Manifest};

/// From this width on, a line has room for what a client can do.
const WIDE: usize = 100;

/// The width of what is no terminal: who filters the list wants all of a client on one line.
const ENDLESS: usize = usize::MAX;

/// Prints one line for each client, and below it what is missing or to be known of it.
pub fn list(catalogue: &Catalogue) -> Result<()> {
    let raw = Manifest::raw(&std::env::current_exe()?);
    let term = Term::stdout();
    let mut style = super::super::style(&term);
    if !term.is_term() {
        style.width = ENDLESS;
    }
    let mut out = stdout().lock();
    let titles = ["client", "language", "approach", "can", "version"];
    line(&mut out, titles, &style)?;
    for manifest in catalogue.all().chain([&raw]) {
        one(&mut out, manifest, &style)?;
    }
    Ok(())
}

fn one(out: &mut impl Write, manifest: &Manifest, style: &Style) -> Result<()> {
    let approach = format!("{:?}", manifest.approach).to_lowercase();
    let can: Vec<String> = manifest.can.iter().map(Ability::to_string).collect();
    let (version, missing) = match receipt(manifest) {
        Ok(version) => (version, None),
        Err(missing) => {
            let why = format!("{}; install it with `{}`", missing.what, missing.hint);
            match style.width {
                ENDLESS => (format!("missing: {why}"), None),
                _ => ("missing".to_owned(), Some(why)),
            }
        }
    };
    let own = [
        manifest.client.as_str(),
        &manifest.language,
        &approach,
        &can.join(" "),
        &version,
    ];
    line(out, own, style)?;
    let pitfall = manifest.pitfall.as_ref().map(ToString::to_string);
    let notes = missing.into_iter().chain(pitfall);
    for line in notes.flat_map(|note| wrapped(&note, "– ", style)) {
        writeln!(out, "{line}")?;
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
