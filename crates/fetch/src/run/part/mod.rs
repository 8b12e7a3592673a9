//! A part that is worked on: its inputs, its hosts, what is done of it, and what is still to be written.

mod group;
mod pending;
mod reading;
mod robots;

use std::time::{Duration, Instant};

use roaring::RoaringTreemap;

use self::group::Groups;
pub use self::pending::{Overrun, Pending};
pub use self::reading::{Reading, Unfollowed};
use self::robots::Awaited;
use super::hosts::Hosts;
use super::keep::Keeper;
use super::limits::PartLimits;
use super::line::{RecordWriter, Sent, Unsent};
use super::recorded::{Risk, recorded};
use super::view::PartView;
use crate::error::Result;
use crate::host::{Host, LastHost};
use crate::plan::{Folder, Index, Part, Plan, Planned};
use crate::record::Outcome;
use crate::request::{Maker, Rendered};
use crate::segment::{Claim, Counted, Lines, Tally, Unfinished};
use crate::sink::{Partials, Sink};

/// A frame is written when it has so many bytes.
const FRAME: usize = 256 << 10;

/// A frame is written after so long.
const FRAME_TIME: Duration = Duration::from_millis(20);

/// A frame is written after so long where bodies go into files.
const SLOW_FRAME_TIME: Duration = Duration::from_secs(1);

/// A part when it was opened.
pub struct Opened {
    /// When that was.
    pub at: Instant,
    /// How its inputs had ended.
    pub tally: Tally,
}

impl Opened {
    fn now(tally: Tally) -> Opened {
        let at = Instant::now();
        Opened { at, tally }
    }
}

/// A part that is worked on.
pub struct OpenPart {
    /// Its number.
    pub number: u32,
    /// How many inputs it has.
    pub inputs: u64,
    /// The attempt at it.
    pub attempt: u32,
    /// The bytes of earlier attempts that count.
    pub counts: Vec<Counted>,
    /// Its hosts.
    pub hosts: Hosts<Pending>,
    limits: PartLimits,
    /// Its state when it was opened here.
    pub opened: Opened,
    /// Whether no request is taken from its queues for now.
    pub is_silent: bool,
    /// When this worker leaves the part at the latest, because another has begun it.
    pub leaves_at: Option<Instant>,
    /// Its requests that were started and have not ended.
    pub in_flight: usize,
    /// How its inputs ended so far.
    pub tally: Tally,
    /// Lines that are still to be written.
    pub lines: Vec<u8>,
    lines_since: Option<Instant>,
    /// Where bodies go.
    pub sink: Sink,
    /// Large bodies that are not whole yet, if they go to the disk as they come.
    pub partials: Option<Partials>,
    /// Lines are written after so long.
    frame_time: Duration,
    /// Its inputs, by group.
    groups: Groups,
    /// Says which hosts belong to this part.
    index: Index,
    done: RoaringTreemap,
    intents: RoaringTreemap,
    /// Inputs that begin at a further page.
    unfinished: Unfinished,
    last: LastHost,
    /// The robots.txt files that it waits for.
    awaited: Awaited,
}

/// Files must be on the disk before their records are written, and syncing them fifty times a second is too slow.
fn frame_time(keeper: &Keeper) -> Duration {
    match keeper.has_files() {
        true => SLOW_FRAME_TIME,
        false => FRAME_TIME,
    }
}

