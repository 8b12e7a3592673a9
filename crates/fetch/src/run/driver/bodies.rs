//! Bodies that arrive in pieces: small ones stay in memory, and large ones grow on the disk. They are resumed after a
//! cut if `run/resume.rs` allows it.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use hecaton::{InParts, Outcome, Part, Request, Response};

use super::Driver;
use super::receiving::{Destination, Over, Receiving, Room, State};
use super::taken_over::unless_taken_over;
use crate::error::{Result, at};
use crate::job::{Job, MinSpeed};
use crate::run::batches::Batches;
use crate::run::fate::AttemptEnd;
use crate::run::keep::Keeper;
use crate::run::part::{OpenPart, Pending};
use crate::run::unrequested::Refusal;
use crate::sink::{Partial, Whole};

/// New bytes of a body with which a try is not counted. The body can be resumed, and its end is known.
const PROGRESS: u64 = 1 << 20;

/// Bytes of a body that are digested before others get a turn.
const AT_ONCE: u64 = 8 << 20;

/// The bodies that are being received.
pub(super) struct Bodies {
    is_on: bool,
    /// The most bytes of a body.
    most: u64,
    /// The least speed of a body.
    least: Option<MinSpeed>,
    /// The most bytes of all bodies in memory.
    most_in_memory: usize,
    in_memory: usize,
    open: BTreeMap<u32, Receiving>,
    /// Requests whose body is read from the disk before they are sent.
    preparing: VecDeque<(u32, Request)>,
}

/// The body that a request is for.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// The number of the input.
    number: u64,
    url: &'a str,
    /// Whether it is a GET whose headers leave the choice of range and coding to this module.
    is_plain: bool,
}

/// A body and its response, or what else became of them.
pub(super) enum Came {
    /// An outcome; the body is in the response, or on the disk.
    Outcome(Outcome, Option<Box<Whole>>),
    /// The request is queued again before others of its host, and this try does not count.
    Again(Outcome),
    /// The body is of no use.
    Refused(Response, Refusal),
}

impl Bodies {
    /// The bodies of one of so many threads, which has its share of the memory.
    pub fn new(job: &Job, keeper: &Keeper, threads: usize) -> Bodies {
        Bodies {
            is_on: keeper.streams(),
            most: job.network.max_body.map_or(u64::MAX, |most| most as u64),
            least: job.network.min_speed,
            most_in_memory: job.network.max_buffered / threads,
            in_memory: 0,
            open: BTreeMap::new(),
            preparing: VecDeque::new(),
        }
    }

    /// Whether bodies arrive in pieces.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether a request waits for its body to be read from the disk.
    pub fn is_preparing(&self) -> bool {
        !self.preparing.is_empty()
    }

    /// Sends a request, for the rest of its body if its beginning is there.
    pub fn send(
        &mut self,
        batch: &mut Batches,
        slot: u32,
        request: Request,
        part: &OpenPart,
        target: Target<'_>,
    ) -> std::result::Result<(), String> {
        let Target {
            number,
            url,
            is_plain,
        } = target;
        let partials = part.partials.as_ref().filter(|_| is_plain);
        let partial = partials.and_then(|partials| partials.resume(number, url));
        let request = match &partial {
            None => request,
            Some(partial) => rest_of(request, partial)?,
        };
        let state = State::Waiting(partial);
        let url = url.to_owned();
        let receiving = Receiving {
            url,
            is_plain,
            state,
            end: None,
            least: self.least,
            speed: None,
        };
        let waits = matches!(receiving.state, State::Waiting(Some(_)));
        self.open.insert(slot, receiving);
        match waits {
            true => self.preparing.push_back((slot, request)),
            false => start(batch, slot, request),
        }
        Ok(())
    }

    /// Reads some of the beginning of a body from the disk, for its digest.
    pub fn prepare(&mut self, batch: &mut Batches) -> io::Result<()> {
        let Some((slot, request)) = self.preparing.pop_front() else {
            return Ok(());
        };
        let is_ready = match self
            .open
            .get_mut(&slot)
            .map(|receiving| &mut receiving.state)
        {
            Some(State::Waiting(Some(partial))) => partial.catch_up(AT_ONCE)?,
            _ => true,
        };
        match is_ready {
            true => start(batch, slot, request),
            false => self.preparing.push_front((slot, request)),
        }
        Ok(())
    }

