//! The inputs of a part, read group by group in turns, frame by frame. Finds the duplicates that the plan does not
//! know.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;

use crate::error::Result;
use crate::plan::{Extent, InputFile, Planned, read_entry};

/// The inputs of one group of hosts.
pub struct Cursor {
    /// By shard; equal requests are in one, if the plan does not know duplicates.
    shards: VecDeque<VecDeque<Extent>>,
    frame: Vec<u8>,
    at: usize,
    seen: HashSet<u128, FixedState>,
}

impl Cursor {
    /// One for the inputs of a group, by shard.
    pub fn new(shards: Vec<Vec<Extent>>) -> Cursor {
        Cursor {
            shards: shards.into_iter().map(VecDeque::from).collect(),
            frame: Vec::new(),
            at: 0,
            seen: HashSet::default(),
        }
    }

    /// The next input; none at the end.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next(&mut self, file: &mut InputFile) -> Result<Option<Planned>> {
        while self.at == self.frame.len() {
            let Some(shard) = self.shards.front_mut() else {
                self.frame = Vec::new();
                return Ok(None);
            };
            match shard.pop_front() {
                Some(extent) => {
                    file.read(extent, &mut self.frame)?;
                    self.at = 0;
                }
                None => {
                    self.shards.pop_front();
                    // In another shard are other requests.
                    self.seen = HashSet::default();
                }
            }
        }
        let mut rest = &self.frame[self.at..];
        let entry = read_entry(&mut rest).ok_or_else(|| file.damaged())?;
        self.at = self.frame.len() - rest.len();
        Ok(Some(entry))
    }

    /// Whether a request with this digest was there before; notes it.
    pub fn is_repeat(&mut self, digest: u128) -> bool {
        !self.seen.insert(digest)
    }
}
