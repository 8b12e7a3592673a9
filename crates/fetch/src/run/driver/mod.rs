//! The loop of a thread, with a module for each task:
//!
//! - `flights`: the requests in flight
//! - `sending`: the next requests; `ending`: what follows their outcomes; `settling`: their records
//! - `bodies` and `receiving`: large bodies
//! - `conditional`: responses that may be unchanged; `next_page`: further pages; `robots`: robots.txt
//! - `closing`: parts that end; `taken_over`: those that another worker has; `reporting`: progress

mod bodies;
mod closing;
mod conditional;
mod ending;
mod flights;
mod next_page;
mod receiving;
mod reporting;
mod robots;
mod sending;
mod settling;
mod speed;
mod taken_over;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use hecaton::Reactor;

use self::conditional::JobHeaders;
use self::flights::{Flight, Flights};
use super::bandwidth::Bandwidth;
use super::batches::Batches;
use super::body_name::BodyName;
use super::keep::Keeper;
use super::line::RecordWriter;
use super::pages::Paging;
use super::part::OpenPart;
use super::permits::ThreadPermits;
use super::shared::{Shared, Work};
use super::watch::News;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::plan::{Folder, InputFile, Plan};
use crate::request::{Maker, Naming};
use crate::segment::{Announced, Report, Tally, Writer};
use crate::take::Matches;

/// The longest wait before the loop looks around.
const A_WHILE: Duration = Duration::from_millis(100);

/// How often the progress is reported.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// How often taken-over parts are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The result of a thread.
#[derive(Debug, Default)]
pub struct ThreadSummary {
    /// How the inputs of the parts that this thread finished have ended.
    pub tally: Tally,
    /// Parts that other workers took over or did.
    pub elsewhere: Vec<u32>,
    /// Records that this thread wrote.
    pub written: u64,
    /// Which values of `--take` were found.
    pub matches: Matches,
    /// Whether nothing was left to do.
    pub is_over: bool,
}

/// The requests of a thread, and the parts that they belong to.
pub struct Driver<'a> {
    shared: &'a Shared<'a>,
    folder: &'a Folder,
    job: &'a Job,
    plan: &'a Plan,
    /// The number of the thread.
    number: usize,
    /// Reports to the thread that watches all.
    news: Sender<News>,
    reactor: Reactor,
    batch: Batches,
    /// Most requests in flight now: fewer after bodies did not fit into memory.
    max_in_flight: usize,
    /// This thread's share of the requests in flight of all threads.
    permits: ThreadPermits<'a>,
    writer: Writer,
    maker: Maker,
    records: RecordWriter,
    file: InputFile,
    keeper: Keeper,
    /// Parts that are worked on, in the order they were opened.
    open: Vec<OpenPart>,
    /// Parts whose earlier worker is still leaving them.
    announced: Vec<Announced>,
    /// Parts that are being finalized, with their tallies.
    finishing: HashMap<u32, Tally>,
    flights: Flights,
    /// Flights that wait until their intents are on the disk, by ticket.
    intending: HashMap<u64, Vec<u32>>,
    ticket: u64,
    robots: robots::RobotsFiles,
    /// The names by which robots.txt knows the robot.
    naming: Naming,
    bodies: bodies::Bodies,
    /// Requests that read no more until the bandwidth of their host allows it.
    held: Vec<(u32, Arc<Bandwidth>)>,
    headers: JobHeaders,
    /// How pages are followed, if they are.
    paging: Option<Paging>,
    summary: ThreadSummary,
    parts_done: u64,
    /// Records that parts already had when this thread opened them.
    found: u64,
    reported: Instant,
    looked: Instant,
}

fn reactor() -> Result<Reactor> {
    Reactor::new().map_err(|error| Error::failed(format!("cannot start: {error}")))
}

/// The keeper of a job, for the requests of this run.
fn keeper(shared: &Shared<'_>) -> Result<Keeper> {
    let Work {
        folder, job, plan, ..
    } = shared.work;
    let keeper = Keeper::new(job, folder, plan.round.as_deref())?;
    let name = BodyName::new(&job.results, Some(&plan.columns))?;
    Ok(keeper.for_run(name, shared.proxies.are_none()))
}

