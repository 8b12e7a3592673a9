//! A group of hosts of a part: its inputs as they are read, and how many of them wait.

use super::Pending;
use crate::error::Result;
use crate::plan::{Extent, InputFile, Planned};
use crate::run::cursor::Cursor;

/// Inputs of a part that wait in memory, at most about so many.
const MOST_WAITING: usize = 8192;

/// Inputs that each group may have waiting, however many groups there are.
const LEAST_WAITING: usize = 32;

/// A group, and what of it waits.
pub struct Group {
    /// Its inputs.
    cursor: Cursor,
    /// How many wait.
    waiting: usize,
    /// How many bytes they take.
    bytes: usize,
    /// Whether so many wait that no more are read.
    is_full: bool,
}

impl Group {
    /// One with these inputs, by shard.
    pub fn new(shards: Vec<Vec<Extent>>) -> Group {
        Group {
            cursor: Cursor::new(shards),
            waiting: 0,
            bytes: 0,
            is_full: false,
        }
    }

    /// The next input; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next(&mut self, file: &mut InputFile) -> Result<Option<Planned>> {
        self.cursor.next(file)
    }

    /// One more waits.
    pub fn joined(&mut self, pending: &Pending) {
        self.waiting += 1;
        self.bytes += pending.weight();
    }

    /// One waits no more; true if a full group may be read again.
    pub fn left(&mut self, pending: &Pending, groups: usize, room: usize) -> bool {
        self.waiting -= 1;
        self.bytes -= pending.weight();
        let has_room = self.waiting <= most(groups) / 2 && self.bytes <= room / 2;
        has_room && std::mem::take(&mut self.is_full)
    }

    /// Marks the group as full if it may not be read now. It is one of `groups`, each with this capacity.
    pub fn fill(&mut self, groups: usize, room: usize) -> bool {
        self.is_full = self.waiting >= most(groups) || self.bytes >= room;
        self.is_full
    }
}

fn most(groups: usize) -> usize {
    MOST_WAITING / groups.max(1) + LEAST_WAITING
}
