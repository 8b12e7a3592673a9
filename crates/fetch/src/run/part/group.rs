//! The groups of hosts of a part: their inputs as they are read, and how many of them wait.

use std::collections::VecDeque;

use super::pending::Pending;
use crate::error::Result;
use crate::plan::{Extent, InputFile, Planned};
use crate::run::cursor::Cursor;

/// Inputs of a part that wait in memory, at most about so many beside [`LEAST_WAITING`] of each group.
const MOST_WAITING: usize = 8192;

/// Inputs that each group may have waiting beside its share of [`MOST_WAITING`].
const LEAST_WAITING: usize = 32;

/// The groups of a part, side by side.
pub struct Groups {
    all: Vec<Group>,
    /// How many of them are read to their end.
    over: usize,
    /// How many inputs were read.
    pub read: u64,
    /// Groups that may be read on.
    pub open: VecDeque<u16>,
    /// Bytes of inputs that each group may have waiting.
    pub room: usize,
}

/// A group, and what of it waits.
struct Group {
    /// Its inputs.
    cursor: Cursor,
    /// How many wait.
    waiting: usize,
    /// How many bytes they take.
    bytes: usize,
    /// Whether so many wait that no more are read.
    is_full: bool,
}

impl Groups {
    /// Those with these inputs, by group and shard.
    pub fn new(groups: Vec<Vec<Vec<Extent>>>) -> Groups {
        let group = |shards| Group {
            cursor: Cursor::new(shards),
            waiting: 0,
            bytes: 0,
            is_full: false,
        };
        Groups {
            open: (0..groups.len() as u16).collect(),
            all: groups.into_iter().map(group).collect(),
            over: 0,
            read: 0,
            room: usize::MAX,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether all of them are read to their end.
    pub fn are_over(&self) -> bool {
        self.over == self.all.len()
    }

    /// The next input of a group; none at its end, or if so many of it wait that it is full.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next(&mut self, number: u16, file: &mut InputFile) -> Result<Option<Planned>> {
        let (most, room) = (self.most(), self.room);
        let group = &mut self.all[usize::from(number)];
        group.is_full = group.waiting >= most || group.bytes >= room;
        if group.is_full {
            return Ok(None);
        }
        let planned = group.cursor.next(file)?;
        match planned {
            Some(_) => self.read += 1,
            None => self.over += 1,
        }
        Ok(planned)
    }

    /// One more waits.
    pub fn joined(&mut self, pending: &Pending) {
        let group = &mut self.all[usize::from(pending.group)];
        group.waiting += 1;
        group.bytes += pending.weight();
    }

    /// One waits no more. Its group may be read again if it was full and has room now.
    pub fn left(&mut self, pending: &Pending) {
        let (most, room) = (self.most(), self.room);
        let group = &mut self.all[usize::from(pending.group)];
        group.waiting -= 1;
        group.bytes -= pending.weight();
        let has_room = group.waiting <= most / 2 && group.bytes <= room / 2;
        if has_room && std::mem::take(&mut group.is_full) {
            self.open.push_back(pending.group);
        }
    }

    /// How many of each may wait.
    fn most(&self) -> usize {
        MOST_WAITING / self.all.len().max(1) + LEAST_WAITING
    }
}
