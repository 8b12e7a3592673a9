//! One experiment as it is measured: its folder, its document, and the rounds that remain when it ends early.

use anyhow::{Error, Result};

use super::{Conditions, Measured, Progress};
use crate::findings::words::plural;
use crate::findings::{RULES, judge_run};
use crate::ledger::{ClientRecord, Document, Environment, Folder, PlanRecord, SCHEMA};
use crate::plan::{estimate, trials};
use crate::report;
use crate::run::{self, DriverError, Event, Hello, Round, Seen};
use crate::spec::{Experiment, Manifest, Sweep};

/// The facts so far.
pub(super) struct Record {
    pub(super) folder: Folder,
    pub(super) document: Document,
    broken: Vec<String>,
    /// The first of them as a command line names it.
    closer: Option<String>,
}

impl Record {
    /// Writes the plan and the facts about this machine. `descriptors` is the limit of open files.
    pub(super) fn begin(
        experiment: &Experiment,
        folder: Folder,
        conditions: &Conditions,
        descriptors: u64,
    ) -> Result<Record> {
        let mut document = Document {
            schema: SCHEMA,
            rules: RULES,
            command: conditions.command.clone(),
            environment: Environment::collect(
                conditions.root.as_deref(),
                descriptors,
                run::choose_cores(),
            ),
            plan: PlanRecord::from(experiment),
            unfinished: Some(trials(&experiment.sweep).len() as u64),
            rounds: Vec::new(),
            starts: Vec::new(),
            left_out: experiment.left_out.clone(),
        };
        let server = conditions.server.as_ref();
        document.environment.test_server = server.map(|server| server.address.clone());
        // The seed is written at the end, because a driver that reads the folder could predict the rest of the run.
        let mut known = document.clone();
        known.plan.seed = 0;
        folder.begin(&known)?;
        Ok(Record {
            folder,
            document,
            broken: Vec::new(),
            closer: None,
        })
    }

    /// Records what an event says, every round at once.
    pub(super) fn note(
        &mut self,
        event: Event<'_>,
        sweep: &Sweep,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        let mut say = |words: String| progress(Progress::Said(words));
        match event {
            Event::Started(hello) => self.note_client(hello, sweep),
            Event::NoBaselineLoader(why) => say(format!("without the baseline loader: {why}")),
            Event::LeftOut(why) => {
                say(format!("left out: {why}"));
                self.document.left_out.push(why);
            }
            Event::Broke(error) => {
                say(format!("left out: {error}"));
                self.leave_out(error, sweep);
            }
            Event::Ready(start) => self.document.starts.push(start),
            Event::ServiceTimed(time) => {
                if let Some(all) = estimate(sweep, Some(time)) {
                    progress(Progress::ServiceTimed(all, time));
                }
            }
            Event::Seen(..) | Event::Later(..) | Event::Late(_) => self.note_of_rounds(event),
            Event::Left(left, all) => progress(Progress::Left(left, all)),
            Event::Measured(round) => {
                self.folder.append(&round)?;
                progress(Progress::Measured(&round));
                self.document.rounds.push(*round);
            }
        }
        Ok(())
    }

    fn note_client(&mut self, hello: &Hello, sweep: &Sweep) {
        let own = |manifest: &&Manifest| manifest.client == hello.name;
        let record = ClientRecord::new(hello, sweep.clients.iter().find(own));
        let clients = &mut self.document.environment.clients;
        clients.insert(hello.name.clone(), record);
    }

    /// Notes what became known of rounds that were measured before.
    fn note_of_rounds(&mut self, event: Event<'_>) {
        let mut rounds = self.document.rounds.iter_mut();
        match event {
            Event::Seen(client, invocation, seen) => {
                let own = rounds
                    .filter(|round| round.cell.client == client && round.invocation == invocation);
                own.for_each(|round| round.facts.push(seen.clone().into()));
            }
            Event::Later(cell, later) => {
                if let Some(last) = rounds.rfind(|round| round.cell == cell) {
                    last.later = Some(later);
                }
            }
            Event::Late(late) => {
                let own =
                    |round: &&mut Round| (&round.cell, round.block) == (&late.cell, late.block);
                if let Some(logged) = rounds.rfind(own).and_then(|round| round.logged.as_mut()) {
                    logged.late += late.lines;
                }
            }
            _ => {}
        }
    }

    /// Marks the rounds of a client that broke: the rounds of the other clients were measured under other conditions.
    fn leave_out(&mut self, error: &DriverError, sweep: &Sweep) {
        let (client, happened) = (&error.client, error.happened());
        let broke = Seen::Broke {
            happened: happened.clone(),
        };
        let rounds = self.document.rounds.iter_mut();
        rounds
            .filter(|round| round.cell.client == *client)
            .for_each(|round| round.facts.push(broke.clone().into()));
        let why = format!("the driver of {client} {happened}");
        self.document.left_out.push(why);
        // The user named neither the lab's own drivers nor the second copy of a client.
        if let Some(own) = sweep.clients.iter().find(|own| own.client == *client) {
            self.broken.push(client.clone());
            self.closer.get_or_insert(own.argument());
        }
    }

    /// Everything has been measured.
    pub(super) fn whole(mut self) -> Measured {
        self.document.unfinished = None;
        Measured {
            findings: judge_run(&self.document),
            folder: self.folder,
            document: self.document,
            broken: self.broken,
            closer: self.closer.unwrap_or_default(),
        }
    }

    /// After a failure: what was measured until then stays on disk, and the sentence says where.
    pub(super) fn keep(self, error: Error) -> Error {
        let Record {
            folder, document, ..
        } = self;
        let kept = folder.kept();
        if kept == 0 {
            folder.discard();
            return error;
        }
        let planned = document.unfinished.unwrap_or_default();
        let stamp = format!("INCOMPLETE {kept}/{planned}: the run ended early");
        let is = if kept == 1 { "is" } else { "are" };
        let rounds = plural(kept as u64, "round");
        let note = match folder.finish(&report::document(&document, &judge_run(&document))) {
            Ok(path) => format!(
                "{stamp}; its {rounds} {is} in {}, which `hecaton report` shows",
                path.display()
            ),
            Err(problem) => format!(
                "{stamp}; its {rounds} {is} in {}, and run.json could not be written ({problem:#})",
                folder.path().join("rounds.jsonl").display()
            ),
        };
        error.context(note)
    }
}
