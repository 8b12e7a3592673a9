//! `hecaton drivers check all`: several drivers at once, each in a process of its own.

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hecaton_lab::run::{Interrupted, receipt};
use hecaton_lab::spec::Manifest;
use parking_lot::Mutex;

use crate::stop;

/// How drivers are checked.
pub struct How<'a> {
    /// Folders whose manifests are added to the project's.
    pub folders: &'a [PathBuf],
    /// How much later than expected a reply of a driver may come.
    pub patience: Duration,
    /// Clients whose drivers run as the own user.
    pub trusted: &'a [String],
    /// How many drivers are checked at once.
    pub jobs: usize,
}

/// Checks all of these, and prints the list of each in one piece when it is done.
///
/// Each process checks one driver: it adopts the processes that this driver leaves behind, and must not find those of
/// another driver among them.
///
/// # Errors
/// When a check fails, or the user interrupts.
pub fn check_each(manifests: &[&Manifest], how: &How<'_>) -> Result<()> {
    let stop = stop::on_request()?;
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let work = || work(manifests, how, &next, &failed, &stop);
        let workers: Vec<_> = (0..how.jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    let mut failed = failed.into_inner();
    failed.sort_unstable();
    match failed.len() {
        0 => Ok(()),
        drivers => bail!(
            "{drivers} of {} drivers failed: {}; the page \"The driver protocol\" of the documentation says what a driver must do",
            manifests.len(),
            failed.join(", ")
        ),
    }
}

/// Checks drivers until none is left, or the user interrupts.
fn work(
    manifests: &[&Manifest],
    how: &How<'_>,
    next: &AtomicUsize,
    failed: &Mutex<Vec<String>>,
    stop: &AtomicBool,
) -> Result<()> {
    while let Some(manifest) = manifests.get(next.fetch_add(1, Ordering::Relaxed)) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if let Err(missing) = receipt(manifest) {
            writeln!(stdout(), "– {missing}")?;
            continue;
        }
        let ended = check_in_process(&manifest.client, how)?;
        print(&ended)?;
        if !ended.status.success() {
            failed.lock().push(manifest.client.clone());
        }
    }
    Ok(())
}

/// `hecaton drivers check NAME`.
fn check_in_process(name: &str, how: &How<'_>) -> Result<Output> {
    let mut command = Command::new(std::env::current_exe()?);
    for folder in how.folders {
        command.arg("--drivers").arg(folder);
    }
    let patience = format!("{}ms", how.patience.as_millis());
    command.args(["drivers", "check", name, "--patience", &patience]);
    if how.trusted.iter().any(|trusted| trusted == name) {
        command.args(["--trust", name]);
    }
    command
        .output()
        .with_context(|| format!("cannot start the check of {name}"))
}

/// Prints the output of a check, and its error output if there is no other output or the check was killed.
fn print(ended: &Output) -> Result<()> {
    let mut out = stdout().lock();
    out.write_all(&ended.stdout)?;
    if ended.stdout.is_empty() || ended.status.code().is_none() {
        out.write_all(&ended.stderr)?;
    }
    Ok(())
}
