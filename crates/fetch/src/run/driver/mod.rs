//! The loop of a run: `sending` (what starts next), `ending` (what came back), `closing` (parts that end), `telling` (how far it is).

mod closing;
mod ending;
mod sending;
mod telling;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use hecaton::{Batch, Client, Reactor};

use self::telling::note;
use super::keep::Keeper;
use super::line::Lines;
use super::part::{OpenPart, Pending};
use super::settings;
use super::view::Observer;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{Folder, InputFile, Plan};
use crate::request::Maker;
use crate::segment::{Report, Tally, Writer, load, settle};

/// Most parts that are worked on at once.
const MOST_OPEN: usize = 32;

/// The longest wait before the loop looks around.
const A_WHILE: Duration = Duration::from_millis(100);

/// How often whoever looks is told.
const TELL: Duration = Duration::from_millis(250);

/// How often it is written how far the run is, and asked whether parts were taken over.
const NOTE: Duration = Duration::from_secs(1);

/// What else a run is told.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The parts to do; all when empty.
    pub parts: Vec<u32>,
    /// Send requests again of which nobody knows whether they were sent.
    pub resend_unknown: bool,
    /// Write how far it is for `status`.
    pub note_progress: bool,
}

/// What a run came to.
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
    let mut driver = Driver::new(folder, job, plan, options, observer)?;
    let ended = driver.drive(stop);
    driver.end(ended)
}

/// A request that was started and has not ended.
struct Flight {
    part: u32,
    host: u32,
    pending: Pending,
    begun: SystemTime,
}

struct Driver<'a> {
    folder: &'a Folder,
    job: &'a Job,
    plan: &'a Plan,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    reactor: Reactor,
    batch: Batch<u32>,
    writer: Writer,
    maker: Maker,
    lines: Lines,
    file: InputFile,
    keeper: Keeper,
    /// Parts that nobody works on yet.
    to_open: VecDeque<u32>,
    /// Parts that are worked on, in the order they were opened.
    open: Vec<OpenPart>,
    /// Parts that are being sealed, with what they came to.
    finishing: HashMap<u32, Tally>,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    in_flight: usize,
    /// Flights that wait for their intents, by ticket.
    intending: HashMap<u64, Vec<u32>>,
    ticket: u64,
    summary: Summary,
    parts_done: u64,
    clock: Clocks,
}

/// When what was done last.
struct Clocks {
    begun: Instant,
    told: Instant,
    noted: Instant,
    /// Records at some times of the last seconds, for the rate.
    history: VecDeque<(Instant, u64)>,
}

impl<'a> Driver<'a> {
    fn new(
        folder: &'a Folder,
        job: &'a Job,
        plan: &'a Plan,
        options: &'a Options,
        observer: &'a mut dyn Observer,
    ) -> Result<Driver<'a>> {
        let client: Client = settings::client(job)?;
        let reactor =
            Reactor::new().map_err(|error| Error::failed(format!("cannot start: {error}")))?;
        let now = Instant::now();
        let mut driver = Driver {
            folder,
            job,
            plan,
            options,
            observer,
            reactor,
            batch: Batch::new(client, job.pace.concurrency),
            writer: Writer::start()?,
            maker: Maker::new(&job.request, &plan.columns, plan.job)?,
            lines: Lines::default(),
            file: InputFile::open(folder)?,
            keeper: Keeper::new(
                &job.results,
                job.network.decode,
                (folder, plan.round.as_deref()),
            )?,
            to_open: VecDeque::new(),
            open: Vec::new(),
            finishing: HashMap::new(),
            flights: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            intending: HashMap::new(),
            ticket: 0,
            summary: Summary::default(),
            parts_done: 0,
            clock: Clocks {
                begun: now,
                told: now,
                noted: now,
                history: VecDeque::new(),
            },
        };
        driver.find_work()?;
        Ok(driver)
    }

    /// Sorts the parts into those that are done and those that are not.
    fn find_work(&mut self) -> Result<()> {
        let all: Vec<u32> = self.plan.parts.iter().map(|part| part.number).collect();
        let wanted = match self.options.parts.is_empty() {
            true => all,
            false => self.options.parts.clone(),
        };
        for number in wanted {
            let part = self.plan.part(number)?;
            let [own, foreign] = self.job.pace.most();
            if part
                .lane
                .is_some_and(|lane| lane.of as usize > own.min(foreign))
            {
                return Err(Error::usage(format!(
                    "part {number} is one of {} that share their hosts, and {} requests at once to a host cannot be shared by so many: use a larger per_host, or plan the job anew in another folder",
                    part.lane.map_or(0, |lane| lane.of),
                    own.min(foreign)
                )));
            }
            match load(self.folder, number)? {
                // A round may ask for nothing of a part.
                None if part.inputs == 0 => self.parts_done += 1,
                Some(commit) => {
                    settle(self.folder, &commit)?;
                    self.summary.tally.add(&commit.tally);
                    self.parts_done += 1;
                }
                None => self.to_open.push_back(number),
            }
        }
        Ok(())
    }

    fn drive(&mut self, stop: &AtomicBool) -> Result<()> {
        let mut outcomes = Vec::new();
        loop {
            let is_stopping = stop.load(Ordering::Relaxed);
            // First of all: whoever was asleep may have lost its parts meanwhile.
            self.look_around();
            self.hear()?;
            let next = if is_stopping { None } else { self.start()? };
            self.write_due(is_stopping && self.in_flight == 0)?;
            self.close_done()?;
            let idle = self.open.is_empty() && self.to_open.is_empty() && self.finishing.is_empty();
            if idle || is_stopping && self.in_flight == 0 && self.finishing.is_empty() {
                return Ok(());
            }
            self.wait(next, &mut outcomes);
            for (slot, outcome) in outcomes.drain(..) {
                self.ended(slot, outcome)?;
            }
        }
    }

    /// What the writer has to say.
    fn hear(&mut self) -> Result<()> {
        while let Some(report) = self.writer.report() {
            self.heard(report)?;
        }
        Ok(())
    }

    fn heard(&mut self, report: Report) -> Result<()> {
        match report {
            Report::Failed(error) => return Err(error),
            Report::Intents(ticket) => {
                // Whoever took the part over sends what is meant here, or says that it is unknown.
                self.drop_taken_over();
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
                self.parts_done += 1;
            }
        }
        Ok(())
    }

    fn gone(&mut self, number: u32) {
        self.summary.elsewhere.push(number);
        let sentence = format!(
            "part {number} was taken over by another worker; what this one still did of it does not count"
        );
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
        if self.options.note_progress {
            note(self.folder, &snapshot);
        }
        let is_over = self.open.is_empty() && self.to_open.is_empty();
        let reports = self.writer.end();
        ended?;
        for report in reports {
            if let Report::Failed(error) = report {
                return Err(error);
            }
        }
        if !is_over {
            let (done, all) = (snapshot.tally.records, self.plan.inputs);
            return Err(Error::Interrupted(format!(
                "ended as asked: {done} of {all} inputs have their record; the same command again goes on"
            )));
        }
        self.summary.took = self.clock.begun.elapsed();
        Ok(self.summary)
    }
}
