//! The loop of a run.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use hecaton::{Batch, Client, Reactor, Request, Retry};

use super::hosts::{Change, Next};
use super::keep::Keeper;
use super::line::{Lines, Tried};
use super::part::{OpenPart, Pending, Reading};
use super::verdict::{judge, wait};
use super::view::{Observer, Snapshot};
use super::{line, settings};
use crate::error::{Error, Result, at};
use crate::job::Job;
use crate::plan::{Folder, Held, InputFile, Plan, Planned, write_whole};
use crate::record::Outcome;
use crate::request::{Maker, Rendered};
use crate::robots::Robots;
use crate::seal::seal;
use crate::segment::{Commit, Counted, Report, Tally, Writer, claim, load, settle};

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
            keeper: Keeper::new(&job.results, job.network.decode, (folder, plan.round.as_deref()))?,
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

    /// Starts what may start. When to look again, if time alone keeps others from starting.
    fn start(&mut self) -> Result<Option<Instant>> {
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        let mut place = 0;
        let mut intents: HashMap<u32, Vec<u32>> = HashMap::new();
        while self.in_flight < self.job.pace.concurrency {
            if place == self.open.len() && !self.open_another()? {
                break;
            }
            let Some(part) = self.open.get_mut(place) else {
                continue;
            };
            let mut reading = Reading {
                file: &mut self.file,
                maker: &self.maker,
                writer: &mut self.lines,
                robots: self.job.pace.robots,
                keep_duplicates: self.job.input.keep_duplicates,
                resend_unknown: self.options.resend_unknown,
            };
            match part.next(now, &mut reading)? {
                Next::Start(host, pending) => self.begin(place, host, pending, &mut intents),
                // Nobody is told of what was never an input.
                Next::Skip(pending) if pending.is_robots => {}
                Next::Skip(pending) => {
                    let rendered = self.maker.render(&pending.planned.held);
                    let about = (&pending.planned, rendered.as_ref().ok());
                    part.unsent(&mut self.lines, about, Outcome::Skipped, "breaker");
                }
                Next::Wait(until) => {
                    next = [next, until].into_iter().flatten().min();
                    place += 1;
                }
            }
        }
        for (part, slots) in intents {
            self.ticket += 1;
            let numbers = slots.iter().filter_map(|slot| self.flight(*slot));
            let numbers = numbers
                .map(|flight| flight.pending.planned.number)
                .collect();
            self.writer.intents(part, numbers, self.ticket);
            self.intending.insert(self.ticket, slots);
        }
        Ok(next)
    }

    fn flight(&self, slot: u32) -> Option<&Flight> {
        self.flights[slot as usize].as_ref()
    }

    /// Takes on another part; false if there is none, or there are enough.
    fn open_another(&mut self) -> Result<bool> {
        if self.open.len() >= MOST_OPEN {
            return Ok(false);
        }
        let Some(number) = self.to_open.pop_front() else {
            return Ok(false);
        };
        let part = self.plan.part(number)?;
        let worker = format!("process {}", std::process::id());
        let Some(claim) = claim(self.folder, number, &worker)? else {
            self.parts_done += 1;
            self.summary.elsewhere.push(number);
            return Ok(true);
        };
        let limits = settings::limits(&self.job.pace, part.lane);
        let open = OpenPart::open(self.folder, (part, &claim), limits, &self.keeper)?;
        self.summary.written = self.summary.written.wrapping_sub(open.tally.records);
        let path = self.folder.attempt(number, claim.attempt);
        self.writer.open(claim, path);
        self.open.push(open);
        Ok(true)
    }

    /// Puts a request into a slot and sends it, after its intent if it needs one.
    fn begin(
        &mut self,
        place: usize,
        host: u32,
        mut pending: Pending,
        intents: &mut HashMap<u32, Vec<u32>>,
    ) {
        let part = &mut self.open[place];
        pending.attempts += 1;
        let needs_intent = match self.maker.render(&pending.planned.held) {
            Ok(rendered) => !pending.is_robots && !pending.is_intended && !self.maker.may_repeat(&rendered.method),
            Err(_) => false,
        };
        pending.is_intended |= needs_intent;
        let number = part.number;
        part.in_flight += 1;
        self.in_flight += 1;
        let flight = Flight {
            part: number,
            host,
            pending,
            begun: SystemTime::now(),
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flights[slot as usize] = Some(flight);
                slot
            }
            None => {
                self.flights.push(Some(flight));
                self.flights.len() as u32 - 1
            }
        };
        match needs_intent {
            true => intents.entry(number).or_default().push(slot),
            false => self.send(slot),
        }
    }

    /// Sends what is in a slot, unless its part has gone meanwhile.
    fn send(&mut self, slot: u32) {
        let Some(flight) = &mut self.flights[slot as usize] else {
            return;
        };
        if !self.open.iter().any(|part| part.number == flight.part) {
            self.land(slot);
            return;
        }
        flight.begun = SystemTime::now();
        let planned = &flight.pending.planned;
        let request = match (flight.pending.is_robots, &planned.held) {
            (true, Held::Url(url)) => robots_request(url),
            _ => {
                let rendered = self.maker.render(&planned.held);
                rendered.and_then(|rendered| self.maker.request(&rendered, planned.number))
            }
        };
        match request {
            Ok(request) => self.batch.push(slot, request),
            Err(reason) => self.refused(slot, &reason),
        }
    }

    /// What the engine does not send.
    fn refused(&mut self, slot: u32, reason: &str) {
        let Some((flight, Some(place))) = self.land(slot) else {
            return;
        };
        let part = &mut self.open[place];
        part.hosts.unstarted(flight.host);
        if flight.pending.is_robots {
            return part.heed(flight.host, Robots::allow_all(), 1, &self.maker, &mut self.lines);
        }
        let rendered = self.maker.render(&flight.pending.planned.held);
        let about = (&flight.pending.planned, rendered.as_ref().ok());
        part.unsent(&mut self.lines, about, Outcome::Invalid, reason);
    }

    /// Frees a slot: what was in it, and where its part is, if that is still worked on.
    fn land(&mut self, slot: u32) -> Option<(Flight, Option<usize>)> {
        let flight = self.flights[slot as usize].take()?;
        self.free.push(slot);
        self.in_flight -= 1;
        let place = self.open.iter().position(|part| part.number == flight.part);
        if let Some(place) = place {
            self.open[place].in_flight -= 1;
        }
        Some((flight, place))
    }

    fn ended(&mut self, slot: u32, outcome: hecaton::Outcome) -> Result<()> {
        let now = Instant::now();
        let verdict = judge(&outcome, &self.job.pace, SystemTime::now());
        let took = match &outcome {
            Ok(response) => response.elapsed(),
            Err(error) => error.elapsed(),
        };
        let Some((flight, Some(place))) = self.land(slot) else {
            return Ok(());
        };
        let part = &mut self.open[place];
        let change = part.hosts.ended(flight.host, verdict.ended, took, now);
        let sentence =
            change.and_then(|change| sentence(part.hosts.name(flight.host), &change, &outcome));
        if flight.pending.is_robots {
            let robot = robot(self.job.network.user_agent.as_deref());
            let robots = match &outcome {
                Ok(response) => Robots::of_answer(Some(response.status()), response.body(), robot),
                Err(_) => Robots::of_answer(None, b"", robot),
            };
            let of = self.plan.part(flight.part)?.lane.map_or(1, |lane| lane.of);
            part.heed(flight.host, robots, of, &self.maker, &mut self.lines);
            return Ok(());
        }
        let Ok(rendered) = self.maker.render(&flight.pending.planned.held) else {
            return Ok(());
        };
        let repeatable = self.maker.may_repeat(&rendered.method)
            || matches!(&outcome, Err(error) if !error.sent());
        let again = verdict.may_help
            && repeatable
            && flight.pending.attempts <= self.job.pace.retries
            && part.hosts.may_retry(flight.host);
        if again {
            drop(rendered);
            let at = now + wait(flight.pending.attempts);
            part.again(flight.host, flight.pending, at);
        } else {
            let tried = Tried {
                attempts: flight.pending.attempts,
                begun: flight.begun,
            };
            let about = (&flight.pending.planned, &rendered);
            let kept = record(part, &mut self.lines, about, &tried, &outcome, &self.keeper);
            kept.map_err(at("write bodies below", self.folder.path()))?;
            self.summary.written = self.summary.written.wrapping_add(1);
        }
        if let Some(sentence) = sentence {
            self.observer.say(&sentence);
        }
        Ok(())
    }

    /// Hands lines over that have waited for long enough.
    fn write_due(&mut self, all: bool) -> Result<()> {
        let now = Instant::now();
        for part in &mut self.open {
            let lines = part.take_lines(now, all || part.is_done());
            let lines = lines.map_err(at("write bodies below", self.folder.path()))?;
            if let Some(lines) = lines {
                self.writer.lines(part.number, lines);
            }
        }
        Ok(())
    }

    /// Has the parts sealed that are done.
    fn close_done(&mut self) -> Result<()> {
        while let Some(place) = self
            .open
            .iter()
            .position(|part| part.is_done() && part.lines.is_empty())
        {
            let part = self.open.remove(place);
            part.sink.finish().map_err(at("write bodies below", self.folder.path()))?;
            self.finishing.insert(part.number, part.tally.clone());
            let (folder, inputs) = (self.folder.clone(), part.inputs);
            let (number, attempt, mut counts) = (part.number, part.attempt, part.counts);
            let finish = move |bytes| {
                counts.push(Counted { attempt, bytes });
                finish(&folder, (number, attempt), counts, inputs)
            };
            self.writer.finish(number, Box::new(finish));
        }
        Ok(())
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

    /// Now and then: tells how far it is, and asks whether parts were taken over.
    fn look_around(&mut self) {
        let now = Instant::now();
        if now - self.clock.told < TELL {
            return;
        }
        self.clock.told = now;
        let snapshot = self.snapshot(now);
        self.observer.progress(&snapshot);
        if now - self.clock.noted >= NOTE {
            self.clock.noted = now;
            self.drop_taken_over();
            if self.options.note_progress {
                note(self.folder, &snapshot);
            }
        }
    }

    fn drop_taken_over(&mut self) {
        let folder = self.folder;
        let is_taken = |part: &OpenPart| is_taken_over(folder, part.number, part.attempt);
        while let Some(place) = self.open.iter().position(is_taken) {
            let part = self.open.remove(place);
            self.writer.close(part.number);
            self.gone(part.number);
            self.parts_done += 1;
        }
    }

    fn snapshot(&mut self, now: Instant) -> Snapshot {
        let mut tally = self.summary.tally.clone();
        self.finishing.values().for_each(|part| tally.add(part));
        self.open.iter().for_each(|part| tally.add(&part.tally));
        let history = &mut self.clock.history;
        history.push_back((now, tally.records));
        while history.len() > 2 && now - history[0].0 > Duration::from_secs(5) {
            history.pop_front();
        }
        let (since, records) = history[0];
        let seconds = (now - since).as_secs_f64();
        let rate = if seconds > 0.0 {
            (tally.records - records.min(tally.records)) as f64 / seconds
        } else {
            0.0
        };
        let hosts = self.open.iter().flat_map(|part| part.hosts.slowest(5, now));
        Snapshot {
            inputs: self.plan.inputs,
            tally,
            parts: self.plan.parts.len() as u64,
            parts_done: self.parts_done,
            in_flight: self.in_flight as u64,
            rate,
            seconds: (now - self.clock.begun).as_secs_f64(),
            pid: std::process::id(),
            hosts: hosts.take(20).collect(),
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

fn record(
    part: &mut OpenPart,
    lines: &mut Lines,
    about: (&Planned, &Rendered<'_>),
    tried: &Tried,
    outcome: &hecaton::Outcome,
    keeper: &Keeper,
) -> std::io::Result<()> {
    match outcome {
        Ok(response) => {
            let kept = keeper.keep(&mut part.sink, about, tried, response)?;
            let out = part.record(Outcome::Response, kept.ok);
            lines.response(out, about, tried, response, kept);
        }
        Err(error) => {
            let out = part.record(Outcome::Error, false);
            lines.error(out, about, tried, error);
        }
    }
    Ok(())
}

/// Redirects are followed, as RFC 9309 §2.3.1.2 asks.
fn robots_request(url: &str) -> std::result::Result<Request, String> {
    let request = Request::get(url).map_err(|error| error.to_string())?;
    Ok(request.redirects(5).retry(Some(Retry::default())))
}

/// Whether another worker has begun a part after this attempt, or done it: then no later attempt may be left to see.
fn is_taken_over(folder: &Folder, part: u32, attempt: u32) -> bool {
    folder.attempt(part, attempt + 1).exists() || folder.commit(part).exists()
}

/// Seals a part and commits it; false if another worker was first.
fn finish(
    folder: &Folder,
    (part, attempt): (u32, u32),
    counts: Vec<Counted>,
    inputs: u64,
) -> Result<bool> {
    let sealed = Commit::sealed(folder, part, attempt);
    if is_taken_over(folder, part, attempt) {
        return Ok(false);
    }
    let tally = seal(folder, part, &counts, inputs, &sealed).inspect_err(|_| {
        // Half a file is of no use, and takes room where there is none.
        let _ = std::fs::remove_file(&sealed);
    })?;
    let commit = Commit {
        part,
        attempt,
        counts,
        tally,
    };
    let is_ours = commit.create(folder)?;
    match is_ours {
        true => settle(folder, &commit)?,
        false => drop(std::fs::remove_file(&sealed)),
    }
    Ok(is_ours)
}

/// The name that robots.txt may know this robot by.
fn robot(user_agent: Option<&str>) -> &str {
    user_agent.and_then(|agent| agent.split(['/', ' ']).next()).unwrap_or("hecaton")
}

/// For `status`. Whoever cannot write it says nothing: the records say all of it.
fn note(folder: &Folder, snapshot: &Snapshot) {
    if let Ok(text) = serde_json::to_vec(snapshot) {
        let _ = write_whole(&folder.progress(), &text);
    }
}

fn sentence(host: &str, change: &Change, outcome: &hecaton::Outcome) -> Option<String> {
    let last = match outcome {
        Ok(response) => format!("the last one with status {}", response.status()),
        Err(error) => format!(
            "the last one: {}: {}",
            line::kind_name(error.kind()),
            error.detail()
        ),
    };
    match change {
        Change::Rests(failures, rest) => Some(format!(
            "{host}: {failures} failures in a row, {last}; it is asked again in {}",
            humantime::format_duration(*rest)
        )),
        Change::GivenUp => Some(format!(
            "{host}: given up, {last}; what is left for it is skipped, and `again` can ask for it"
        )),
        // Pauses are what politeness does; only long ones are news.
        Change::Paused(pause) if *pause >= Duration::from_secs(5) => Some(format!(
            "{host}: asked for a pause of {}",
            humantime::format_duration(*pause)
        )),
        Change::Paused(_) => None,
    }
}
