//! A body that is held whole: its decoded bytes are limited by `max_body`. Its memory grows as the body comes, and is
//! counted against `max_buffered` before it is allocated.

use bytes::Bytes;

use super::buffered::Share;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::reason::Reason;

/// The part of a body that has come.
///
/// Memory that is too small doubles, up to the most that the body may have. `max_buffered` counts allocated memory, not
/// the bytes in it. While bytes are moved to larger memory, they exist twice. That happens to one body of a thread at a
/// time, and is not counted.
pub(crate) struct Growing {
    bytes: Vec<u8>,
    share: Share,
    /// The most bytes that the body may have: `max_body`.
    most: usize,
}

impl Growing {
    /// A body of at most `most` bytes, with memory for the first of them.
    pub fn new(share: Share, most: usize, capacity: usize) -> Growing {
        let bytes = Vec::with_capacity(capacity);
        Growing { bytes, share, most }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a piece of the body, which likely has at most `likely` bytes. `beside`: the memory of its decoder. Fails if
    /// the body becomes too large.
    pub fn add(&mut self, piece: &[u8], likely: usize, beside: usize) -> Result<(), Failure> {
        let (length, capacity) = (self.bytes.len(), self.bytes.capacity());
        if piece.len() > self.most - length {
            return Err(too_large(self.most));
        }
        let memory = grown(capacity, length + piece.len(), likely);
        self.count(memory + beside)?;
        if memory > capacity {
            self.bytes.reserve_exact(memory - length);
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// Counts this many bytes for the body, wherever they are held.
    pub fn count(&mut self, memory: usize) -> Result<(), Failure> {
        self.share.grow_to(memory)
    }

    /// Takes the bytes that have come.
    pub fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.bytes).into()
    }
}

/// The failure of a body that has more than `most` bytes, or says that it will.
pub fn too_large(most: usize) -> Failure {
    let detail = format!("the body is larger than the allowed {most} bytes");
    let failure = Failure::new(Kind::Body, Phase::Read, detail);
    failure.for_reason(Reason::BodyTooLarge).for_good()
}

/// The memory for a body of `needed` bytes that has `capacity` now and never has more than `most` bytes.
pub fn grown(capacity: usize, needed: usize, most: usize) -> usize {
    match needed > capacity {
        true => needed.max(capacity.saturating_mul(2).min(most)),
        false => capacity,
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffered::Buffered;
    use super::*;

    #[test]
    fn a_body_has_at_most_the_allowed_bytes() {
        let mut body = Growing::new(Buffered::share(&None), 5, 0);
        assert!(body.add(b"hello", 5, 0).is_ok());
        let failure = body.add(b"!", 5, 0).unwrap_err();
        assert_eq!(failure.reason, Some(Reason::BodyTooLarge));
        assert!(failure.detail.contains("allowed 5 bytes"));
    }

    #[test]
    fn memory_counts_before_it_is_taken_and_is_never_more_than_the_body() {
        let buffered = Some(Buffered::new(1000));
        let mut body = Growing::new(Buffered::share(&buffered), 900, 0);
        for (added, capacity) in [(300, 300), (1, 600), (299, 600), (1, 900), (299, 900)] {
            assert!(body.add(&vec![b'x'; added], 900, 100).is_ok());
            assert_eq!(body.bytes.capacity(), capacity);
        }
        let mut other = Growing::new(Buffered::share(&buffered), 900, 0);
        assert!(other.add(b"x", 900, 0).is_err() && other.bytes.capacity() == 0);
        assert_eq!(body.take().len(), 900);
        drop((body, other));
        let mut other = Growing::new(Buffered::share(&buffered), 900, 0);
        assert!(other.add(&[b'x'; 900], 900, 100).is_ok());
    }
}