    /// Takes a piece of a response; false if no more of it is needed.
    fn take(
        &mut self,
        slot: u32,
        came: Part,
        now: Instant,
        to: Option<Destination<'_>>,
    ) -> io::Result<bool> {
        let (Some(receiving), Some(to)) = (self.open.get_mut(&slot), to) else {
            self.leave(slot);
            return Ok(false);
        };
        match came {
            Part::Head(response) => receiving.head(response, now),
            Part::Piece(piece) => {
                let before = receiving.in_memory();
                let room = Room {
                    most: self.most,
                    in_memory: self.most_in_memory.saturating_sub(self.in_memory),
                };
                receiving.piece(&piece, now, room, to)?;
                self.in_memory = self.in_memory + receiving.in_memory() - before;
            }
        }
        Ok(!matches!(receiving.state, State::Over(_)))
    }

    /// Receives no more of a body: whoever has its part now may resume it.
    fn leave(&mut self, slot: u32) {
        if let Some(receiving) = self.open.get_mut(&slot) {
            self.in_memory -= receiving.in_memory();
            receiving.state = State::Over(Over::Left);
        }
    }

    /// The part of this request was left: its body stays for whoever has the part now.
    pub fn drop_body(&mut self, slot: u32) {
        if let Some(receiving) = self.open.remove(&slot) {
            self.in_memory -= receiving.in_memory();
        }
    }

    /// The result of receiving the body of a request that has ended; none if the body was left.
    pub fn ended(&mut self, slot: u32, outcome: Outcome, pending: &mut Pending) -> Option<Came> {
        let Some(receiving) = self.open.remove(&slot) else {
            return Some(Came::Outcome(outcome, None));
        };
        self.in_memory -= receiving.in_memory();
        let end = receiving.end;
        Some(match (receiving.state, outcome) {
            (State::Over(Over::Left), _) => return None,
            (State::Over(Over::Useless), outcome) => Came::Again(outcome),
            (State::Over(Over::TooLarge), Ok(response)) => {
                let why = format!("the body has more than the {} bytes of max_body", self.most);
                let (end, kind) = (AttemptEnd::TooLarge, "body");
                Came::Refused(response, Refusal { end, kind, why })
            }
            (State::Over(Over::TooSlow), Ok(response)) => {
                let least = receiving.least.map(|least| least.to_string());
                let least = least.unwrap_or_default();
                let why = format!("the body came more slowly than min_speed, {least}");
                let (end, kind) = (AttemptEnd::TooSlow, "timeout");
                Came::Refused(response, Refusal { end, kind, why })
            }
            (State::InMemory(body, _, _), Ok(response)) => {
                Came::Outcome(Ok(response.with_body(body.into())), None)
            }
            (State::OnDisk(partial), outcome) => on_disk(partial, end, outcome, pending),
            (_, outcome) => Came::Outcome(outcome, None),
        })
    }
}

/// A body on the disk whose response has ended: whole, cut, or failed.
fn on_disk(
    partial: Partial,
    end: Option<(u64, u64)>,
    outcome: Outcome,
    pending: &mut Pending,
) -> Came {
    let length = partial.length();
    let is_whole = end.is_none_or(|(_, total)| length == total);
    match outcome {
        Ok(response) if is_whole => {
            let whole = partial.whole();
            let representation = whole.representation.as_ref().filter(|_| end.is_some());
            let response = match representation {
                // The response is the one that began the body.
                Some(representation) => response.with_head(200, representation.headers.clone()),
                None => response,
            };
            Came::Outcome(Ok(response), Some(Box::new(whole)))
        }
        outcome => {
            let is_progress = length >= pending.furthest.saturating_add(PROGRESS);
            let known = partial.representation.as_ref();
            // A body whose end nobody knows, or that says another each time, may have none.
            let total = end.map(|(_, total)| total);
            let total = total.or_else(|| known?.total);
            let has_end = total.is_some() && pending.total.is_none_or(|had| Some(had) == total);
            pending.total = pending.total.or(total);
            let may_resume = known.is_some() && has_end;
            pending.furthest = pending.furthest.max(length);
            match (is_progress && may_resume, outcome) {
                (true, outcome) => Came::Again(outcome),
                // The server gives a few bytes at a time: the body is requested whole again.
                (false, Ok(response)) => {
                    partial.discard();
                    Came::Again(Ok(response))
                }
                (false, outcome) => Came::Outcome(outcome, None),
            }
        }
    }
}

fn start(batch: &mut Batches, slot: u32, request: Request) {
    batch.push(slot, request);
    batch.in_parts(slot, InParts::HeadAndBody);
}

/// The request for what is missing, if the file is still the same.
fn rest_of(request: Request, partial: &Partial) -> std::result::Result<Request, String> {
    let Some(representation) = &partial.representation else {
        return Ok(request);
    };
    let range = format!("bytes={}-", partial.length());
    let fields = [
        ("Range", range.as_str()),
        ("If-Range", &representation.validator),
        // A range of a coded body would be one of other bytes.
        ("Accept-Encoding", "identity"),
    ];
    let add = |request: Request, (name, value): (&str, &str)| {
        request
            .header(name, value.as_bytes())
            .map_err(|error| error.to_string())
    };
    fields.into_iter().try_fold(request, add)
}

