//! Small DATA frames that are joined before `h2` reads them. `h2` keeps each frame apart until its reader takes it. Small
//! frames then cost far more memory than their bytes, and `h2` ends a connection on which too many of them wait.
//!
//! If the reader waits for bytes, a small frame passes as it is. Otherwise it stays here and is joined with the next
//! frames of its stream, until there are [`SMALL`] bytes or the reader waits. So at most one small frame of each stream
//! waits in `h2`, and a reader never waits for bytes that stay here.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::frames::{DATA, push_frame};
use super::observed::{ByNumber, Observed};

/// Frames with fewer bytes are small: twice what `h2` counts as small. If a larger frame comes behind a small one, what
/// `h2` credits for the larger is no less than what the small one costs.
pub(super) const SMALL: usize = 512;

/// The bytes of each stream that stay, never none, in frames that have passed the guard's checks.
#[derive(Default)]
pub(super) struct Joined(HashMap<u32, Vec<u8>, BuildHasherDefault<ByNumber>>);

impl Joined {
    pub fn has(&self, stream: u32) -> bool {
        !self.0.is_empty() && self.0.contains_key(&stream)
    }

    /// Adds a small frame; whether the bytes are enough to pass.
    pub fn add(&mut self, stream: u32, payload: &[u8]) -> bool {
        let body = self.0.entry(stream).or_default();
        body.extend_from_slice(payload);
        body.len() >= SMALL
    }

    /// Lets the bytes of a stream pass, as one frame.
    pub fn pass(&mut self, stream: u32, flags: u8, observed: &Observed, out: &mut Vec<u8>) {
        if self.0.is_empty() {
            return;
        }
        if let Some(body) = self.0.remove(&stream) {
            push_frame(out, DATA, flags, stream, &body);
            observed.on(stream, |state| state.reader.gets());
        }
    }

    pub fn pass_all(&mut self, observed: &Observed, out: &mut Vec<u8>) {
        let streams: Vec<u32> = self.0.keys().copied().collect();
        for stream in streams {
            self.pass(stream, 0, observed, out);
        }
    }

    /// Lets pass what readers wait for, and what nobody will read.
    pub fn review(&mut self, observed: &Observed, out: &mut Vec<u8>) {
        if self.0.is_empty() {
            return;
        }
        let due = observed.which_wait(self.0.keys().copied());
        for stream in due {
            self.pass(stream, 0, observed, out);
        }
    }
}
