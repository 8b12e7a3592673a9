//! `hecaton drivers install`: makes what clients lack, one after another, and says what could not be had.

use std::io::{Write, stdout};

use anyhow::{Result, bail};
use hecaton_lab::run::{Installed, install as install_one};
use hecaton_lab::spec::Catalogue;

/// Installs a client, those of a language, or all.
///
/// # Errors
/// When the name is unknown, or when a client could not be installed; the others are.
pub fn install(catalogue: &Catalogue, name: &str) -> Result<()> {
    let mut failed = Vec::new();
    for manifest in catalogue.named(name)? {
        let mut out = stdout();
        let client = &manifest.client;
        let mut say = |command: &str| {
            let _ = writeln!(stdout(), "  {client}: {command}");
        };
        match install_one(manifest, &mut say) {
            Ok(Installed::Already(version)) => writeln!(out, "✓ {client} {version}")?,
            Ok(Installed::Now(version)) => writeln!(out, "✓ {client} {version}, installed now")?,
            Err(reason) => {
                writeln!(out, "✗ {client}: {reason:#}")?;
                failed.push(client.as_str());
            }
        }
    }
    match failed[..] {
        [] => Ok(()),
        _ => bail!("not installed: {}", failed.join(", ")),
    }
}
