//! The next requests: parts are opened, intents are written, and requests get permits and slots.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use hecaton::Request;

use super::{Driver, Flight, conditional, robots};
use crate::error::Result;
use crate::plan::Content;
use crate::record::Outcome;
use crate::request::Rendered;
use crate::robots::Robots;
use crate::run::hosts::{HostSign, Next};
use crate::run::limits::{Common, PartLimits};
use crate::run::line::Unsent;
use crate::run::part::{OpenPart, Pending, Reading};
use crate::run::reasons::{Seen, unsent};
use crate::run::supply::worker_name;
use crate::segment::{Announced, announce};

/// Resuming a part takes a while, so requests get this long before the next part is opened.
const TURN: Duration = Duration::from_millis(10);

/// A thread that waits for permits of others looks again after so long.
const SOON: Duration = Duration::from_millis(2);

/// Bytes of inputs that wait in memory, at most about so many, those of all threads.
const MOST_HELD: usize = 12 << 20;

/// Requests that are being started, part after part.
#[derive(Default)]
struct Starting {
    /// The part whose turn it is.
    index: usize,
    /// When to look again.
    next: Option<Instant>,
    /// The slots whose intents are written first, by part.
    intents: HashMap<u32, Vec<u32>>,
    /// Whether a part was resumed, which takes a while.
    has_looked_back: bool,
    /// Whether a permit was taken that no request has yet.
    has_permit: bool,
    lacks_permit: bool,
}

impl Starting {
    /// Notes a time at which something may be started.
    fn look_at(&mut self, at: Option<Instant>) {
        self.next = [self.next, at].into_iter().flatten().min();
    }
}

