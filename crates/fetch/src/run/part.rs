//! A part that is worked on: its inputs, its hosts, what is done of it, and what is still to be written.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use roaring::RoaringTreemap;

use super::cursor::Cursor;
use super::hosts::{Hosts, Limits, Next};
use super::keep::Keeper;
use super::line::Lines;
use super::view::PartView;
use crate::error::Result;
use crate::host::LastHost;
use crate::plan::{Folder, Held, InputFile, Part, Plan, Planned};
use crate::record::Outcome;
use crate::request::Maker;
use crate::robots::Robots;
use crate::segment::{Claim, Counted, Tally};
use crate::sink::Sink;

/// Inputs that are read from a group at once.
const AT_ONCE: usize = 32;

/// Inputs of a part that wait in memory, at most about so many.
const MOST_WAITING: usize = 8192;

/// A frame is written when it has so many bytes.
const FRAME: usize = 256 << 10;

/// A frame is written after so long.
const FRAME_TIME: Duration = Duration::from_millis(20);

/// The same where bodies go into files.
const SLOW_FRAME_TIME: Duration = Duration::from_secs(1);

/// An input whose request waits for its turn.
pub struct Pending {
    /// The input.
    pub planned: Planned,
    /// Its group.
    pub cursor: u16,
    /// How often it was tried.
    pub attempts: u32,
    /// Whether its intent is on the disk.
    pub is_intended: bool,
    /// Whether it asks for robots.txt, and for no input.
    pub is_robots: bool,
}

impl Pending {
    fn new(planned: Planned, cursor: u16) -> Pending {
        Pending {
            planned,
            cursor,
            attempts: 0,
            is_intended: false,
            is_robots: false,
        }
    }
}

/// The path of a URL, with its query.
fn path(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    let rest = rest.split('#').next().unwrap_or(rest);
    rest.find(['/', '?']).map_or("/", |at| &rest[at..])
}

/// A part that is worked on.
pub struct OpenPart {
    /// Its number.
    pub number: u32,
    /// How many inputs it has.
    pub inputs: u64,
    /// The attempt at it.
    pub attempt: u32,
    /// What counts of earlier attempts.
    pub counts: Vec<Counted>,
    /// Its hosts.
    pub hosts: Hosts<Pending>,
    /// When it was opened here, and how many records it had then.
    pub opened: (Instant, u64),
    /// Whether nothing more of it may be sent for now.
    pub is_silent: bool,
    /// Its requests that were started and have not ended.
    pub in_flight: usize,
    /// How its inputs ended so far.
    pub tally: Tally,
    /// Lines that are still to be written.
    pub lines: Vec<u8>,
    lines_since: Option<Instant>,
    /// Where bodies go.
    pub sink: Sink,
    /// Lines are written after so long.
    frame_time: Duration,
    cursors: Vec<Cursor>,
    /// How many of each group wait.
    waiting: Vec<usize>,
    /// Groups of which so many wait that no more are read.
    full: Vec<bool>,
    /// Groups that may be read on.
    open: VecDeque<u16>,
    done: RoaringTreemap,
    intents: RoaringTreemap,
    last: LastHost,
    /// What sites ask, by the numbers of their hosts.
    robots: HashMap<u32, Robots>,
}

/// What reading inputs needs.
pub struct Reading<'a> {
    /// All inputs.
    pub file: &'a mut InputFile,
    /// Makes requests of them.
    pub maker: &'a Maker,
    /// Writes those that need none.
    pub writer: &'a mut Lines,
    /// Whether robots.txt decides what may be fetched.
    pub robots: bool,
    /// Whether requests that were there before are sent again.
    pub keep_duplicates: bool,
    /// Whether requests of which nobody knows whether they were sent are sent again.
    pub resend_unknown: bool,
}

