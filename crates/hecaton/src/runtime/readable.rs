//! Waits until a descriptor of the program has something to read, and reads nothing of it.

use std::os::fd::OwnedFd;
use std::task::{Context, Poll};

use tokio::net::unix::pipe::Receiver;

use crate::runtime::descriptors::Duplicate;

/// A pipe, a socket or a terminal of the program. A body is read from it by a thread that must not block on it.
pub struct Readable(State);

enum State {
    New(Option<OwnedFd>),
    /// Tokio wakes the task when the descriptor is readable. Tokio's type for a pipe serves for every kind of
    /// descriptor, because nothing is read through it, and it needs no unsafe code.
    Watched(Duplicate<Receiver>),
    /// A file: the system cannot watch it, and it always has something to read, if only its end.
    Always,
}

impl Readable {
    /// Takes a duplicate of the descriptor, so that the program may close its own meanwhile.
    pub fn new(duplicate: OwnedFd) -> Readable {
        Readable(State::New(Some(duplicate)))
    }

    /// Ready when there is something to read, or the end. Call this only in a thread that waits for a request, because
    /// Tokio's reactor runs there.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let State::New(duplicate) = &mut self.0 {
            let watched = duplicate.take().map(Receiver::from_owned_fd_unchecked);
            self.0 = match watched {
                Some(Ok(watched)) => State::Watched(Duplicate::new(watched)),
                _ => State::Always,
            };
        }
        match &self.0 {
            State::Watched(watched) => watched.poll_read_ready(cx).map(drop),
            _ => Poll::Ready(()),
        }
    }
}
