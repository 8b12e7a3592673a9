//! `hecaton drivers install`: makes what clients lack, one after another, and says what could not be had.

use std::io::{Write, stdout};

use anyhow::{Result, bail};
use hecaton_lab::run::{Installed, install as install_one};
use hecaton_lab::spec::{Catalogue, Manifest};

/// Installs clients, those of languages, or all.
///
/// # Errors
/// When a name is unknown, when a client could not be installed (the others are), or when the only one named lacks a
/// toolchain. Of several, those whose toolchain is missing are named, and that is no failure.
pub fn install(catalogue: &Catalogue, names: &[String]) -> Result<()> {
    let mut manifests: Vec<&Manifest> = Vec::new();
    for name in names {
        for manifest in catalogue.named(name)? {
            if !manifests
                .iter()
                .any(|known| known.client == manifest.client)
            {
                manifests.push(manifest);
            }
        }
    }
    let (several, mut failed) = (manifests.len() > 1, Vec::new());
    for manifest in manifests {
        let mut out = stdout();
        let client = &manifest.client;
        let mut say = |command: &str| {
            let _ = writeln!(stdout(), "  {client}: {command}");
        };
        match install_one(manifest, &mut say) {
            Ok(Installed::Already(version)) => writeln!(out, "✓ {client} {version}")?,
            Ok(Installed::Now(version)) => writeln!(out, "✓ {client} {version}, installed now")?,
            Ok(Installed::Not(missing)) if several => writeln!(
                out,
                "– {client} is not installed: {}; first {}",
                missing.what, missing.remedy
            )?,
            Ok(Installed::Not(missing)) => return Err(missing.into()),
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
