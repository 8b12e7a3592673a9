//! The loop of a run: `sending` (the next requests), `ending` (outcomes), `bodies` and `receiving` (large ones), `conditional` (those that may be unchanged), `robots` (robots.txt), `closing` (parts
//! that end), `reporting` (progress).

mod bodies;
mod closing;
mod conditional;
mod ending;
mod receiving;
mod reporting;
mod robots;
mod sending;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use hecaton::{Batch, Client, Reactor};
use roaring::RoaringTreemap;

use super::keep::Keeper;
use super::line::RecordWriter;
use super::part::{OpenPart, Pending};
use super::settings;
use super::supply::{GivenParts, Supply, check_shards, worker_name};
use super::view::Observer;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{Folder, InputFile, Plan};
use crate::record::count;
use crate::request::{Maker, Rendered};
use crate::segment::{Announced, Report, Tally, Writer, load};

/// Most parts that are worked on at once.
const MOST_OPEN: usize = 32;

/// The longest wait before the loop looks around.
const A_WHILE: Duration = Duration::from_millis(100);

/// How often the observer is called.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// How often the progress is written to a file, and taken-over parts are looked for.
const NOTE_EVERY: Duration = Duration::from_secs(1);

/// The options of a run that are no settings of the job.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The parts to do; all when empty.
    pub parts: Vec<u32>,
    /// Send requests again of which nobody knows whether they were sent.
    pub resend_unknown: bool,
    /// Write how far it is for `status`.
    pub note_progress: bool,
    /// Write how far this worker is, in a file of its own among those of all workers.
    pub note_worker: bool,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// How inputs ended: those of the parts that are done.
    pub tally: Tally,
    /// Parts that other workers took over or did.
    pub elsewhere: Vec<u32>,
    /// How long it took.
    pub took: Duration,
    /// Records that this run wrote.
    pub written: u64,
}

/// Does the parts of a plan that are not done.
///
/// # Errors
/// When it cannot be done, or someone ended it.
pub fn run(
    folder: &Folder,
    (job, plan): (&Job, &Plan),
    options: &Options,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let (mut given, before) = GivenParts::find(folder, (job, plan), &options.parts)?;
    let mut driver = Driver::new(folder, job, plan, (options, &mut given), observer)?;
    (driver.summary.tally, driver.parts_done) = before;
    let ended = driver.drive(stop);
    let mut summary = driver.end(ended)?;
    if options.parts.is_empty() {
        // Other workers may have done some of them.
        summary.tally = Tally::default();
        for part in &plan.parts {
            if let Some(commit) = load(folder, part.number)? {
                summary.tally.add(&commit.tally);
            }
        }
    }
    Ok(summary)
}

/// Does parts of a plan as they are handed out.
///
/// # Errors
/// When it cannot be done, or someone ended it.
pub fn run_supplied(
    folder: &Folder,
    (job, plan): (&Job, &Plan),
    (options, supply): (&Options, &mut dyn Supply),
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    for part in &plan.parts {
        check_shards(job, part)?;
    }
    let mut driver = Driver::new(folder, job, plan, (options, supply), observer)?;
    let ended = driver.drive(stop);
    driver.end(ended)
}

/// A request that was started and has not ended.
struct Flight {
    part: u32,
    /// The attempt at it: a part may be left, and come again.
    attempt: u32,
    host: u32,
    pending: Pending,
    begun: SystemTime,
}

impl Flight {
    /// Its URL: where redirects led, or that of its input.
    fn url<'a>(&'a self, rendered: &'a Rendered<'_>) -> &'a str {
        let onward = self.pending.onward.as_deref();
        onward.map_or(&*rendered.url, |onward| &onward.url)
    }

    fn is_of(&self, part: &OpenPart) -> bool {
        (self.part, self.attempt) == (part.number, part.attempt)
    }
}

struct Driver<'a> {
    folder: &'a Folder,
    job: &'a Job,
    plan: &'a Plan,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    reactor: Reactor,
    batch: Batch<u32>,
    /// Most requests in flight now: fewer after bodies did not fit into memory.
    may_fly: usize,
    writer: Writer,
    maker: Maker,
    records: RecordWriter,
    file: InputFile,
    /// The inputs that the plan found to be duplicates, if it looked.
    repeats: Option<RoaringTreemap>,
    keeper: Keeper,
    /// Hands out parts.
    supply: &'a mut dyn Supply,
    /// Parts that are worked on, in the order they were opened.
    open: Vec<OpenPart>,
    /// Parts whose earlier worker is still leaving them.
    announced: Vec<Announced>,
    /// Parts that are being finalized, with their tallies.
    finishing: HashMap<u32, Tally>,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    in_flight: usize,
    /// Flights that wait for their intents, by ticket.
    intending: HashMap<u64, Vec<u32>>,
    ticket: u64,
    robots: robots::RobotsFiles,
    bodies: bodies::Bodies,
    /// Whether the requests of the job have conditions of their own.
    has_conditions: bool,
    summary: Summary,
    parts_done: u64,
    /// Records of parts that were there when they were opened.
    found: u64,
    /// The trouble that was reported last.
    trouble: Option<String>,
    clock: Clocks,
}

/// When what was done last.
struct Clocks {
    begun: Instant,
    reported: Instant,
    noted: Instant,
    /// Records at some times of the last seconds, for the rate.
    history: VecDeque<(Instant, u64)>,
}