impl OpenPart {
    /// Resumes where earlier attempts ended.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn open(
        folder: &Folder,
        part: &Part,
        claim: &Claim,
        limits: PartLimits,
        keeper: &Keeper,
    ) -> Result<OpenPart> {
        for counted in &claim.counts {
            keeper.mend(part.number, counted.attempt, &claim.known)?;
        }
        let partials = keeper.partials(part.number, claim.attempt)?;
        let mut index = Plan::index(folder, part.number)?;
        let groups = Groups::new(std::mem::take(&mut index.groups));
        let known = claim.known.clone();
        Ok(OpenPart {
            number: part.number,
            inputs: part.inputs,
            attempt: claim.attempt,
            counts: claim.counts.clone(),
            hosts: Hosts::new(limits.usual, limits.common.healths.clone()),
            limits,
            opened: Opened::now(known.tally.clone()),
            is_silent: false,
            leaves_at: None,
            in_flight: 0,
            tally: known.tally,
            lines: Vec::new(),
            lines_since: None,
            sink: keeper.sink(part.number, claim.attempt)?,
            partials,
            frame_time: frame_time(keeper),
            groups,
            index,
            done: known.done,
            intents: known.intents,
            unfinished: known.unfinished,
            last: LastHost::default(),
            awaited: Awaited::default(),
        })
    }

    /// The part for a status line.
    pub fn view(&self, now: Instant) -> PartView {
        PartView {
            part: self.number,
            attempt: self.attempt,
            inputs: self.inputs,
            tally: self.tally.clone(),
            in_flight: self.in_flight as u64,
            seconds: (now - self.opened.at).as_secs_f64(),
            since: self.tally.records - self.opened.tally.records,
            least_left: self.hosts.least_left(),
            held_up_by: self.hosts.holding_up(now),
        }
    }

    /// How many records this run wrote of it, those of all pages too.
    pub fn written(&self) -> u64 {
        self.tally.lines() - self.opened.tally.lines()
    }

    /// Whether every input has its record.
    pub fn is_done(&self) -> bool {
        self.tally.records == self.inputs && self.in_flight == 0
    }

    /// Writes the record of an input of which nothing is sent, or nothing more, and why.
    fn unsent(
        &mut self,
        writer: &mut RecordWriter,
        planned: &Planned,
        rendered: Option<&Rendered<'_>>,
        mut unsent: Unsent<'_>,
        sent: &Sent<'_>,
    ) {
        if sent.has_acted {
            unsent.outcome = recorded(unsent.outcome, false, Risk::HasActed);
        }
        let lines = self.record(unsent.outcome, false);
        writer.unsent(lines, planned, rendered, unsent, sent);
    }

    /// Writes the record of an input whose next request is not sent.
    pub fn leave_out(
        &mut self,
        pending: &Pending,
        unsent: Unsent<'_>,
        maker: &Maker,
        writer: &mut RecordWriter,
    ) {
        let rendered = maker.render(&pending.planned.held);
        let (planned, rendered) = (&pending.planned, rendered.as_ref().ok());
        self.unsent(writer, planned, rendered, unsent, &pending.sent());
    }

    /// Counts a record; where its line goes.
    pub fn record(&mut self, outcome: Outcome, ok: bool) -> &mut Vec<u8> {
        self.tally.count(outcome, ok);
        self.lines_since.get_or_insert_with(Instant::now);
        &mut self.lines
    }

    /// Counts the record of a page that another follows; where its line goes.
    pub fn page(&mut self) -> &mut Vec<u8> {
        self.tally.pages += 1;
        self.lines_since.get_or_insert_with(Instant::now);
        &mut self.lines
    }

    /// Whether the limits of a URL's host are this part's.
    pub fn has_host_of(&self, url: &str) -> bool {
        Host::of(url).is_ok_and(|host| self.index.has(host.as_str()))
    }

    /// When the lines are to be written; none if there are none.
    pub fn due(&self) -> Option<Instant> {
        self.lines_since.map(|since| since + self.frame_time)
    }

    /// Whether its lines must be written now, because too much text waits.
    pub fn has_many_lines(&self) -> bool {
        self.lines.len() >= 8 * FRAME
    }

    /// The lines, if it is time to write them; the bodies are on the disk then.
    ///
    /// # Errors
    /// When the bodies cannot be written.
    pub fn take_lines(&mut self, now: Instant, all: bool) -> std::io::Result<Option<Lines>> {
        let is_time = self.lines.len() >= FRAME || self.due().is_some_and(|due| due <= now);
        if self.lines.is_empty() || !(all || is_time) {
            return Ok(None);
        }
        self.sink.sync()?;
        self.lines_since = None;
        let capacity = (self.lines.len() + self.lines.len() / 4).min(2 * FRAME);
        Ok(Some(Lines {
            text: std::mem::replace(&mut self.lines, Vec::with_capacity(capacity)),
            archive: self.sink.archive(),
        }))
    }
}