impl Driver<'_> {
    /// Takes the pieces of responses that have come.
    pub(super) fn take_pieces(&mut self) -> Result<()> {
        if !self.bodies.is_on() && self.robots.is_empty() {
            return Ok(());
        }
        let shared = self.shared;
        let (mut taken, mut coming) = (Vec::new(), self.batch.take_pieces());
        // A piece that is not taken stays, and nothing more of its body is read.
        while shared.bandwidth.pause(Instant::now()).is_none()
            && let Some((slot, came)) = coming.next()
        {
            if let Part::Piece(piece) = &came {
                shared.bandwidth.came(piece.len(), Instant::now());
            }
            taken.push((*slot, came));
        }
        drop(coming);
        for (slot, came) in taken {
            let length = match &came {
                Part::Piece(piece) => piece.len(),
                Part::Head(_) => 0,
            };
            match self.take_piece(slot, came)? {
                true => self.hold_back(slot, length),
                false => self.batch.enough(slot),
            }
        }
        let prepared = self.bodies.prepare(&mut self.batch);
        prepared.map_err(at("read bodies below", self.folder.path()))
    }

    /// Counts a piece that came, and has its request read no more until its host's bandwidth allows it.
    fn hold_back(&mut self, slot: u32, length: usize) {
        let Some(flight) = self.flights.get(slot) else {
            return;
        };
        let mut open = self.open.iter().filter(|part| flight.is_of(part));
        let Some(bandwidth) = open.find_map(|part| part.hosts.bandwidth(flight.host)) else {
            return;
        };
        let now = Instant::now();
        bandwidth.came(length, now);
        if bandwidth.pause(now).is_some() {
            self.batch.hold(slot);
            self.held.push((slot, bandwidth.clone()));
        }
    }

    /// Lets requests read on whose host's bandwidth allows it. How long the first of the others waits.
    pub(super) fn release(&mut self, now: Instant) -> Option<Duration> {
        let batch = &mut self.batch;
        self.held.retain(|(slot, bandwidth)| {
            let waits = bandwidth.pause(now).is_some();
            if !waits {
                batch.release(*slot);
            }
            waits
        });
        let held = self.held.iter();
        held.filter_map(|(_, bandwidth)| bandwidth.pause(now)).min()
    }

    /// Takes a piece of a response; false if no more of it is needed.
    fn take_piece(&mut self, slot: u32, came: Part) -> Result<bool> {
        if self.robots.has(slot) {
            return Ok(!self.robots.take_piece(slot, &came));
        }
        let flight = self.flights.get(slot);
        let number = flight.map_or(0, |flight| flight.pending.planned.number);
        let is_of = |part: &&mut OpenPart| flight.is_some_and(|flight| flight.is_of(part));
        let open = self.open.iter_mut().find(is_of);
        let of = open.as_ref().map(|open| (open.number, open.attempt));
        let now = Instant::now();
        let of_host = match (&open, flight) {
            (Some(open), Some(flight)) => open.hosts.bandwidth(flight.host),
            _ => None,
        };
        let of_host = of_host.map(|bandwidth| bandwidth.clock(now));
        let clock = self.shared.bandwidth.clock(now);
        let clock = of_host.map_or(clock, |of_host| of_host.min(clock));
        let keeper = &self.keeper;
        let to = open.map(|part| Destination {
            part,
            number,
            keeper,
        });
        let taken = self.bodies.take(slot, came, clock, to);
        let taken = match of {
            Some((number, attempt)) => unless_taken_over(self.folder, number, attempt, taken)?,
            None => taken.ok(),
        };
        if taken.is_none() {
            // Its bytes on the disk belong to the worker that has the part.
            self.bodies.leave(slot);
        }
        Ok(taken == Some(true))
    }

    /// Sends a request whose body arrives in pieces.
    pub(super) fn send_streamed(
        &mut self,
        slot: u32,
        request: Request,
    ) -> std::result::Result<(), String> {
        let Some(flight) = self.flights.get(slot) else {
            return Ok(());
        };
        let planned = &flight.pending.planned;
        let rendered = self.maker.render(&planned.held)?;
        let onward = flight.pending.onward.as_deref();
        let url = flight.url(&rendered);
        let is_get = rendered.method == "GET" || onward.is_some_and(|onward| onward.is_get);
        let target = Target {
            number: planned.number,
            url,
            is_plain: is_get && !self.kinds(&rendered).part_or_coding,
        };
        let part = self.open.iter().find(|part| flight.is_of(part));
        let Some(part) = part else { return Ok(()) };
        self.bodies
            .send(&mut self.batch, slot, request, part, target)
    }
}
