//! How much of bodies a client holds at once, all requests together; for clients that set a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Failure, Kind, Phase};

/// What is held now, and what may be.
pub(crate) struct Buffered {
    most: usize,
    held: AtomicUsize,
}

/// What one body holds of it, for as long as it is kept.
pub(crate) struct Share {
    /// None without a limit.
    of: Option<Arc<Buffered>>,
    bytes: usize,
}

impl Buffered {
    pub fn new(most: usize) -> Arc<Buffered> {
        Arc::new(Buffered {
            most,
            held: AtomicUsize::new(0),
        })
    }

    /// For a body that is about to be read.
    pub fn share(of: &Option<Arc<Buffered>>) -> Share {
        Share {
            of: of.clone(),
            bytes: 0,
        }
    }
}

impl Share {
    /// The body holds so many bytes more. Fails when that is more than all may hold together.
    pub fn add(&mut self, bytes: usize) -> Result<(), Failure> {
        let Some(buffered) = &self.of else {
            return Ok(());
        };
        let before = buffered.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        match before.saturating_add(bytes) > buffered.most {
            true => Err(too_much(buffered.most)),
            false => Ok(()),
        }
    }

    /// The body, and what it takes to decode it, hold so many bytes. They never hold less than before.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Failure> {
        match bytes.checked_sub(self.bytes) {
            None | Some(0) => Ok(()),
            Some(more) => self.add(more),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(buffered) = &self.of {
            buffered.held.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// Passing: there is room again when others have ended.
fn too_much(most: usize) -> Failure {
    let detail = format!(
        "the bodies that are being received would hold more than the {most} bytes of max_buffered together: \
         allow more, have fewer requests in flight, or read this body in pieces"
    );
    Failure::new(Kind::Body, Phase::Read, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bodies_together_hold_no_more_than_is_allowed_and_give_it_back() {
        let buffered = Some(Buffered::new(10));
        let (mut one, mut other) = (Buffered::share(&buffered), Buffered::share(&buffered));
        assert!(one.add(4).is_ok() && other.grow_to(6).is_ok() && other.grow_to(3).is_ok());
        let failure = one.add(1).unwrap_err();
        assert!(failure.passing && failure.detail.contains("max_buffered"));
        drop(one);
        assert!(other.grow_to(10).is_ok());
        drop(other);
        assert_eq!(buffered.unwrap().held.load(Ordering::Relaxed), 0);
        assert!(Buffered::share(&None).add(usize::MAX).is_ok());
    }
}