impl<'a> Driver<'a> {
    /// The driver of the thread with this number.
    ///
    /// # Errors
    /// When the system has no reactor or no thread for it, or the plan cannot be read.
    pub fn new(shared: &'a Shared<'a>, number: usize, news: Sender<News>) -> Result<Driver<'a>> {
        let Work { job, plan, .. } = shared.work;
        let keeper = keeper(shared)?;
        let maker = Maker::new(&job.request, &plan.columns, plan.job)?;
        Ok(Driver {
            shared,
            folder: shared.work.folder,
            job,
            plan,
            number,
            news,
            reactor: reactor()?,
            batch: Batches::new(&shared.clients, &shared.proxies, job.pace.concurrency)?,
            max_in_flight: job.pace.concurrency,
            permits: shared.permits.of_thread(),
            writer: Writer::start()?,
            maker: maker.for_hosts(&job.request, &job.hosts)?,
            records: RecordWriter::default(),
            file: InputFile::open(shared.work.folder)?,
            bodies: bodies::Bodies::new(job, &keeper, shared.threads),
            held: Vec::new(),
            headers: JobHeaders::of(job),
            paging: Paging::new(job)?,
            keeper,
            open: Vec::new(),
            announced: Vec::new(),
            finishing: HashMap::new(),
            flights: Flights::default(),
            intending: HashMap::new(),
            ticket: 0,
            robots: robots::RobotsFiles::default(),
            naming: Naming::new(job)?,
            summary: ThreadSummary::default(),
            parts_done: 0,
            found: 0,
            reported: Instant::now(),
            looked: Instant::now(),
        })
    }

    /// Does parts until none is left.
    ///
    /// # Errors
    /// When it cannot be done.
    pub fn run(mut self) -> Result<ThreadSummary> {
        let driven = self.drive();
        self.end(driven)
    }

    fn drive(&mut self) -> Result<()> {
        let mut outcomes = Vec::new();
        loop {
            let is_stopping = self.shared.is_stopping();
            // This comes first: if the machine was asleep, the worker may have lost its parts meanwhile.
            self.look_around()?;
            self.receive_reports()?;
            let next = if is_stopping { None } else { self.start()? };
            self.write_due(is_stopping && self.flights.count() == 0)?;
            self.close_done()?;
            let idle = self.open.is_empty()
                && self.announced.is_empty()
                && self.finishing.is_empty()
                && self.shared.supply.lock().is_over();
            if idle || is_stopping && self.flights.count() == 0 && self.finishing.is_empty() {
                return Ok(());
            }
            self.wait(next, &mut outcomes);
            self.take_pieces()?;
            for (slot, outcome) in outcomes.drain(..) {
                self.ended(slot, outcome)?;
                if self.open.iter().any(OpenPart::has_many_lines) {
                    self.write_due(false)?;
                }
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
                self.shared.supply.lock().left(number);
                self.parts_done += 1;
            }
        }
        Ok(())
    }

    fn gone(&mut self, number: u32) {
        self.summary.elsewhere.push(number);
        self.say(format!("part {number} was taken over by another worker"));
    }

    /// Waits until a request has ended, or there is something to do.
    fn wait(&mut self, next: Option<Instant>, outcomes: &mut Vec<(u32, hecaton::Outcome)>) {
        let now = Instant::now();
        let due = self.open.iter().filter_map(OpenPart::due).min();
        let soonest = [next, due].into_iter().flatten().min();
        let mut longest =
            soonest.map_or(A_WHILE, |at| at.saturating_duration_since(now).min(A_WHILE));
        if !self.intending.is_empty() || !self.finishing.is_empty() {
            longest = longest.min(Duration::from_millis(1));
        }
        if let Some(pause) = self.release(now) {
            longest = longest.min(pause);
        }
        if self.bodies.is_preparing() {
            longest = Duration::ZERO;
        }
        if let Some(pause) = self.shared.bandwidth.pause(now) {
            // The requests in flight are polled all the same: none times out because of this.
            std::thread::sleep(pause.min(A_WHILE));
            longest = Duration::ZERO;
        }
        if self.batch.is_empty() {
            std::thread::sleep(longest);
        } else {
            // None means that no request has ended, which is fine.
            let _ = self
                .reactor
                .block_on_at_most(self.batch.wait(outcomes), longest);
        }
    }

    /// Aborts the requests in flight, and waits until everything that the writer was given is on the disk.
    fn end(mut self, driven: Result<()>) -> Result<ThreadSummary> {
        self.batch.abort();
        self.report();
        self.summary.matches = self.keeper.matches();
        self.summary.is_over = self.open.is_empty()
            && self.announced.is_empty()
            && self.shared.supply.lock().is_over();
        let reports = self.writer.end();
        driven?;
        for report in reports {
            if let Report::Failed(error) = report {
                return Err(error);
            }
        }
        Ok(self.summary)
    }
}
