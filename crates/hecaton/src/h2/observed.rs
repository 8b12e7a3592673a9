//! Facts about an HTTP/2 connection, taken from its bytes, for the requests on it.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::task::Waker;

use super::frames::NO_STREAM;
use super::hpack::Wrong;
use super::reader::Reader;
use super::response_state::{ResponseState, Verdict};
use crate::runtime::lock::lock;
use crate::transport::tls::explain::Explanation;

/// The greatest error code that HTTP/2 has (RFC 9113 §7).
const LAST_ERROR: u32 = 13;

/// How many streams may be reset for malformed responses before the connection gets no further requests. `h2` ends it
/// after 1,024.
const MOST_FAULTS: u32 = 256;

/// So many streams are many. Turns for fewer would cost more system calls than they save waiting.
const MANY: usize = 16;

/// How many streams are remembered after their requests have ended. `h2` may still know the last of them.
const MOST_GONE: usize = 1024;

/// Hashes numbers of streams; one lookup a frame. The client chose the numbers in the map, so a server cannot make them
/// collide.
#[derive(Default)]
pub(super) struct ByNumber(u64);

impl Hasher for ByNumber {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32((*byte).into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        // Fibonacci hashing: the map uses the upper bits, too.
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type States = HashMap<u32, ResponseState, BuildHasherDefault<ByNumber>>;

#[derive(Default)]
struct Streams {
    /// The state of each stream whose request has not ended.
    states: States,
    /// Streams that the server had reset when their requests ended, the newest last.
    gone: VecDeque<u32>,
}

impl Streams {
    fn end(&mut self, stream: u32) {
        if !self
            .states
            .remove(&stream)
            .is_some_and(|state| state.is_gone())
        {
            return;
        }
        if self.gone.len() == MOST_GONE {
            self.gone.pop_front();
        }
        self.gone.push_back(stream);
    }
}

#[derive(Default)]
pub(crate) struct Observed {
    /// The highest stream whose request has begun to leave. Streams are opened in order.
    departed: AtomicU32,
    /// The highest stream that `h2` has a request for.
    requested: AtomicU32,
    /// How many turns there were.
    turns: AtomicU32,
    received: AtomicU64,
    /// How many reads this turn has done.
    reads: AtomicU32,
    /// How many responses have ended in this turn.
    ended: AtomicU32,
    /// Whether `h2` is about to announce wider windows of bodies.
    widens: AtomicBool,
    /// Whether the peer has begun to respond, or says that it accepted a request.
    progressed: AtomicBool,
    streams: Mutex<Streams>,
    /// How many streams were reset for malformed responses.
    faults: AtomicU32,
    /// Why the connection is ended because of what the peer sent.
    refused: OnceLock<Wrong>,
    /// The error code of the peer's GOAWAY, 0 as long as there is none.
    goaway_error: AtomicU32,
    /// One more than the last stream that the peer's GOAWAY names; 0 without one.
    goaway_end: AtomicU32,
    /// Why TLS ended the connection, if it did.
    refusal: OnceLock<Explanation>,
}

impl Observed {
    /// Whether the request on this stream has begun to leave the machine.
    pub fn has_left(&self, stream: u32) -> bool {
        self.departed.load(Ordering::Relaxed) >= stream
    }

    /// The highest stream whose request has begun to leave, and none if no other request is to leave.
    pub(super) fn unsent_behind(&self) -> Option<u32> {
        let departed = self.departed.load(Ordering::Relaxed);
        (self.requested.load(Ordering::Relaxed) > departed).then_some(departed)
    }

    /// The number of this turn.
    pub(super) fn turn(&self) -> u32 {
        self.turns.load(Ordering::Relaxed)
    }

    /// How many bytes have come so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Whether the peer has got anything done, as far as is known: fields have come, or its last GOAWAY names a stream.
    pub fn has_progressed(&self) -> bool {
        let end = self.goaway_end.load(Ordering::Relaxed);
        let took_some = end > 1 && end <= NO_STREAM;
        took_some || self.progressed.load(Ordering::Relaxed)
    }

    /// Whether the peer has said that it did nothing for the request on this stream, and will not (RFC 9113 §6.8).
    pub fn leaves_out(&self, stream: u32) -> bool {
        let end = self.goaway_end.load(Ordering::Relaxed);
        end != 0 && stream >= end
    }

    /// The code for which the peer has ended the connection, none without an error.
    pub fn goaway_error(&self) -> Option<u32> {
        let code = self.goaway_error.load(Ordering::Relaxed);
        (code != 0).then_some(code)
    }

    /// Why the connection is ended because of what the peer sent.
    pub fn refused(&self) -> Option<Wrong> {
        self.refused.get().copied()
    }

    /// Whether too many streams were reset for a further request on this connection.
    pub fn is_faulty(&self) -> bool {
        self.faults.load(Ordering::Relaxed) >= MOST_FAULTS
    }

    /// Whether any stream was reset for a malformed response.
    #[cfg(any(fuzzing, test))]
    pub fn has_faults(&self) -> bool {
        self.faults.load(Ordering::Relaxed) > 0
    }

    /// Why TLS ended the connection before the peer sent anything in it: the server may have refused the client.
    pub fn refusal(&self) -> Option<&Explanation> {
        let unknown_command = self.received() == 0;
        self.refusal.get().filter(|_| unknown_command)
    }

    /// Allows the reads of one more turn.
    pub fn begin_turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        self.reads.store(0, Ordering::Relaxed);
        self.ended.store(0, Ordering::Relaxed);
    }

    /// Counts a read of this turn, and returns whether there were too many.
    pub(super) fn reads_too_often(&self, most: u32) -> bool {
        self.reads.fetch_add(1, Ordering::Relaxed) >= most
    }

    /// A response has ended.
    pub(super) fn ends(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether this turn has brought half of many responses. The requests that follow them leave before the other half
    /// is read, so that client and server need not wait for each other.
    pub(super) fn has_half(&self) -> bool {
        let ended = self.ended.load(Ordering::Relaxed) as usize;
        2 * ended >= MANY && 2 * ended >= lock(&self.streams).states.len()
    }

    /// Whether there are many requests that have not ended.
    pub(super) fn has_many(&self) -> bool {
        lock(&self.streams).states.len() >= MANY
    }

    /// A request is sent on this stream; `is_head`: its response has no body.
    pub fn opened(&self, stream: u32, is_head: bool) {
        self.requested.fetch_max(stream, Ordering::Relaxed);
        let state = ResponseState::new(is_head);
        lock(&self.streams).states.insert(stream, state);
    }

    /// The request on this stream has ended.
    pub fn closed(&self, stream: u32) {
        lock(&self.streams).end(stream);
    }

    /// How many bytes of a body came on this stream, if the peer has ended it (END_STREAM) without trailers. Trailers
    /// could be lost, too.
    pub fn whole_body(&self, stream: u32) -> Option<u64> {
        let streams = lock(&self.streams);
        let state = streams.states.get(&stream);
        let state = state.filter(|state| state.is_whole());
        state.map(ResponseState::body)
    }

    /// Why the response on this stream is malformed.
    pub fn wrong(&self, stream: u32) -> Option<Wrong> {
        lock(&self.streams).states.get(&stream)?.wrong()
    }

    /// Whether an interim response or the head of the final one has come on this stream.
    pub fn has_begun(&self, stream: u32) -> bool {
        let streams = lock(&self.streams);
        let state = streams.states.get(&stream);
        state.is_some_and(ResponseState::has_begun)
    }

    /// How many bytes of a body came on this stream, and whether the peer has ended it.
    pub fn body(&self, stream: u32) -> Option<(u64, bool)> {
        let streams = lock(&self.streams);
        let state = streams.states.get(&stream)?;
        Some((state.body(), state.has_ended()))
    }

    /// The reader of this stream waits for bytes; whether some were kept back for it.
    pub fn waits(&self, stream: u32, waker: &Waker) -> bool {
        let mut streams = lock(&self.streams);
        let Some(state) = streams.states.get_mut(&stream) else {
            return false;
        };
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        state.reader.waits()
    }

    /// Wakes the readers that wait for bytes.
    pub fn wake_readers(&self) {
        for state in lock(&self.streams).states.values_mut() {
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }

    /// Whether a small frame stays until its reader waits for it. One of a stream without a request passes at once:
    /// it may end the connection, and no response behind it counts then.
    pub(super) fn keeps(&self, stream: u32) -> bool {
        let mut streams = lock(&self.streams);
        let state = streams.states.get_mut(&stream);
        state.is_some_and(|state| state.reader.keeps())
    }

    /// The streams whose readers wait or have gone.
    pub(super) fn which_wait(&self, all: impl Iterator<Item = u32>) -> Vec<u32> {
        let streams = lock(&self.streams);
        let waits = |stream: &u32| match streams.states.get(stream) {
            Some(state) => state.reader == Reader::Waits,
            None => true,
        };
        all.filter(waits).collect()
    }

    /// Whether the request on this stream has not ended.
    pub(super) fn knows(&self, stream: u32) -> bool {
        lock(&self.streams).states.contains_key(&stream)
    }

    /// Called with the observed bytes: the request on this stream begins to leave.
    pub(super) fn departs(&self, stream: u32) {
        self.departed.fetch_max(stream, Ordering::Relaxed);
        self.on(stream, |state| state.sent = true);
    }

    /// The next settings that leave announce wider windows of bodies.
    pub(super) fn will_widen(&self) {
        self.widens.store(true, Ordering::Relaxed);
    }

    /// Whether the settings that leave announce wider windows of bodies.
    pub(super) fn widens(&self) -> bool {
        self.widens.swap(false, Ordering::Relaxed)
    }

    pub(super) fn receives(&self, count: usize) {
        self.received.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn progresses(&self) {
        self.progressed.store(true, Ordering::Relaxed);
    }

    pub(super) fn goes_away(&self, last: u32, code: u32) {
        // An unknown code has no meaning (RFC 9113 §7).
        let error = if code <= LAST_ERROR { code } else { 0 };
        self.goaway_error.fetch_max(error, Ordering::Relaxed);
        let last = last & NO_STREAM;
        let before = self.goaway_end.load(Ordering::Relaxed);
        let end = match before {
            0 => last + 1,
            before => before.min(last + 1),
        };
        self.goaway_end.store(end, Ordering::Relaxed);
    }

    pub(super) fn refuse(&self, why: Wrong) {
        let _ = self.refused.set(why);
    }

    pub(super) fn refuses_client(&self, why: Explanation) {
        let _ = self.refusal.set(why);
    }

    /// Notes something of a stream.
    pub(super) fn on(&self, stream: u32, note: impl FnOnce(&mut ResponseState)) {
        if let Some(state) = lock(&self.streams).states.get_mut(&stream) {
            note(state);
        }
    }

    /// Notes a frame of a stream, and decides whether it passes.
    pub(super) fn weigh(
        &self,
        stream: u32,
        note: impl FnOnce(&mut ResponseState) -> Verdict,
    ) -> Verdict {
        let Streams { states, gone } = &mut *lock(&self.streams);
        let verdict = match states.get_mut(&stream) {
            Some(state) => note(state),
            None if gone.contains(&stream) => Verdict::Drop,
            None => Verdict::Fine,
        };
        let fault = u32::from(verdict == Verdict::Reset);
        self.faults.fetch_add(fault, Ordering::Relaxed);
        verdict
    }

    /// The server resets a stream. `h2` must not see a reset of a stream whose request has ended: it may still ignore
    /// the frames of that stream, and would end the connection for the next one.
    pub(super) fn server_resets(&self, stream: u32) -> Verdict {
        match lock(&self.streams).states.get_mut(&stream) {
            Some(state) => state.server_resets(),
            None if stream % 2 == 1 && self.has_left(stream) => Verdict::Drop,
            None => Verdict::Fine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request may end between two reads of `h2`, which still knows the stream then.
    #[test]
    fn frames_of_a_stream_that_the_server_has_reset_are_dropped_after_its_request_too() {
        let observed = Observed::default();
        for stream in [1, 3] {
            observed.opened(stream, false);
            observed.departs(stream);
        }
        assert_eq!(observed.server_resets(1), Verdict::Fine);
        observed.closed(1);
        observed.closed(3);
        let weigh = |stream| observed.weigh(stream, |_| panic!("the request has ended"));
        assert_eq!([weigh(1), weigh(3)], [Verdict::Drop, Verdict::Fine]);
    }

    #[test]
    fn a_later_goaway_takes_no_stream_back() {
        let observed = Observed::default();
        for (last, left_out) in [(5, 7), (3, 5), (9, 5)] {
            observed.goes_away(last, 0);
            assert!(observed.leaves_out(left_out) && !observed.leaves_out(3));
        }
    }
}
