//! One body that arrives in pieces: in memory first, on the disk once it is large.

use std::io;
use std::time::Instant;

use bytes::Bytes;
use hecaton::{Response, grown};

use super::speed::Speed;
use crate::job::MinSpeed;
use crate::run::keep::Keeper;
use crate::run::part::OpenPart;
use crate::run::resume::{Beginning, Requested, classify};
use crate::sink::{Partial, Representation};

/// Most bytes of a body that stay in memory. A longer body goes to the disk, and any body
/// does when all together leave no room.
const IN_MEMORY: usize = 1 << 20;

/// A body that arrives.
pub(super) struct Receiving {
    pub url: String,
    pub is_plain: bool,
    pub state: State,
    /// Where the body of this response must end, if it continues another.
    pub end: Option<(u64, u64)>,
    /// The least speed, if there is one.
    pub least: Option<MinSpeed>,
    pub speed: Option<Speed>,
}

/// The bytes that a body may have.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// In all.
    pub most: u64,
    /// In memory, beside those that are there.
    pub in_memory: usize,
}

/// Where a body goes.
pub(super) struct Destination<'a> {
    pub part: &'a mut OpenPart,
    /// The number of the input.
    pub number: u64,
    pub keeper: &'a Keeper,
}

pub(super) enum State {
    /// The head has not come. A part of the body may be there from an earlier response.
    Waiting(Option<Partial>),
    InMemory(Vec<u8>, Option<Representation>, Response),
    OnDisk(Partial),
    /// It was given up.
    Over(Over),
}

#[derive(Clone, Copy)]
pub(super) enum Over {
    /// It does not continue what is there, or exceeds its end.
    Useless,
    TooLarge,
    TooSlow,
    /// Its part is not open here any more, or another worker has it and it could not be written.
    Left,
}

impl Receiving {
    pub fn in_memory(&self) -> usize {
        match &self.state {
            State::InMemory(body, ..) => body.capacity(),
            _ => 0,
        }
    }

    /// Takes the head; `now` is by the clock of the bandwidth.
    pub fn head(&mut self, response: Response, now: Instant) {
        let State::Waiting(partial) = &mut self.state else {
            return;
        };
        let partial = partial.take();
        self.speed = self.least.map(|least| Speed::new(least, now));
        let known = partial
            .as_ref()
            .and_then(|partial| Some((partial.representation.as_ref()?, partial.length())));
        let requested = Requested {
            url: &self.url,
            is_plain: self.is_plain,
        };
        self.state = match (classify(&response, requested, known), partial) {
            (Beginning::Continues { end, total }, Some(partial)) => {
                self.end = Some((end, total));
                State::OnDisk(partial)
            }
            (Beginning::Useless | Beginning::Continues { .. }, partial) => {
                partial.into_iter().for_each(Partial::discard);
                State::Over(Over::Useless)
            }
            (Beginning::Whole(representation), _) => {
                State::InMemory(Vec::new(), representation, response)
            }
            (Beginning::Other, _) => State::InMemory(Vec::new(), None, response),
        };
    }

    /// Takes a piece; `now` is by the clock of the bandwidth.
    pub fn piece(
        &mut self,
        piece: &Bytes,
        now: Instant,
        room: Room,
        to: Destination<'_>,
    ) -> io::Result<()> {
        let length = match &self.state {
            State::InMemory(body, ..) => body.len() as u64,
            State::OnDisk(partial) => partial.length(),
            State::Waiting(_) | State::Over(_) => return Ok(()),
        } + piece.len() as u64;
        if let Some(over) = self.is_over(length, piece.len(), now, room.most) {
            let state = std::mem::replace(&mut self.state, State::Over(over));
            // Otherwise the file stays, to be resumed.
            if let (Over::Useless, State::OnDisk(partial)) = (over, state) {
                partial.discard();
            }
            return Ok(());
        }
        match &mut self.state {
            State::InMemory(body, ..) if has_room(body, piece.len(), room.in_memory) => {
                body.reserve_exact(memory(body, piece.len()) - body.len());
                body.extend_from_slice(piece);
            }
            State::InMemory(body, representation, response) => {
                let before = to.keeper.before(&to.part.sink, to.number, response);
                let Some(partials) = &mut to.part.partials else {
                    return Ok(());
                };
                let mut partial = partials.create(to.number, representation.take(), before)?;
                partial.append(body)?;
                partial.append(piece)?;
                self.state = State::OnDisk(partial);
            }
            State::OnDisk(partial) => partial.append(piece)?,
            State::Waiting(_) | State::Over(_) => {}
        }
        Ok(())
    }

    /// Why a body is given up that would have this length with the new bytes.
    fn is_over(&mut self, length: u64, new: usize, now: Instant, most: u64) -> Option<Over> {
        if length > most {
            return Some(Over::TooLarge);
        }
        let speed = self.speed.as_mut();
        if speed.is_some_and(|speed| !speed.is_enough(new, now)) {
            return Some(Over::TooSlow);
        }
        let is_beyond = self.end.is_some_and(|(end, _)| length > end);
        is_beyond.then_some(Over::Useless)
    }
}

/// Whether `more` bytes of a body may stay in memory, where all bodies may take `room` bytes more.
fn has_room(body: &Vec<u8>, more: usize, room: usize) -> bool {
    let memory = memory(body, more);
    memory <= IN_MEMORY && memory - body.capacity() <= room
}

/// The memory that a body has once `more` bytes are added.
fn memory(body: &Vec<u8>, more: usize) -> usize {
    grown(body.capacity(), body.len() + more, IN_MEMORY)
}
