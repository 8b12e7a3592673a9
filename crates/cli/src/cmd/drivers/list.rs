//! The list of clients: version, or what is missing and the command that installs it.

use std::io::{Write, stdout};

use anyhow::Result;
use hecaton_lab::run::receipt;
use hecaton_lab::spec::{Catalogue, Manifest};

/// Prints one line for each client.
pub fn list(catalogue: &Catalogue) -> Result<()> {
    let raw = Manifest::raw(&std::env::current_exe()?);
    let mut out = stdout().lock();
    writeln!(
        out,
        "{:<16} {:<9} {:<10} version",
        "client", "language", "approach"
    )?;
    for manifest in catalogue.all().chain([&raw]) {
        let version = match receipt(manifest) {
            Ok(version) => version,
            Err(missing) => format!(
                "missing: {}; install it with `{}`",
                missing.what, missing.hint
            ),
        };
        let approach = format!("{:?}", manifest.approach).to_lowercase();
        writeln!(
            out,
            "{:<16} {:<9} {:<10} {version}",
            manifest.client, manifest.language, approach
        )?;
    }
    Ok(())
}
