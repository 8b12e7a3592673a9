//! How much of bodies a client holds at once, all requests together; for clients that set a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::message::failure::{Failure, Kind, Phase};
use crate::message::reason::Reason;

/// The bytes held now, and the limit.
pub(crate) struct Buffered {
    most: usize,
    held: AtomicUsize,
}

/// The share of one body, for as long as the body is received; empty without a limit. Small, because each request in
/// flight has one.
#[derive(Default)]
pub(crate) struct Share(Option<Box<Held>>);

struct Held {
    of: Arc<Buffered>,
    bytes: usize,
}

impl Buffered {
    pub fn new(most: usize) -> Arc<Buffered> {
        Arc::new(Buffered {
            most,
            held: AtomicUsize::new(0),
        })
    }

    /// The share of a body that is about to be read.
    pub fn share(of: &Option<Arc<Buffered>>) -> Share {
        let held = |of: &Arc<Buffered>| {
            let of = of.clone();
            Box::new(Held { of, bytes: 0 })
        };
        Share(of.as_ref().map(held))
    }
}

impl Share {
    /// The body and the memory of its decoder hold this many bytes. They never hold less than before. Fails when that is
    /// more than all may hold together.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Failure> {
        let held = self.0.as_mut();
        held.map_or(Ok(()), |held| held.add(bytes.saturating_sub(held.bytes)))
    }
}

impl Held {
    fn add(&mut self, bytes: usize) -> Result<(), Failure> {
        let before = self.of.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        match before.saturating_add(bytes) > self.of.most {
            true => Err(too_much(self.of.most)),
            false => Ok(()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Another try may succeed, once other bodies have ended.
fn too_much(most: usize) -> Failure {
    let detail = format!(
        "the bodies that are being received would hold more than the {most} bytes of max_buffered together: \
         allow more, have fewer requests in flight, or read this body in pieces"
    );
    Failure::new(Kind::Body, Phase::Read, detail).for_reason(Reason::BuffersFull)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bodies_together_hold_no_more_than_is_allowed_and_give_it_back() {
        let all = Buffered::new(10);
        let buffered = Some(all.clone());
        let (mut one, mut other) = (Buffered::share(&buffered), Buffered::share(&buffered));
        assert!(one.grow_to(4).is_ok() && other.grow_to(6).is_ok() && other.grow_to(3).is_ok());
        assert!(other.0.as_ref().unwrap().bytes == 6);
        let failure = one.grow_to(5).unwrap_err();
        assert!(failure.passing && failure.reason == Some(Reason::BuffersFull));
        drop(one);
        assert!(other.grow_to(10).is_ok());
        drop(other);
        assert_eq!(all.held.load(Ordering::Relaxed), 0);
        assert!(Buffered::share(&None).grow_to(usize::MAX).is_ok());
    }
}
