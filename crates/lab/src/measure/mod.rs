//! Measures an experiment, from its limits to its document: all that a front end must not do by itself.
//!
//! A verb of the command is: parse, [`measure()`], view. The caller is notified of what happens meanwhile, and decides
//! where results are printed.

mod record;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::findings::Findings;
use crate::findings::words::listed;
use crate::ledger::{Document, Folder};
use crate::plan::{ServiceTime, estimate, trials};
use crate::report::{FullDocument, document};
use crate::run::{self, Elsewhere, Round, Setup};
use crate::spec::{Experiment, Usage};
use record::Record;

/// Where an experiment is measured, and by whom.
#[derive(Clone)]
pub struct Conditions {
    /// The checkout, whose revision is noted; none for a command without one.
    pub root: Option<PathBuf>,
    /// The folder of its files; it is made if it is not there.
    pub folder: PathBuf,
    /// The program that is the baseline loader, as `PROGRAM baseline-loader`.
    pub program: PathBuf,
    /// The command line of it, as the document repeats it.
    pub command: String,
    /// Where the test server is; none for this machine.
    pub server: Option<Elsewhere>,
    /// How long a driver may be late beyond three times what is expected.
    pub patience: Duration,
    /// Clients whose drivers run as the lab's own user.
    pub trusted: Vec<String>,
    /// Becomes true when it should end.
    pub stop: Arc<AtomicBool>,
}

/// An event while it is measured.
pub enum Progress<'a> {
    /// It begins: so many rounds, and about how long they take at least. Nobody knows that yet of a service of the user's
    /// own.
    Begun(u64, Option<Duration>),
    /// About how long it takes, for the user's service is as fast as this.
    ServiceTimed(Duration, ServiceTime),
    /// Something that a reader should know at once, in a sentence.
    Said(String),
    /// A round has been measured.
    Measured(&'a Round),
    /// How long the rest takes, as far as the run has shown; and all of it, once each cell has had its first round.
    Left(Duration, Option<Duration>),
}

/// A measured experiment, which is not yet on disk as a whole.
pub struct Measured {
    /// Where its files are.
    pub folder: Folder,
    /// Everything that was measured.
    pub document: Document,
    /// What was found.
    pub findings: Findings,
    /// Clients whose drivers broke.
    pub broken: Vec<String>,
    /// The first of them as a command line names it; empty without one.
    closer: String,
}

/// Measures an experiment, and reports to `progress` how far it is.
///
/// # Errors
/// Whatever goes wrong first. The rounds until then stay on disk, and the sentence says where.
pub fn measure(
    experiment: &Experiment,
    conditions: &Conditions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured> {
    refuse(experiment, &conditions.trusted, conditions.server.as_ref())?;
    let descriptors = look(experiment)?;
    let sweep = &experiment.sweep;
    let folder = Folder::create(Some(&conditions.folder), experiment.kind.verb())?;
    let mut record = Record::begin(experiment, folder, conditions, descriptors)?;
    let setup = Setup {
        program: conditions.program.clone(),
        logs: std::path::absolute(record.folder.drivers())?,
        pinning: record.document.environment.pinning,
        patience: conditions.patience,
        server: conditions.server.clone(),
        tolerant: experiment.tolerant,
        trusted: conditions.trusted.clone(),
        stop: conditions.stop.clone(),
    };
    let rounds = trials(sweep).len() as u64;
    progress(Progress::Begun(rounds, estimate(sweep, None)));
    match run::sweep(sweep, &setup, &mut |event| {
        record.note(event, sweep, progress)
    }) {
        Ok(()) => Ok(record.whole()),
        Err(error) => Err(record.keep(error)),
    }
}

/// Refuses what cannot be measured, whatever is installed. Nothing is looked for or started before.
///
/// # Errors
/// What cannot be, in a sentence.
pub fn refuse(
    experiment: &Experiment,
    trusted: &[String],
    server: Option<&Elsewhere>,
) -> Result<()> {
    let names = experiment.sweep.client_names();
    if let Some(name) = trusted.iter().find(|name| !names.contains(name)) {
        bail!(Usage(format!(
            "--trust {name}: no client of that name is measured; name one that is"
        )));
    }
    check_elsewhere(experiment, server)?;
    // Of all clients that happen to be there, those that cannot take part are left out later.
    if !experiment.tolerant {
        run::refuse_what_cannot_be(&experiment.sweep)?;
    }
    Ok(())
}

/// Looks whether all that it needs is there; the limit of open files that holds.
fn look(experiment: &Experiment) -> Result<u64> {
    let sweep = &experiment.sweep;
    let descriptors = run::allow_descriptors(run::descriptors_needed(sweep))?;
    for manifest in &sweep.clients {
        run::receipt(manifest)?;
    }
    run::reach(&sweep.target)?;
    Ok(descriptors)
}

/// Whether it can be measured with the test server on another machine.
fn check_elsewhere(experiment: &Experiment, server: Option<&Elsewhere>) -> Result<()> {
    let (Some(server), sweep) = (server, &experiment.sweep) else {
        return Ok(());
    };
    let why = if !sweep.target.is_test_server() {
        "a URL was named too; leave one of them out"
    } else if sweep.cells.iter().any(|cell| cell.load.rate.is_some()) {
        "another machine has another clock, which cannot witness when a request was due; leave --rate out"
    } else {
        return Ok(());
    };
    bail!(Usage(format!("--server {}: {why}", server.address)))
}

impl Measured {
    /// Its document with everything that was found.
    pub fn full(&self) -> FullDocument<'_> {
        document(&self.document, &self.findings)
    }

    /// Writes the document. Print the result before that, so that a full disk does not take it away.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn finish(&self) -> Result<PathBuf> {
        self.folder.finish(&self.full())
    }

    /// Fails when a client's driver broke.
    ///
    /// # Errors
    /// A sentence that names them.
    pub fn nobody_broke(&self) -> Result<()> {
        let names: Vec<&str> = self.broken.iter().map(String::as_str).collect();
        match names[..] {
            [] => Ok(()),
            _ => bail!(
                "{} broke and {} left out, the others were measured; `hecaton drivers check {}` looks closer",
                listed(&names),
                if names.len() == 1 { "was" } else { "were" },
                self.closer
            ),
        }
    }
}
