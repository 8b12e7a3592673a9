//! `hecaton drivers check`: one list of ✓ and ✗ for each driver.

use std::cell::Cell;
use std::io::{Write, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use hecaton_lab::run::{Interrupted, allow_descriptors, receipt};
use hecaton_lab::spec::{BASELINE_LOADER, Catalogue, Manifest};

use super::each::{How, check_each};
use super::promise::{Check, PROMISES, Promise, promises};
use crate::cmd::session::plural;
use crate::stop;

/// Most open files that a check needs.
const DESCRIPTORS: u64 = 256;

/// Checks one driver, all of a language, or all that are installed; several at once.
///
/// # Errors
/// When a check fails, the client is unknown, or a named client is missing.
pub fn check(catalogue: &Catalogue, name: &str, how: &How<'_>) -> Result<()> {
    let loader = Manifest::baseline_loader(&std::env::current_exe()?);
    let manifests: Vec<&Manifest> = match name {
        "all" => catalogue.all().chain([&loader]).collect(),
        BASELINE_LOADER => vec![&loader],
        name => catalogue.named(name)?,
    };
    match manifests.as_slice() {
        [manifest] => check_alone(manifest, how),
        several => check_each(several, how),
    }
}

/// Checks one driver in this process.
fn check_alone(manifest: &Manifest, how: &How<'_>) -> Result<()> {
    let version = receipt(manifest)?;
    allow_descriptors(DESCRIPTORS)?;
    match check_one(manifest, &version, how, &stop::on_request()?)? {
        0 => Ok(()),
        failed => bail!(
            "{} failed; the page \"The driver protocol\" of the documentation says what a driver must do",
            plural(failed, "check")
        ),
    }
}

/// Prints the list of one driver; returns how many checks failed.
fn check_one(
    manifest: &Manifest,
    version: &str,
    how: &How<'_>,
    stop: &Arc<AtomicBool>,
) -> Result<usize> {
    let logs = crate::cmd::private_folder()?;
    let check = Check {
        manifest,
        patience: how.patience,
        trusted: how.trusted.contains(&manifest.client),
        stop: stop.clone(),
        logs: logs.clone(),
        process: Cell::default(),
    };
    writeln!(stdout(), "{} {version}", manifest.client)?;
    if let Some(pitfall) = &manifest.pitfall {
        writeln!(stdout(), "  – {pitfall}")?;
    }
    let failed = failures(&check);
    // A line about a failure names a log, unless the driver wrote nothing.
    let _ = match failed {
        Ok(1..) => std::fs::remove_dir(&logs),
        _ => std::fs::remove_dir_all(&logs),
    };
    failed
}

/// Tries each promise of a driver; returns how many it broke.
fn failures(check: &Check<'_>) -> Result<usize> {
    let [hello, ..] = PROMISES;
    if !is_kept(check, hello, 1)? {
        writeln!(stdout(), "  – the rest was not tried")?;
        return Ok(1);
    }
    let mut failed = 0;
    for promise in &promises(check)?[1..] {
        // A faulty driver fails again. A failure because the machine stood still hardly repeats.
        failed += usize::from(!is_kept(check, *promise, 2)?);
    }
    Ok(failed)
}

/// Tries a promise, at most so often, and prints its line.
fn is_kept(check: &Check<'_>, (promise, run): Promise, most: usize) -> Result<bool> {
    let first = check.holds(run);
    let again = first.is_err() && most > 1 && !check.stop.load(Ordering::Relaxed);
    let second = again.then(|| check.holds(run));
    if check.stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    let (is_kept, line) = line_of(promise, first, second);
    writeln!(stdout(), "{line}")?;
    Ok(is_kept)
}

/// Whether a promise was kept, at once or the second time, and its line of the list.
fn line_of(promise: &str, first: Result<()>, second: Option<Result<()>>) -> (bool, String) {
    match (first, second) {
        (Ok(()), _) => (true, format!("  ✓ {promise}")),
        (Err(reason), Some(Ok(()))) => (
            true,
            format!("  ✓ {promise}, the second time; at first: {reason:#}"),
        ),
        (Err(reason), _) => (false, format!("  ✗ {promise}: {reason:#}")),
    }
}
