//! Whether a request has begun to leave the machine, as far as QUIC tells.

use std::sync::Arc;

use super::link::Link;
use crate::message::attempt::Trace;

/// Notes in the trace whether a byte of the request may have left the machine. `quinn` counts the STREAM frames of all
/// streams together. So another request's may be mistaken for this one's, and `sent` may be true too early. It is never
/// false for a request that left, because the last look at the count comes when the stream cannot send any more.
pub(super) struct SentWatch<'a> {
    pub trace: &'a mut Trace,
    link: Arc<Link>,
    /// The count of STREAM frames before QUIC took the first byte of the request.
    before: u64,
    /// Whether QUIC has taken a byte.
    begun: bool,
}

impl SentWatch<'_> {
    pub fn new<'a>(trace: &'a mut Trace, link: &Arc<Link>) -> SentWatch<'a> {
        SentWatch {
            trace,
            link: link.clone(),
            before: 0,
            begun: false,
        }
    }

    /// The request is about to be written, as far as QUIC takes it.
    pub fn before_a_write(&mut self) {
        if !self.begun {
            self.before = self.link.stream_frames();
        }
    }

    /// QUIC has taken a byte of the request by now, or none.
    pub fn after_a_write(&mut self, begun: bool) {
        self.begun = begun;
        self.note();
    }

    pub fn note(&mut self) {
        if self.begun && !self.trace.attempt().sent {
            self.trace.attempt().sent = self.link.stream_frames() > self.before;
        }
    }
}

impl Drop for SentWatch<'_> {
    /// Another thread may have sent the request between the last look and the reset of its stream.
    fn drop(&mut self) {
        if !self.link.is_inherited() {
            self.note();
        }
    }
}
