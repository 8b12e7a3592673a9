//! The inputs of a part, read group by group in turns, frame by frame; duplicates are told.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::FixedState;

use crate::error::Result;
use crate::plan::{Extent, InputFile, Planned, read_entry};

/// The inputs of one group of hosts.
pub struct Cursor {
    /// By lane; equal requests are in one.
    lanes: VecDeque<VecDeque<Extent>>,
    frame: Vec<u8>,
    at: usize,
    seen: HashSet<u128, FixedState>,
}

impl Cursor {
    /// One for the inputs of a group, by lane.
    pub fn new(lanes: Vec<Vec<Extent>>) -> Cursor {
        Cursor {
            lanes: lanes.into_iter().map(VecDeque::from).collect(),
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
            let Some(lane) = self.lanes.front_mut() else {
                self.frame = Vec::new();
                return Ok(None);
            };
            match lane.pop_front() {
                Some(extent) => {
                    file.read(extent, &mut self.frame)?;
                    self.at = 0;
                }
                None => {
                    self.lanes.pop_front();
                    // In another lane are other requests.
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
