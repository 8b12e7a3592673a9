//! `hecaton drivers check`: one list of ✓ and ✗ for each driver.

use std::io::{Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use hecaton_lab::run::{Interrupted, allow_descriptors, receipt};
use hecaton_lab::spec::{Approach, Catalogue, Manifest, RAW};

use super::promise::{Check, PROMISES, Promise, REFERENCE_PROMISES};
use crate::stop;

/// Open files that a check needs at most.
const DESCRIPTORS: u64 = 256;

/// Checks one driver, or those of a language or of all that are installed.
///
/// # Errors
/// When a check fails, when the client is unknown, or when one asked for by name is missing.
pub fn check(catalogue: &Catalogue, name: &str, patience: Duration) -> Result<()> {
    allow_descriptors(DESCRIPTORS)?;
    let raw = Manifest::raw(&std::env::current_exe()?);
    let manifests: Vec<&Manifest> = match name {
        "all" => catalogue.all().chain([&raw]).collect(),
        RAW => vec![&raw],
        name => catalogue.named(name)?,
    };
    let several = manifests.len() > 1;
    let stop = stop::on_request()?;
    let mut failed = 0;
    for manifest in manifests {
        match receipt(manifest) {
            Ok(version) => failed += check_one(manifest, &version, patience, &stop)?,
            Err(missing) if several => writeln!(stdout(), "– {missing}")?,
            Err(missing) => return Err(missing.into()),
        }
    }
    match failed {
        0 => Ok(()),
        1 => bail!("1 check failed; docs/driver-protocol.md says what a driver must do"),
        failed => {
            bail!("{failed} checks failed; docs/driver-protocol.md says what a driver must do")
        }
    }
}

/// Prints the list of one driver; returns how many checks failed.
fn check_one(
    manifest: &Manifest,
    version: &str,
    patience: Duration,
    stop: &Arc<AtomicBool>,
) -> Result<usize> {
    let logs = std::env::temp_dir().join(format!("hecaton-check-{}", std::process::id()));
    std::fs::create_dir_all(&logs)?;
    let mut out = stdout();
    writeln!(out, "{} {version}", manifest.client)?;
    if let Some(pitfall) = &manifest.pitfall {
        writeln!(out, "  – {pitfall}")?;
    }
    let mut failed = 0;
    let promises: &[Promise] = match manifest.approach {
        Approach::Reference => &REFERENCE_PROMISES,
        _ => &PROMISES,
    };
    for (index, (promise, run)) in promises.iter().enumerate() {
        let check = Check {
            manifest,
            patience,
            stop: stop.clone(),
            log: logs.join("stderr.log"),
        };
        let first = run(&check);
        // What a driver does wrong it does again; what a machine does that stood still, hardly.
        let again = first.is_err() && index > 0 && !stop.load(Ordering::Relaxed);
        let second = again.then(|| run(&check));
        if stop.load(Ordering::Relaxed) {
            let _ = std::fs::remove_dir_all(&logs);
            return Err(Interrupted.into());
        }
        match (first, second) {
            (Ok(()), _) => writeln!(out, "  ✓ {promise}")?,
            (Err(reason), Some(Ok(()))) => {
                writeln!(out, "  ✓ {promise}, the second time; at first: {reason:#}")?;
            }
            (Err(reason), _) => {
                failed += 1;
                writeln!(out, "  ✗ {promise}: {reason:#}")?;
            }
        }
        if failed > 0 && index == 0 {
            writeln!(out, "  – the rest was not tried")?;
            break;
        }
    }
    let _ = std::fs::remove_dir_all(&logs);
    Ok(failed)
}
