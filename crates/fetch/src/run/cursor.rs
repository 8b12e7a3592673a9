//! The inputs of one group of hosts of a part, read shard after shard, frame by frame.

use std::collections::VecDeque;

use crate::error::Result;
use crate::plan::{Extent, InputFile, Planned, read_entry};

/// The inputs of one group of hosts.
pub struct Cursor {
    /// By shard.
    shards: VecDeque<VecDeque<Extent>>,
    frame: Vec<u8>,
    at: usize,
}

impl Cursor {
    /// One for the inputs of a group, by shard.
    pub fn new(shards: Vec<Vec<Extent>>) -> Cursor {
        Cursor {
            shards: shards.into_iter().map(VecDeque::from).collect(),
            frame: Vec::new(),
            at: 0,
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
                None => drop(self.shards.pop_front()),
            }
        }
        let mut rest = &self.frame[self.at..];
        let entry = read_entry(&mut rest).ok_or_else(|| file.damaged())?;
        self.at = self.frame.len() - rest.len();
        Ok(Some(entry))
    }
}
