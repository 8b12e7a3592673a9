//! The list of clients: version, or what is missing and the command that installs it; and why rows are rejected.

use std::io::{Write, stdout};

use anyhow::Result;
use hecaton_lab::run::receipt;
use hecaton_lab::spec::{Ability, Catalogue, Manifest};

/// Prints one line for each client.
pub fn list(catalogue: &Catalogue) -> Result<()> {
    let raw = Manifest::raw(&std::env::current_exe()?);
    let mut out = stdout().lock();
    line(
        &mut out,
        ["client", "language", "approach", "can", "version"],
    )?;
    for manifest in catalogue.all().chain([&raw]) {
        let approach = format!("{:?}", manifest.approach).to_lowercase();
        let can: Vec<String> = manifest.can.iter().map(Ability::to_string).collect();
        let version = receipt(manifest).unwrap_or_else(|missing| {
            format!(
                "missing: {}; install it with `{}`",
                missing.what, missing.hint
            )
        });
        line(
            &mut out,
            [
                &manifest.client,
                &manifest.language,
                &approach,
                &can.join(" "),
                &version,
            ],
        )?;
        if let Some(pitfall) = &manifest.pitfall {
            writeln!(out, "  – {pitfall}")?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, [client, language, approach, can, version]: [&str; 5]) -> Result<()> {
    Ok(writeln!(
        out,
        "{client:<25} {language:<9} {approach:<10} {can:<28} {version}"
    )?)
}