impl<'a> Driver<'a> {
    fn new(
        folder: &'a Folder,
        job: &'a Job,
        plan: &'a Plan,
        (options, supply): (&'a Options, &'a mut dyn Supply),
        observer: &'a mut dyn Observer,
    ) -> Result<Driver<'a>> {
        let client: Client = settings::running_client(job, plan.own_hosts)?;
        let reactor =
            Reactor::new().map_err(|error| Error::failed(format!("cannot start: {error}")))?;
        let now = Instant::now();
        let keeper = Keeper::new(
            &job.results,
            job.network.decode,
            (folder, plan.round.as_deref()),
        )?;
        Ok(Driver {
            folder,
            job,
            plan,
            options,
            observer,
            reactor,
            batch: Batch::new(client, job.pace.concurrency),
            may_fly: job.pace.concurrency,
            writer: Writer::start()?,
            maker: Maker::new(&job.request, &plan.columns, plan.job)?,
            records: RecordWriter::default(),
            file: InputFile::open(folder)?,
            repeats: plan.repeated(folder)?,
            bodies: bodies::Bodies::new(job, &keeper),
            has_conditions: conditional::has_own(job),
            keeper,
            supply,
            open: Vec::new(),
            announced: Vec::new(),
            finishing: HashMap::new(),
            flights: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            intending: HashMap::new(),
            ticket: 0,
            robots: robots::RobotsFiles::default(),
            summary: Summary::default(),
            parts_done: 0,
            found: 0,
            trouble: None,
            clock: Clocks {
                begun: now,
                reported: now,
                noted: now,
                history: VecDeque::new(),
            },
        })
    }

    fn drive(&mut self, stop: &AtomicBool) -> Result<()> {
        let mut outcomes = Vec::new();
        // From the start, so that `status` does not advise to start another.
        let snapshot = self.snapshot(Instant::now());
        self.note(&snapshot);
        loop {
            let is_stopping = stop.load(Ordering::Relaxed);
            // First of all: whoever was asleep may have lost its parts meanwhile.
            self.look_around()?;
            self.receive_reports()?;
            let next = if is_stopping { None } else { self.start()? };
            self.write_due(is_stopping && self.in_flight == 0)?;
            self.close_done()?;
            let idle = self.open.is_empty()
                && self.announced.is_empty()
                && self.finishing.is_empty()
                && self.supply.is_over();
            if idle || is_stopping && self.in_flight == 0 && self.finishing.is_empty() {
                return Ok(());
            }
            self.wait(next, &mut outcomes);
            self.take_parts()?;
            for (slot, outcome) in outcomes.drain(..) {
                self.ended(slot, outcome)?;
            }
        }
    }

    /// Handles the reports of the writer.
    fn receive_reports(&mut self) -> Result<()> {
        while let Some(report) = self.writer.report() {
            self.received(report)?;
        }
        Ok(())
    }

    fn received(&mut self, report: Report) -> Result<()> {
        match report {
            Report::Failed(error) => return Err(error),
            Report::Intents(ticket) => {
                // A worker that took the part over sends these requests, or records them as unknown.
                self.drop_taken_over()?;
                for slot in self.intending.remove(&ticket).unwrap_or_default() {
                    self.send(slot);
                }
            }
            Report::Finished(number, is_ours) => {
                let tally = self.finishing.remove(&number).unwrap_or_default();
                match is_ours {
                    true => self.summary.tally.add(&tally),
                    false => self.gone(number),
                }
                self.supply.left(number);
                self.parts_done += 1;
            }
        }
        Ok(())
    }

    fn gone(&mut self, number: u32) {
        self.summary.elsewhere.push(number);
        let sentence = format!("part {number} was taken over by another worker");
        self.observer.say(&sentence);
    }

    /// Until something ended, or there is something to do.
    fn wait(&mut self, next: Option<Instant>, outcomes: &mut Vec<(u32, hecaton::Outcome)>) {
        let now = Instant::now();
        let due = self.open.iter().filter_map(OpenPart::due).min();
        let soonest = [next, due].into_iter().flatten().min();
        let mut longest =
            soonest.map_or(A_WHILE, |at| at.saturating_duration_since(now).min(A_WHILE));
        if !self.intending.is_empty() || !self.finishing.is_empty() {
            longest = longest.min(Duration::from_millis(1));
        }
        if self.bodies.is_preparing() {
            longest = Duration::ZERO;
        }
        if self.batch.is_empty() {
            std::thread::sleep(longest);
        } else {
            // None: nothing has ended, and that is fine.
            let _ = self
                .reactor
                .block_on_at_most(self.batch.wait(outcomes), longest);
        }
    }

    /// Ends in order: what was recorded is on the disk.
    fn end(mut self, ended: Result<()>) -> Result<Summary> {
        self.batch.abort();
        let snapshot = self.snapshot(Instant::now());
        self.observer.progress(&snapshot);
        match self.options.note_worker {
            // Gone, and not silent.
            true => drop(std::fs::remove_file(self.folder.worker(&worker_name()))),
            false => self.note(&snapshot),
        }
        let is_over = self.open.is_empty() && self.announced.is_empty() && self.supply.is_over();
        let reports = self.writer.end();
        ended?;
        for report in reports {
            if let Report::Failed(error) = report {
                return Err(error);
            }
        }
        if !is_over {
            let [done, all] = [snapshot.tally.records, self.plan.inputs].map(count);
            return Err(Error::Interrupted(format!(
                "ended as asked: {done} of {all} inputs have their record; the same command resumes"
            )));
        }
        self.summary.took = self.clock.begun.elapsed();
        Ok(self.summary)
    }
}