impl Driver<'_> {
    /// Starts what may start. When to look again, if time alone keeps others from starting.
    pub(super) fn start(&mut self) -> Result<Option<Instant>> {
        let now = Instant::now();
        if let Some(pause) = self.shared.bandwidth.pause(now) {
            return Ok(Some(now + pause));
        }
        let mut starting = Starting::default();
        while self.flights.count() < self.max_in_flight {
            starting.has_permit = starting.has_permit || self.permits.take();
            if !starting.has_permit {
                starting.lacks_permit = true;
                break;
            }
            if starting.index == self.open.len() && !self.take_on_next(&mut starting)? {
                break;
            }
            self.start_next(now, &mut starting)?;
        }
        if starting.has_permit {
            self.permits.give();
        }
        if !starting.lacks_permit {
            self.permits.need(false);
        } else if self.permits.needs_more() {
            starting.look_at(Some(now + SOON));
        }
        self.write_intents(starting.intents);
        Ok(starting.next)
    }

    /// Takes on another part once those before it have nothing to start; false if there is none for now.
    fn take_on_next(&mut self, starting: &mut Starting) -> Result<bool> {
        if starting.has_looked_back {
            starting.next = Some(Instant::now() + TURN);
            return Ok(false);
        }
        let open = self.open.len();
        if !self.take_on_another()? {
            return Ok(false);
        }
        let is_resumed = |part: &OpenPart| part.opened.tally.lines() > 0;
        starting.has_looked_back =
            self.open.len() > open && self.open.last().is_some_and(is_resumed);
        Ok(true)
    }

    /// Starts the next request of the part whose turn it is, or passes the turn on.
    fn start_next(&mut self, now: Instant, starting: &mut Starting) -> Result<()> {
        let index = starting.index;
        let Some(part) = self.open.get_mut(index) else {
            return Ok(());
        };
        if part.is_silent {
            starting.index += 1;
            return Ok(());
        }
        let mut reading = Reading {
            file: &mut self.file,
            maker: &self.maker,
            writer: &mut self.records,
            repeats: &self.shared.repeats,
            resend_unknown: self.shared.work.options.resend_unknown,
        };
        match part.next(now, &mut reading)? {
            Next::Start(host, pending) => {
                starting.has_permit = false;
                self.begin(index, host, pending, now, &mut starting.intents);
            }
            Next::Skip(host, pending) => self.skip(index, host, &pending),
            Next::Wait(until) => {
                starting.look_at(until);
                starting.index += 1;
            }
        }
        Ok(())
    }

    /// Writes the intents of requests, by part, which are sent once these are on the disk.
    fn write_intents(&mut self, intents: HashMap<u32, Vec<u32>>) {
        for (part, slots) in intents {
            self.ticket += 1;
            let numbers = slots.iter().filter_map(|slot| self.flights.get(*slot));
            let numbers = numbers
                .map(|flight| flight.pending.planned.number)
                .collect();
            self.writer.intents(part, numbers, self.ticket);
            self.intending.insert(self.ticket, slots);
        }
    }

    /// Records an input whose host was given up. A robots.txt has no record.
    fn skip(&mut self, index: usize, host: u32, pending: &Pending) {
        let part = &mut self.open[index];
        if pending.is_robots {
            return part.skip_robots(host);
        }
        let seen = match part.hosts.is_gated(host) {
            true => Seen::NoRobots,
            false => Seen::GivenUp(part.hosts.last(host).unwrap_or(HostSign::Badly)),
        };
        part.leave_out(pending, unsent(seen), &self.maker, &mut self.records);
    }

    /// Opens a part, or announces that it will be opened, or notes that it is done; false if there is none, or there are
    /// enough.
    pub(super) fn take_on_another(&mut self) -> Result<bool> {
        let now = Instant::now();
        let free = |announced: &mut Announced| announced.may_begin(now);
        if let Some(index) = self.announced.iter_mut().position(free) {
            let announced = self.announced.remove(index);
            self.open_part(announced)?;
            return Ok(true);
        }
        if self.open.len() + self.announced.len() >= self.shared.most_open {
            return Ok(false);
        }
        let Some(number) = self.shared.supply.lock().next() else {
            return Ok(false);
        };
        self.plan.part(number)?;
        match announce(self.folder, number)? {
            Some(announced) => self.announced.push(announced),
            None => self.done_elsewhere(number),
        }
        Ok(true)
    }

    fn open_part(&mut self, announced: Announced) -> Result<()> {
        let number = announced.part;
        let part = self.plan.part(number)?;
        let Some(claim) = announced.begin(self.folder, &worker_name())? else {
            self.done_elsewhere(number);
            return Ok(());
        };
        let shared = self.shared;
        let common = Common {
            healths: part.shard.map(|_| shared.healths.clone()),
            robots_cache: (self.job.pace.robots).then(|| shared.work.options.robots_cache.clone()),
            bandwidths: shared.host_bandwidths.clone(),
        };
        let limits = PartLimits::new(self.job, part.shard, common)?;
        let open = OpenPart::open(self.folder, part, &claim, limits, &self.keeper)?;
        self.found += open.tally.lines();
        self.writer.open(claim, self.folder);
        self.open.push(open);
        self.share_room();
        Ok(())
    }

    fn done_elsewhere(&mut self, number: u32) {
        self.parts_done += 1;
        self.summary.elsewhere.push(number);
        self.shared.supply.lock().left(number);
    }

    /// Divides the memory for waiting inputs among all groups of hosts that are read side by side.
    fn share_room(&mut self) {
        let groups: usize = self.open.iter().map(OpenPart::groups).sum();
        let threads = self.shared.threads;
        for part in &mut self.open {
            part.make_room(MOST_HELD / threads / groups.max(1));
        }
    }

    /// Puts a request into a slot and sends it, after its intent if it needs one.
    pub(super) fn begin(
        &mut self,
        index: usize,
        host: u32,
        mut pending: Pending,
        now: Instant,
        intents: &mut HashMap<u32, Vec<u32>>,
    ) {
        let part = &mut self.open[index];
        pending.attempts += 1;
        let rendered = self.maker.render(&pending.planned.held);
        let onward = pending.onward.as_deref();
        let is_risky = rendered.is_ok_and(|rendered| !self.maker.may_repeat(&rendered, onward));
        let may_repeat = pending.is_robots || !is_risky;
        let needs_intent = !may_repeat && !pending.is_intended;
        pending.is_intended |= needs_intent;
        let (number, attempt) = (part.number, part.attempt);
        part.in_flight += 1;
        let flight = Flight {
            part: number,
            attempt,
            host,
            pending,
            may_repeat,
            sent_at: None,
            begun: now,
        };
        let slot = self.flights.put(flight);
        match needs_intent {
            true => intents.entry(number).or_default().push(slot),
            false => self.send(slot),
        }
    }

    /// Sends what is in a slot, unless its part has gone meanwhile, or is to be left.
    pub(super) fn send(&mut self, slot: u32) {
        let Some(flight) = self.flights.get_mut(slot) else {
            return;
        };
        let may_send = |part: &OpenPart| flight.is_of(part) && part.leaves_at.is_none();
        if !self.open.iter().any(may_send) {
            self.land(slot);
            return;
        }
        let now = Instant::now();
        (flight.sent_at, flight.begun) = (Some(SystemTime::now()), now);
        let Some(flight) = self.flights.get(slot) else {
            return;
        };
        let (is_robots, is_own) = (flight.pending.is_robots, flight.pending.is_own);
        let (request, host) = self.request_and_host(flight);
        self.batch.choose(slot, host, is_own, now);
        match request {
            Ok(request) if is_robots => {
                self.robots.send(&mut self.batch, slot, request);
            }
            Ok(request) if self.bodies.is_on() => {
                if let Err(reason) = self.send_streamed(slot, request) {
                    self.refused(slot, &reason);
                }
            }
            Ok(request) => self.batch.push(slot, request),
            Err(reason) => self.refused(slot, &reason),
        }
    }

    /// The engine's request of a flight, or why there is none, and the settings of its host if that has its own.
    fn request_and_host(
        &self,
        flight: &Flight,
    ) -> (std::result::Result<Request, String>, Option<usize>) {
        match (flight.pending.is_robots, &flight.pending.planned.held) {
            (true, Content::Url(url)) => {
                let request = robots::request(&self.naming, url, self.job.network.timeout);
                (request, self.maker.host_of(url))
            }
            (_, held) => match self.maker.render(held) {
                Ok(rendered) => {
                    let host = self.maker.host_of(flight.url(&rendered));
                    (self.request(flight, &rendered), host)
                }
                Err(why) => (Err(why), None),
            },
        }
    }

    /// The engine's request of a flight, an input's.
    fn request(
        &self,
        flight: &Flight,
        rendered: &Rendered<'_>,
    ) -> std::result::Result<Request, String> {
        let number = flight.pending.planned.number;
        let request = match &flight.pending.onward {
            Some(onward) => self.maker.request_onward(rendered, onward, number)?,
            None => self.maker.request(rendered, number)?,
        };
        let has_earlier = flight.pending.planned.earlier.is_some();
        match has_earlier && !self.kinds(rendered).condition {
            true => conditional::request(request, flight, flight.url(rendered)),
            false => Ok(request),
        }
    }

    /// Records a request that cannot be made. A robots.txt has no record: its host then has no rules.
    pub(super) fn refused(&mut self, slot: u32, reason: &str) {
        let Some((flight, Some(index))) = self.land(slot) else {
            return;
        };
        let part = &mut self.open[index];
        part.hosts.uncount(flight.host);
        if flight.pending.is_robots {
            let rules = Robots::allow_all();
            return part.heed(flight.host, rules, &self.maker, &mut self.records);
        }
        let unsent = Unsent {
            outcome: Outcome::Invalid,
            why: reason,
        };
        let mut pending = flight.pending;
        pending.attempts = pending.attempts.saturating_sub(1);
        part.leave_out(&pending, unsent, &self.maker, &mut self.records);
    }

    /// Frees a slot: what was in it, and where its part is, if that is still worked on.
    pub(super) fn land(&mut self, slot: u32) -> Option<(Flight, Option<usize>)> {
        let flight = self.flights.take(slot)?;
        self.permits.give();
        let index = self.open.iter().position(|part| flight.is_of(part));
        if let Some(index) = index {
            self.open[index].in_flight -= 1;
        }
        Some((flight, index))
    }
}
