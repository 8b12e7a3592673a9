//! The common part of all verbs that measure: options, folder, rounds, result and files.

use std::io::{Write, stderr, stdout};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use console::Term;
use hecaton_lab::findings::judge;
use hecaton_lab::ledger::{Folder, holds_run};
use hecaton_lab::plan::{estimate, trials};
use hecaton_lab::report::{self, View};
use hecaton_lab::run::{self, Setup};
use hecaton_lab::spec::{BASELINE_LOADER, Experiment, Usage, parse_duration, project_root};

use super::recording::Recording;
use crate::progress::{Progress, words};
use crate::stop;

/// Options of every verb that measures.
#[derive(Args)]
pub struct Common {
    /// Seed of the order of rounds and of the delays [default: a random one, which the document keeps].
    #[arg(long)]
    pub seed: Option<u64>,
    /// Print the document as JSON on stdout, and everything else on stderr.
    #[arg(long)]
    pub json: bool,
    /// Folder for run.json and report.html [default: a new one in hecaton-report].
    #[arg(short = 'o', long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write over a run that is already in the folder.
    #[arg(long)]
    pub force: bool,
    /// Print nothing but the result.
    #[arg(short = 'q', long)]
    pub quiet: bool,
    /// Clients whose drivers run as you, separated by commas, if no other user can read their files. Their rows are unverified.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub trust: Vec<String>,
    /// How long a driver may be late beyond three times what is expected.
    #[arg(long, hide = true, value_parser = parse_duration, default_value = "20s")]
    pub patience: Duration,
}

impl Common {
    /// The folder of a run, which is not yet made.
    ///
    /// # Errors
    /// When it holds a run already, which would be lost.
    pub fn folder(&self, verb: &str) -> Result<PathBuf> {
        let folder = Folder::place(self.out.as_deref(), verb);
        if !self.force && holds_run(&folder) {
            bail!(Usage(format!(
                "{} holds a run already; choose another folder with --out, or write over it with --force",
                folder.display()
            )));
        }
        Ok(folder)
    }

    /// Where a recording's drivers run, and how long they may take.
    ///
    /// # Errors
    /// When this program cannot be found, or signals cannot be received.
    pub fn setup(&self, recording: &Recording, tolerant: bool) -> Result<Setup> {
        Ok(Setup {
            program: std::env::current_exe()?,
            logs: std::path::absolute(recording.folder.drivers())?,
            pinning: recording.document.environment.pinning,
            patience: self.patience,
            tolerant,
            trusted: self.trust.clone(),
            stop: stop::on_request()?,
        })
    }

    /// Prints a result: as the document, as CSV, or as the report, which otherwise is on stderr.
    ///
    /// # Errors
    /// When the output does not take it.
    pub fn print(
        &self,
        view: &View,
        document: impl Fn() -> serde_json::Result<String>,
        csv: Option<&str>,
    ) -> Result<()> {
        let text = |term: &Term| view.terminal(&super::style(term));
        let mut out = stdout().lock();
        match csv {
            _ if self.json => writeln!(out, "{}", document()?)?,
            Some(csv) => out.write_all(csv.as_bytes())?,
            None => out.write_all(text(&Term::stdout()).as_bytes())?,
        }
        out.flush()?;
        if !self.quiet && (self.json || csv.is_some()) {
            stderr()
                .lock()
                .write_all(text(&Term::stderr()).as_bytes())?;
        }
        Ok(())
    }
}

/// Measures an experiment, prints what was found, and writes its files.
///
/// # Errors
/// Whatever goes wrong first; what was measured until then is kept.
pub fn measure(experiment: &Experiment, common: &Common, csv: bool) -> Result<()> {
    let sweep = &experiment.sweep;
    let descriptors = run::allow_descriptors(run::descriptors_needed(sweep))?;
    for manifest in &sweep.clients {
        run::receipt(manifest)?;
    }
    if let Some(name) = common
        .trust
        .iter()
        .find(|name| !sweep.client_names().contains(name))
    {
        bail!(Usage(format!(
            "--trust {name}: no client of that name is measured; name one that is"
        )));
    }
    run::reach(&sweep.target)?;
    let verb = experiment.kind.verb();
    let folder = Folder::create(Some(&common.folder(verb)?), verb)?;
    let mut recording = Recording::begin(experiment, folder, &project_root()?, descriptors)?;
    match rounds(experiment, common, &mut recording) {
        Ok(()) => {
            finish(&recording, common, csv)?;
            match experiment.tolerant {
                true => Ok(()),
                false => recording.nobody_broke(),
            }
        }
        Err(error) => Err(recording.keep(error)),
    }
}

fn rounds(experiment: &Experiment, common: &Common, recording: &mut Recording) -> Result<()> {
    let sweep = &experiment.sweep;
    let setup = common.setup(recording, experiment.tolerant)?;
    let planned = trials(sweep).len() as u64;
    let mut progress = Progress::new(planned, common.quiet);
    for why in &experiment.left_out {
        progress.say(&format!("left out: {why}"));
    }
    let clients = plural(sweep.clients.len(), "client");
    let (rounds, time) = (plural(planned as usize, "round"), words(estimate(sweep)));
    progress.say(&format!(
        "{clients}, {rounds}, about {time}, seed {}",
        sweep.seed
    ));
    let result = recording.measure(sweep, &setup, &mut progress);
    progress.end();
    result
}

/// Prints the result first, so that it is not lost if the disk is full or the folder is gone.
fn finish(recording: &Recording, common: &Common, csv: bool) -> Result<()> {
    let (folder, document) = (&recording.folder, &recording.document);
    let findings = judge(&document.rounds, &document.plan.delay);
    let full = report::document(document, &findings);
    let view = report::view(document, &findings);
    let printed = common.print(
        &view,
        || serde_json::to_string(&full),
        view.own_csv().filter(|_| csv),
    );
    let written = folder.finish(&full);
    let page = folder.write("report.html", view.html().as_bytes())?;
    if let Some(csv) = view.own_csv() {
        folder.write("sync-async.csv", csv.as_bytes())?;
    }
    written?;
    if !common.quiet {
        crate::say!("report: {}", page.display());
        crate::say!("SHA-256 of run.json: {}", folder.fingerprint()?);
    }
    printed?;
    let mut clients = findings
        .rows
        .iter()
        .filter(|row| row.client != BASELINE_LOADER)
        .peekable();
    if clients.peek().is_some() && clients.all(|row| row.rejected.is_some()) {
        bail!("every row was rejected, so nothing was found; the reasons are in the report");
    }
    Ok(())
}

/// `1 client`, `2 clients`.
pub fn plural(number: usize, noun: &str) -> String {
    hecaton_lab::findings::words::plural(number as u64, noun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_not_written_over_unless_it_is_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let common = |force| Common {
            seed: None,
            json: false,
            out: Some(place.path().to_path_buf()),
            force,
            quiet: true,
            patience: Duration::ZERO,
            trust: Vec::new(),
        };
        assert!(common(false).folder("sweep").is_ok());
        std::fs::write(place.path().join("run.json"), "{}").unwrap();
        let error = common(false).folder("sweep").unwrap_err().to_string();
        assert!(
            error.contains("holds a run already") && error.contains("--force"),
            "{error}"
        );
        assert!(common(true).folder("sweep").is_ok());
        std::fs::create_dir(place.path().join("many")).unwrap();
        std::fs::rename(
            place.path().join("run.json"),
            place.path().join("many/run.json"),
        )
        .unwrap();
        assert!(
            common(false).folder("bench").is_err(),
            "a benchmark's parts are runs too"
        );
    }
}