impl OpenPart {
    /// Goes on from what earlier attempts came to.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn open(
        folder: &Folder,
        (part, claim): (&Part, &mut Claim),
        limits: Limits,
        keeper: &Keeper,
    ) -> Result<OpenPart> {
        for counted in &claim.counts {
            keeper.mend(part.number, counted.attempt)?;
        }
        // What is in files must be on the disk before its record is written, and that is not done fifty times a second.
        let frame_time = if keeper.has_files() {
            SLOW_FRAME_TIME
        } else {
            FRAME_TIME
        };
        let cursors = Cursor::all(Plan::index(folder, part.number)?);
        let known = std::mem::take(&mut claim.known);
        Ok(OpenPart {
            number: part.number,
            inputs: part.inputs,
            attempt: claim.attempt,
            counts: claim.counts.clone(),
            hosts: Hosts::new(limits),
            opened: (Instant::now(), known.tally.records),
            is_silent: false,
            in_flight: 0,
            tally: known.tally,
            lines: Vec::new(),
            lines_since: None,
            sink: keeper.sink(part.number, claim.attempt)?,
            frame_time,
            waiting: vec![0; cursors.len()],
            full: vec![false; cursors.len()],
            open: (0..cursors.len() as u16).collect(),
            cursors,
            done: known.done,
            intents: known.intents,
            last: LastHost::default(),
            robots: HashMap::new(),
        })
    }

    /// What is told of it.
    pub fn view(&self, now: Instant) -> PartView {
        PartView {
            part: self.number,
            attempt: self.attempt,
            inputs: self.inputs,
            tally: self.tally.clone(),
            in_flight: self.in_flight as u64,
            seconds: (now - self.opened.0).as_secs_f64(),
            since: self.tally.records - self.opened.1,
            held_up_by: self.hosts.holding_up(now),
        }
    }

    /// Whether every input has its record.
    pub fn is_done(&self) -> bool {
        self.tally.records == self.inputs && self.in_flight == 0
    }

    /// What comes next of this part: reads inputs as far as there is need of them.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn next(&mut self, now: Instant, reading: &mut Reading<'_>) -> Result<Next<Pending>> {
        loop {
            match self.hosts.next(now) {
                // What needs no request is written before more of it is read.
                Next::Wait(_) if self.lines.len() >= FRAME => return Ok(Next::Wait(Some(now))),
                Next::Wait(until) => {
                    if !self.read(reading)? {
                        return Ok(Next::Wait(until));
                    }
                }
                Next::Start(host, pending) => {
                    self.left_queue(pending.cursor);
                    return Ok(Next::Start(host, pending));
                }
                Next::Skip(pending) => {
                    self.left_queue(pending.cursor);
                    return Ok(Next::Skip(pending));
                }
            }
        }
    }

    /// Queues one again, from then on.
    pub fn again(&mut self, host: u32, pending: Pending, at: Instant) {
        self.waiting[usize::from(pending.cursor)] += 1;
        self.hosts.again(host, pending, at);
    }

    fn left_queue(&mut self, cursor: u16) {
        let most = self.most_of_a_group();
        let place = usize::from(cursor);
        self.waiting[place] -= 1;
        if self.full[place] && self.waiting[place] <= most / 2 {
            self.full[place] = false;
            self.open.push_back(cursor);
        }
    }

    fn most_of_a_group(&self) -> usize {
        MOST_WAITING / self.cursors.len().max(1) + AT_ONCE
    }

    /// Reads some inputs of each group that may be read on; false if there were none.
    fn read(&mut self, reading: &mut Reading<'_>) -> Result<bool> {
        let most = self.most_of_a_group();
        let mut has_read = false;
        for _ in 0..self.open.len() {
            let Some(cursor) = self.open.pop_front() else {
                break;
            };
            let place = usize::from(cursor);
            let mut is_over = false;
            for _ in 0..AT_ONCE {
                let Some(planned) = self.cursors[place].next(reading.file)? else {
                    is_over = true;
                    break;
                };
                has_read = true;
                self.take(planned, cursor, reading);
            }
            if !is_over {
                self.full[place] = self.waiting[place] >= most;
                if !self.full[place] {
                    self.open.push_back(cursor);
                }
            }
        }
        Ok(has_read)
    }

    fn take(&mut self, planned: Planned, cursor: u16, reading: &mut Reading<'_>) {
        let is_done = self.done.contains(planned.number);
        let rendered = reading.maker.render(&planned.held);
        let is_repeat = match &rendered {
            Ok(rendered) if !reading.keep_duplicates => {
                self.cursors[usize::from(cursor)].is_repeat(rendered.digest())
            }
            _ => false,
        };
        if is_done {
            return;
        }
        let unsent = match &rendered {
            Err(reason) => Some((Outcome::Invalid, reason.as_str())),
            Ok(_) if is_repeat => Some((Outcome::Skipped, "duplicate")),
            Ok(rendered) => {
                let again = reading.resend_unknown || reading.maker.may_repeat(&rendered.method);
                let lost = self.intents.contains(planned.number) && !again;
                lost.then_some((
                    Outcome::Unknown,
                    "it was about to be sent when the worker ended",
                ))
            }
        };
        if let Some((outcome, why)) = unsent {
            let rendered = rendered.as_ref().ok();
            self.unsent(reading.writer, (&planned, rendered), outcome, why);
            return;
        }
        let place = rendered
            .as_ref()
            .map_err(String::clone)
            .and_then(|rendered| {
                let (host, foreign) = self
                    .last
                    .of(&rendered.url)
                    .map_err(|error| error.to_string())?;
                Ok((self.hosts.number(host, foreign), &*rendered.url))
            });
        let ((host, is_new), url) = match place {
            Ok(place) => place,
            Err(why) => {
                return self.unsent(reading.writer, (&planned, None), Outcome::Invalid, &why);
            }
        };
        if reading.robots && is_new {
            self.ask_robots(host, url, cursor);
        }
        if self
            .robots
            .get(&host)
            .is_some_and(|robots| !robots.allows(path(url)))
        {
            let rendered = rendered.as_ref().ok();
            return self.unsent(
                reading.writer,
                (&planned, rendered),
                Outcome::Skipped,
                "robots",
            );
        }
        drop(rendered);
        self.queue(host, Pending::new(planned, cursor));
    }

    fn queue(&mut self, host: u32, pending: Pending) {
        self.waiting[usize::from(pending.cursor)] += 1;
        self.hosts.push(host, pending);
    }

    /// Asks a host for its robots.txt before anything else.
    fn ask_robots(&mut self, host: u32, url: &str, cursor: u16) {
        self.robots.remove(&host);
        let Some(url) = url::Url::parse(url)
            .ok()
            .and_then(|url| url.join("/robots.txt").ok())
        else {
            return;
        };
        let held = Held::Url(String::from(url).into());
        let planned = Planned {
            number: u64::MAX,
            line: 0,
            held,
        };
        self.hosts.close_gate(host);
        self.queue(
            host,
            Pending {
                is_robots: true,
                ..Pending::new(planned, cursor)
            },
        );
    }

    /// What a host's robots.txt says, to be held to.
    pub fn heed(&mut self, host: u32, robots: Robots, of: u32, maker: &Maker, writer: &mut Lines) {
        let delay = robots.delay().unwrap_or_default().saturating_mul(of);
        for pending in self.hosts.open_gate(host, delay) {
            self.left_queue(pending.cursor);
            let rendered = maker.render(&pending.planned.held);
            let url = rendered.as_ref().map_or("", |rendered| &rendered.url);
            match robots.allows(path(url)) {
                false => {
                    let about = (&pending.planned, rendered.as_ref().ok());
                    self.unsent(writer, about, Outcome::Skipped, "robots");
                }
                true => {
                    drop(rendered);
                    self.queue(host, pending);
                }
            }
        }
        self.robots.insert(host, robots);
    }

    /// Writes the record of an input of which nothing is sent.
    pub fn unsent(
        &mut self,
        writer: &mut Lines,
        about: (&Planned, Option<&crate::request::Rendered<'_>>),
        outcome: Outcome,
        why: &str,
    ) {
        let lines = self.record(outcome, false);
        writer.unsent(lines, about, outcome, why);
    }

    /// Counts a record; where its line goes.
    pub fn record(&mut self, outcome: Outcome, ok: bool) -> &mut Vec<u8> {
        self.tally.count(outcome, ok);
        self.lines_since.get_or_insert_with(Instant::now);
        &mut self.lines
    }

    /// When the lines are to be written; none if there are none.
    pub fn due(&self) -> Option<Instant> {
        self.lines_since.map(|since| since + self.frame_time)
    }

    /// The lines, if it is time to write them; the bodies are on the disk then.
    ///
    /// # Errors
    /// When the bodies cannot be written.
    pub fn take_lines(&mut self, now: Instant, all: bool) -> std::io::Result<Option<Vec<u8>>> {
        let is_time = self.lines.len() >= FRAME || self.due().is_some_and(|due| due <= now);
        if self.lines.is_empty() || !(all || is_time) {
            return Ok(None);
        }
        self.sink.sync()?;
        self.lines_since = None;
        let capacity = self.lines.len() + self.lines.len() / 4;
        Ok(Some(std::mem::replace(
            &mut self.lines,
            Vec::with_capacity(capacity),
        )))
    }
}
