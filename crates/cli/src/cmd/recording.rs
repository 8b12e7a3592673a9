//! One run as it is measured: its folder, its document, and the rounds that are kept when it ends early.

use std::path::Path;

use anyhow::{Error, Result, bail};
use hecaton_lab::findings::words::listed;
use hecaton_lab::findings::{RULES, judge};
use hecaton_lab::ledger::{ClientRecord, Document, Environment, Folder, PlanRecord, SCHEMA};
use hecaton_lab::plan::trials;
use hecaton_lab::report;
use hecaton_lab::run::{self, DriverError, Event, Setup};
use hecaton_lab::spec::{Experiment, Manifest, Sweep};

use super::session::plural;
use crate::progress::Progress;

/// A sweep's folder and document.
pub struct Recording {
    /// Where its files are.
    pub folder: Folder,
    /// The measurements so far.
    pub document: Document,
    /// Clients whose drivers broke.
    pub broken: Vec<String>,
}

impl Recording {
    /// Opens `folder` and writes the plan and the facts about this machine. `root` is the project's folder, `descriptors`
    /// the limit of open files.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn begin(
        experiment: &Experiment,
        folder: Folder,
        root: &Path,
        descriptors: u64,
    ) -> Result<Recording> {
        let document = Document {
            schema: SCHEMA,
            rules: RULES,
            command: command_line(),
            environment: Environment::collect(root, descriptors, run::choose_cores()),
            plan: PlanRecord::from(experiment),
            unfinished: Some(trials(&experiment.sweep).len() as u64),
            rounds: Vec::new(),
            starts: Vec::new(),
            left_out: experiment.left_out.clone(),
        };
        // The seed is written at the end, because a driver that reads the folder could predict the rest of the run.
        let mut known = document.clone();
        known.plan.seed = 0;
        folder.begin(&known)?;
        Ok(Recording {
            folder,
            document,
            broken: Vec::new(),
        })
    }

    /// Makes every trial of the sweep, and keeps every round at once.
    ///
    /// # Errors
    /// The first thing that goes wrong; the rounds until then are kept.
    pub fn measure(&mut self, sweep: &Sweep, setup: &Setup, progress: &mut Progress) -> Result<()> {
        run::sweep(sweep, setup, &mut |event| {
            match event {
                Event::Started(hello) => {
                    let own = |manifest: &&Manifest| manifest.client == hello.name;
                    let record = ClientRecord::new(hello, sweep.clients.iter().find(own));
                    let clients = &mut self.document.environment.clients;
                    clients.insert(hello.name.clone(), record);
                }
                Event::NoBaselineLoader(why) => {
                    progress.say(&format!("without the baseline loader: {why}"))
                }
                Event::LeftOut(why) => {
                    progress.say(&format!("left out: {why}"));
                    self.document.left_out.push(why);
                }
                Event::Broke(error) => {
                    progress.say(&format!("left out: {error}"));
                    self.leave_out(error, sweep);
                }
                Event::Ready(start) => self.document.starts.push(start),
                Event::Offended(client, invocation, says) => {
                    let rounds = self.document.rounds.iter_mut();
                    let own = rounds.filter(|round| {
                        round.cell.client == client && round.invocation == invocation
                    });
                    own.for_each(|round| round.offences.push(says.clone()));
                }
                Event::Later(cell, later) => {
                    let mut rounds = self.document.rounds.iter_mut();
                    if let Some(last) = rounds.rfind(|round| round.cell == cell) {
                        last.later = Some(later);
                    }
                }
                Event::Measured(round) => {
                    self.folder.append(&round)?;
                    progress.advance(&round.cell);
                    self.document.rounds.push(*round);
                }
            }
            Ok(())
        })?;
        self.document.unfinished = None;
        Ok(())
    }

    /// Marks the rounds of a client that broke: the rounds of the other clients were measured under other conditions.
    fn leave_out(&mut self, error: &DriverError, sweep: &Sweep) {
        let (client, happened) = (&error.client, error.happened());
        let says = format!("its driver broke, and was left out of the rest: it {happened}");
        let rounds = self.document.rounds.iter_mut();
        rounds
            .filter(|round| round.cell.client == *client)
            .for_each(|round| round.offences.push(says.clone()));
        let why = format!("the driver of {client} {happened}");
        self.document.left_out.push(why);
        // The user named neither the lab's own drivers nor the second copy of a client.
        if sweep.clients.iter().any(|own| own.client == *client) {
            self.broken.push(client.clone());
        }
    }

    /// Fails when a client's driver broke.
    ///
    /// # Errors
    /// The message names the clients that broke.
    pub fn nobody_broke(&self) -> Result<()> {
        let names: Vec<&str> = self.broken.iter().map(String::as_str).collect();
        match names[..] {
            [] => Ok(()),
            [first, ..] => bail!(
                "{} broke and {} left out, the others were measured; `hecaton drivers check {first}` looks closer",
                listed(&names),
                if names.len() == 1 { "was" } else { "were" },
            ),
        }
    }

    /// After a failure: what was measured until then stays on disk, and the sentence says where.
    pub fn keep(&self, error: Error) -> Error {
        let Recording {
            folder, document, ..
        } = self;
        if folder.kept() == 0 {
            folder.discard();
            return error;
        }
        let findings = judge(&document.rounds, &document.plan.delay);
        let (kept, planned) = (
            plural(folder.kept(), "round"),
            document.unfinished.unwrap_or_default(),
        );
        let stamp = format!(
            "INCOMPLETE {}/{planned}: the run ended early",
            folder.kept()
        );
        let is = if folder.kept() == 1 { "is" } else { "are" };
        let note = match folder.finish(&report::document(document, &findings)) {
            Ok(path) => format!(
                "{stamp}; its {kept} {is} in {}, which `hecaton report` shows",
                path.display()
            ),
            Err(problem) => format!(
                "{stamp}; its {kept} {is} in {}, and run.json could not be written ({problem:#})",
                folder.path().join("rounds.jsonl").display()
            ),
        };
        error.context(note)
    }
}

/// The command line as it can be pasted into a shell.
pub fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| quoted(&word));
    std::iter::once("hecaton".to_string())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word as a shell would read it.
fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.,:/=%+@".contains(c));
    if plain {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_can_be_pasted_into_a_shell() {
        assert_eq!(quoted("--delay"), "--delay");
        assert_eq!(
            quoted("lognormal:p50=5ms,p99=40ms"),
            "lognormal:p50=5ms,p99=40ms"
        );
        assert_eq!(quoted("http://h/?a=b&c"), "'http://h/?a=b&c'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
