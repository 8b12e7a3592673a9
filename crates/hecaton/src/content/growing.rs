//! A body that is held whole: its memory grows as the body comes, and is counted against the limit before it is
//! allocated.

use bytes::Bytes;

use super::buffered::Share;
use crate::message::failure::Failure;

/// The part of a body that has come.
///
/// Memory that is too small doubles, up to the most that the body may have. The limit counts allocated memory, not the
/// bytes in it. While bytes are moved to larger memory, they exist twice. That happens to one body of a thread at a
/// time, and is not counted.
pub(crate) struct Growing {
    bytes: Vec<u8>,
    share: Share,
}

impl Growing {
    pub fn new(share: Share) -> Growing {
        let bytes = Vec::new();
        Growing { bytes, share }
    }

    /// A body whose bytes all fit into this memory.
    pub fn with_capacity(share: Share, capacity: usize) -> Growing {
        let bytes = Vec::with_capacity(capacity);
        Growing { bytes, share }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a piece of a body that may have `most` bytes. `beside`: the memory of its decoder.
    pub fn add(&mut self, piece: &[u8], most: usize, beside: usize) -> Result<(), Failure> {
        let (length, capacity) = (self.bytes.len(), self.bytes.capacity());
        let memory = grown(capacity, length + piece.len(), most);
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
    fn memory_counts_before_it_is_taken_and_is_never_more_than_the_body() {
        let buffered = Some(Buffered::new(1000));
        let mut body = Growing::new(Buffered::share(&buffered));
        for (added, capacity) in [(300, 300), (1, 600), (299, 600), (1, 900), (299, 900)] {
            assert!(body.add(&vec![b'x'; added], 900, 100).is_ok());
            assert_eq!(body.bytes.capacity(), capacity);
        }
        let mut other = Growing::new(Buffered::share(&buffered));
        assert!(other.add(b"x", 900, 0).is_err() && other.bytes.capacity() == 0);
        assert_eq!(body.take().len(), 900);
        drop((body, other));
        let mut other = Growing::new(Buffered::share(&buffered));
        assert!(other.add(&[b'x'; 900], 900, 100).is_ok());
    }
}
