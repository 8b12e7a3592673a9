//! The state of one stream of HTTP/2 or HTTP/3, and whether it has a well-formed response (RFC 9113 §8.1).

use std::task::Waker;

use super::hpack::{Block, Wrong};
use super::reader::Reader;
use crate::message::head::MOST_INTERIM;

/// How many empty DATA frames one response may have. They do nothing, and some servers send one now and then; `h2` would
/// end the connection for a hundred of them.
const MOST_EMPTY: u32 = 10_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No final head yet.
    #[default]
    Head,
    Body,
    /// The server has ended its side (END_STREAM).
    Ended,
}

/// The decision about a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verdict {
    #[default]
    Fine,
    /// The stream must be reset for it.
    Reset,
    /// The frame must not pass.
    Drop,
}

/// The state of a stream, tracked before `h2` reads the frames.
#[derive(Debug, Default)]
pub(crate) struct ResponseState {
    /// Whether the request has begun to leave. Frames are checked only if they were observed from the first.
    pub sent: bool,
    is_head: bool,
    phase: Phase,
    interim: usize,
    /// Whether no body may come.
    bodiless: bool,
    /// Bytes of the body.
    body: u64,
    /// How many of its frames were empty.
    empty: u32,
    pub(super) reader: Reader,
    /// Wakes the reader, if it has waited.
    pub waker: Option<Waker>,
    /// Whether fields came after the body.
    trailers: bool,
    wrong: Option<Wrong>,
    /// Whether the stream has been reset for a malformed response.
    reset: bool,
    /// Whether the server has reset the stream. `h2` would end the connection for any later frame of that stream.
    is_gone: bool,
}

impl ResponseState {
    /// The state of a request that is about to be sent; `is_head`: its method is HEAD, so the response has no body.
    pub fn new(is_head: bool) -> ResponseState {
        ResponseState {
            is_head,
            ..ResponseState::default()
        }
    }

    /// The verdict on a frame that is not checked, because the stream was not observed from its first frame or has been
    /// reset. None if the frame must be checked.
    fn beyond(&self) -> Option<Verdict> {
        match self {
            ResponseState { is_gone: true, .. } => Some(Verdict::Drop),
            ResponseState {
                sent: true,
                reset: false,
                ..
            } => None,
            _ => Some(Verdict::Fine),
        }
    }

    /// The server resets the stream. If we have reset the stream already, `h2` must not see the server's reset: it
    /// would no longer ignore the frames that follow.
    pub fn server_resets(&mut self) -> Verdict {
        if self.reset {
            return Verdict::Drop;
        }
        self.is_gone = self.sent;
        Verdict::Fine
    }

    /// A whole block of fields has come.
    pub fn head(&mut self, block: &Block, ends: bool) -> Verdict {
        if let Some(verdict) = self.beyond() {
            return verdict;
        }
        let wrong = match self.phase {
            Phase::Head => self.first_head(block, ends),
            Phase::Body => self.second_head(block, ends),
            Phase::Ended => return self.surplus(),
        };
        match wrong {
            Some(why) => self.fail(why),
            None => {
                self.end(ends);
                Verdict::Fine
            }
        }
    }

    fn first_head(&mut self, block: &Block, ends: bool) -> Option<Wrong> {
        if block.wrong.is_some() {
            return block.wrong;
        }
        let Some(status) = block.status else {
            return Some("it has no :status");
        };
        match status {
            101 => return Some("status 101 has a meaning only in HTTP/1.1"),
            100..200 if ends => return Some("an interim response (1xx) ends the stream"),
            100..200 => {
                self.interim += 1;
                let many = self.interim > MOST_INTERIM;
                return many.then_some("too many interim responses (1xx) came");
            }
            _ => {}
        }
        self.phase = Phase::Body;
        self.bodiless = self.is_head || matches!(status, 204 | 304);
        None
    }

    fn second_head(&mut self, block: &Block, ends: bool) -> Option<Wrong> {
        self.trailers = true;
        match (block.wrong, block.status) {
            (Some(why), _) => Some(why),
            (None, Some(_)) => Some("its trailers contain a :status"),
            _ if !ends => Some("its trailers do not end the stream"),
            _ => None,
        }
    }

    /// A frame of the body has begun to come; `end` is called when it has passed.
    pub fn data(&mut self, count: usize) -> Verdict {
        if let Some(verdict) = self.beyond() {
            return verdict;
        }
        match self.phase {
            Phase::Head => self.fail("its body comes before its head"),
            Phase::Body if self.bodiless && count > 0 => self.fail(
                "it has a body, although responses to HEAD and of status 204 or 304 have none",
            ),
            Phase::Body if count == 0 && self.empty == MOST_EMPTY => {
                self.fail("too many empty DATA frames came")
            }
            Phase::Body => {
                self.empty += u32::from(count == 0);
                self.body += count as u64;
                Verdict::Fine
            }
            Phase::Ended => self.surplus(),
        }
    }

    /// Whether the server has reset the stream.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Records whether the frame that has passed ends the stream.
    pub fn end(&mut self, ends: bool) {
        if ends && self.phase == Phase::Body && !self.is_gone {
            self.phase = Phase::Ended;
        }
    }

    /// Handles an error of this stream.
    pub fn fault(&mut self, why: Wrong) -> Verdict {
        match (self.beyond(), self.phase) {
            (Some(verdict), _) => verdict,
            (None, Phase::Ended) => self.surplus(),
            (None, _) => self.fail(why),
        }
    }

    /// A frame after a whole response is an error of the stream, but the response stays valid.
    fn surplus(&mut self) -> Verdict {
        self.reset = true;
        Verdict::Reset
    }

    fn fail(&mut self, why: Wrong) -> Verdict {
        self.wrong = Some(why);
        self.surplus()
    }

    /// Why the response is malformed.
    pub fn wrong(&self) -> Option<Wrong> {
        self.wrong
    }

    /// Bytes of the body that have come.
    pub fn body(&self) -> u64 {
        self.body
    }

    /// Whether the response has ended, is well-formed, and has no trailers.
    pub fn is_whole(&self) -> bool {
        self.phase == Phase::Ended && !self.trailers && self.wrong.is_none()
    }

    /// Whether an interim response or the head of the final one has come.
    pub fn has_begun(&self) -> bool {
        self.phase != Phase::Head || self.interim > 0
    }

    /// Whether the head of the final response has not come.
    pub fn is_at_head(&self) -> bool {
        self.phase == Phase::Head
    }

    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }
}
