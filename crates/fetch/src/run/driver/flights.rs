//! The requests in flight of a thread, each in its slot.

use std::time::{Instant, SystemTime};

use crate::request::Rendered;
use crate::run::part::{OpenPart, Pending};

/// A request that was started and has not ended.
pub(super) struct Flight {
    pub part: u32,
    /// Which attempt at the part it belongs to: a part may be left, and come again.
    pub attempt: u32,
    pub host: u32,
    pub pending: Pending,
    /// Whether it may be sent again when nobody knows what became of it.
    pub may_repeat: bool,
    /// When it was passed on to be sent, for its record; none before that.
    pub sent_at: Option<SystemTime>,
    /// When it was passed on, for the limits of its host; before that, when it was taken from its queue.
    pub begun: Instant,
}

impl Flight {
    /// The URL of the request: where redirects or pages led, or that of its input.
    pub fn url<'a>(&'a self, rendered: &'a Rendered<'_>) -> &'a str {
        let onward = self.pending.onward.as_deref();
        onward.map_or(&*rendered.url, |onward| &onward.url)
    }

    pub fn is_of(&self, part: &OpenPart) -> bool {
        (self.part, self.attempt) == (part.number, part.attempt)
    }
}

/// The requests in flight.
#[derive(Default)]
pub(super) struct Flights {
    slots: Vec<Option<Flight>>,
    free: Vec<u32>,
}

impl Flights {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Puts one into a free slot, and returns the slot.
    pub fn put(&mut self, flight: Flight) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(flight);
                slot
            }
            None => {
                self.slots.push(Some(flight));
                self.slots.len() as u32 - 1
            }
        }
    }

    /// The one in a slot.
    pub fn get(&self, slot: u32) -> Option<&Flight> {
        self.slots[slot as usize].as_ref()
    }

    /// The one in a slot, to be changed.
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Flight> {
        self.slots[slot as usize].as_mut()
    }

    /// Frees a slot, and returns what was in it.
    pub fn take(&mut self, slot: u32) -> Option<Flight> {
        let flight = self.slots[slot as usize].take()?;
        self.free.push(slot);
        Some(flight)
    }
}
