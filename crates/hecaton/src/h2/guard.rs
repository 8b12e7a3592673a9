//! A filter between a server and `h2`: an error of one stream ends only that stream (RFC 9113 §5.4.2, §8.1.1), and a
//! malformed response is no success. Limits on floods are not here: `link` sets those of `h2`.
//!
//! `h2` ends the connection for some errors of a stream, and ignores others. So the guard follows the bytes, frame by
//! frame, before `h2` reads them. As long as nothing is wrong, each byte passes unchanged, except that small DATA frames
//! of one stream are joined (`joined`) and empty ones left out. When something is wrong, the guard first makes `h2`
//! reset that stream, by a PRIORITY frame that makes the stream depend on itself (RFC 7540 §5.3.1). `h2` then ignores
//! whatever comes on that stream. It still updates flow control and the table of HPACK, which all streams share.

use tokio::io::ReadBuf;

use super::blocks::{fields, push_block};
use super::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_HEAD, FrameHead, GOAWAY, HEADERS,
    LARGEST, PADDED, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, push_frame,
};
use super::hpack::{Decoder, Wrong};
use super::joined::{Joined, SMALL};
use super::observed::Observed;
use super::precedence::Precedence;
use super::response_state::Verdict;

/// The identifier of SETTINGS_ENABLE_PUSH.
const ENABLE_PUSH: u16 = 2;

/// The decision about the first bytes of the input.
enum Step {
    /// This many pass unchanged.
    Pass(usize),
    /// This many are replaced by these.
    Change(usize, Vec<u8>),
    /// None, before more have come.
    Hold,
}

pub(super) struct Guard {
    /// The beginning of something that can only be read as a whole.
    held: Vec<u8>,
    /// How many of these bytes were scanned.
    scanned: usize,
    /// Bytes that pass before anything else, and how many of them have passed.
    ready: Vec<u8>,
    gone: usize,
    /// The remaining bytes of a frame that passes as it comes, and the stream that it ends.
    passing: usize,
    ends: Option<u32>,
    /// Whether the rest of the frame is dropped after all.
    drops: bool,
    joined: Joined,
    decoder: Decoder,
    is_first: bool,
    /// Whether settings wait, which are the beginning of what is held then.
    pub waits: bool,
    /// Whether the input has ended, so that settings need not wait.
    has_ended: bool,
    pub precedence: Precedence,
    /// Whether wider windows of bodies were announced, and `h2` does not use them yet.
    pub widened: bool,
    /// How many acknowledgements `h2` has had before the peer sent them.
    acknowledged: u32,
    /// Nothing is checked any more, because `h2` ends the connection.
    is_over: bool,
    /// The largest block of fields that is checked.
    largest_block: usize,
}

impl Guard {
    /// `largest_block`: how much of a block may be held, beyond what `h2` reads of one.
    pub fn new(largest_block: usize) -> Guard {
        Guard {
            held: Vec::new(),
            scanned: 0,
            ready: Vec::new(),
            gone: 0,
            passing: 0,
            ends: None,
            drops: false,
            joined: Joined::default(),
            decoder: Decoder::default(),
            is_first: true,
            waits: false,
            has_ended: false,
            precedence: Precedence::default(),
            widened: false,
            acknowledged: 0,
            is_over: false,
            largest_block,
        }
    }

    /// Whether the next bytes are the rest of a frame that passes as it comes.
    pub fn is_within_body(&self) -> bool {
        self.passing > 0
    }

    /// Decides again about what waits: small frames, and settings. No frame has passed in part while small frames wait.
    pub fn review(&mut self, observed: &Observed) {
        self.joined.review(observed, &mut self.ready);
        if std::mem::take(&mut self.waits) {
            let held = std::mem::take(&mut self.held);
            self.feed(held, observed);
        }
    }

    /// Copies bytes that must pass before anything else is read; whether there were any.
    pub fn hand_over(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        let rest = &self.ready[self.gone..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.gone += count;
        if self.gone == self.ready.len() {
            self.ready.clear();
            self.gone = 0;
        }
        true
    }

    /// The input has ended: settings that wait are judged, and an unfinished frame passes unchanged.
    pub fn end(&mut self, observed: &Observed) {
        self.has_ended = true;
        self.review(observed);
        self.is_over = true;
        self.joined.pass_all(observed, &mut self.ready);
        self.ready.append(&mut self.held);
    }

    /// Leaves in `buffer` the bytes after `start`, which have just come, as far as they may pass.
    pub fn filter(&mut self, buffer: &mut ReadBuf<'_>, start: usize, observed: &Observed) {
        if !self.held.is_empty() {
            self.held.extend_from_slice(&buffer.filled()[start..]);
            buffer.set_filled(start);
            let held = std::mem::take(&mut self.held);
            self.feed(held, observed);
            self.hand_over(buffer);
            return;
        }
        let mut at = start;
        while at < buffer.filled().len() {
            let bytes = &buffer.filled()[at..];
            match self.step(bytes, observed) {
                Step::Pass(count) if self.ready.is_empty() => at += count,
                step @ (Step::Pass(count) | Step::Change(count, _)) => {
                    match step {
                        Step::Change(_, changed) => self.ready.extend_from_slice(&changed),
                        _ => self.ready.extend_from_slice(&bytes[..count]),
                    }
                    let rest = bytes[count..].to_vec();
                    buffer.set_filled(at);
                    self.feed(rest, observed);
                    self.hand_over(buffer);
                    return;
                }
                Step::Hold => {
                    self.held.extend_from_slice(bytes);
                    buffer.set_filled(at);
                }
            }
        }
        self.hand_over(buffer);
    }

    /// Filters bytes that are in no buffer of `h2`.
    fn feed(&mut self, bytes: Vec<u8>, observed: &Observed) {
        let mut at = 0;
        while at < bytes.len() {
            match self.step(&bytes[at..], observed) {
                Step::Pass(count) => {
                    self.ready.extend_from_slice(&bytes[at..at + count]);
                    at += count;
                }
                Step::Change(count, changed) => {
                    self.ready.extend_from_slice(&changed);
                    at += count;
                }
                Step::Hold => {
                    // Not copied if nothing passed. Otherwise a block that comes byte by byte would cost the square of
                    // its length.
                    self.held = if at == 0 { bytes } else { bytes[at..].to_vec() };
                    return;
                }
            }
        }
    }

    /// The small frames that must come before what is decided are in `ready` afterwards.
    fn step(&mut self, bytes: &[u8], observed: &Observed) -> Step {
        if self.is_over {
            return Step::Pass(bytes.len());
        }
        if self.passing > 0 {
            return self.pass(bytes, observed);
        }
        let Some(head) = FrameHead::read(bytes) else {
            return Step::Hold;
        };
        if self.is_first {
            // A GOAWAY names the unprocessed streams, and the connection ends with it anyway.
            let settings = head.kind == SETTINGS && !head.has(ACK);
            if !settings && head.kind != GOAWAY {
                return self.refuse(bytes, "its first frame is not SETTINGS", observed);
            }
        }
        if head.length > LARGEST {
            return self.give_up(bytes, observed);
        }
        match head.kind {
            DATA => self.use_widened(),
            GOAWAY => self.joined.pass_all(observed, &mut self.ready),
            _ => self.pass_joined(head.stream, observed),
        }
        let step = self.frame(head, bytes, observed);
        // The first frame may come in pieces.
        let is_held = matches!(step, Step::Hold);
        self.is_first &= is_held;
        if !is_held && matches!(head.kind, DATA | HEADERS) && head.has(END_STREAM) {
            observed.ends();
        }
        step
    }

    fn frame(&mut self, head: FrameHead, bytes: &[u8], observed: &Observed) -> Step {
        match head.kind {
            DATA => self.data(head, bytes, observed),
            HEADERS => self.block(head, bytes, observed),
            CONTINUATION | PUSH_PROMISE => self.give_up(bytes, observed),
            // With the first settings the peer has taken nothing back.
            SETTINGS
                if !self.is_first
                    && !self.has_ended
                    && !head.has(ACK)
                    && bytes.len() >= head.whole()
                    && self.precedence.holds(bytes.len(), observed) =>
            {
                self.waits = true;
                Step::Hold
            }
            SETTINGS if head.has(ACK) && head.length == 0 => self.acknowledgement(),
            SETTINGS | GOAWAY | WINDOW_UPDATE | PRIORITY | RST_STREAM => {
                match bytes.get(..head.whole()) {
                    Some(frame) => self.control(head, frame, bytes, observed),
                    None => Step::Hold,
                }
            }
            _ => self.begin(head, bytes, observed),
        }
    }

    /// Lets `h2` use wider windows before the peer acknowledges them. A peer applies settings before it acknowledges
    /// them (RFC 9113 §6.5.3), and may send in between: Varnish does. `h2` would end the connection.
    fn use_widened(&mut self) {
        if std::mem::take(&mut self.widened) {
            push_frame(&mut self.ready, SETTINGS, ACK, 0, &[]);
            self.acknowledged += 1;
        }
    }

    /// The peer acknowledges settings, in their order.
    fn acknowledgement(&mut self) -> Step {
        if self.acknowledged > 0 {
            self.acknowledged -= 1;
            return Step::Change(FRAME_HEAD, Vec::new());
        }
        self.widened = false;
        Step::Pass(FRAME_HEAD)
    }

    /// Lets a frame pass as it comes. Small frames that came before do not wait until all of it has come.
    fn begin(&mut self, head: FrameHead, bytes: &[u8], observed: &Observed) -> Step {
        self.passing = head.whole();
        if self.passing > bytes.len() {
            self.joined.pass_all(observed, &mut self.ready);
        }
        self.pass(bytes, observed)
    }

    fn pass(&mut self, bytes: &[u8], observed: &Observed) -> Step {
        let count = self.passing.min(bytes.len());
        self.passing -= count;
        let drops = self.drops;
        if self.passing == 0 {
            self.drops = false;
            if let Some(stream) = self.ends.take() {
                observed.on(stream, |state| state.end(true));
            }
        }
        match drops {
            true => Step::Change(count, Vec::new()),
            false => Step::Pass(count),
        }
    }

    /// `h2` ends the connection for what comes now.
    fn give_up(&mut self, bytes: &[u8], observed: &Observed) -> Step {
        self.joined.pass_all(observed, &mut self.ready);
        self.is_over = true;
        Step::Pass(bytes.len())
    }

    /// Makes `h2` end the connection, by an invalid value of a setting.
    fn refuse(&mut self, bytes: &[u8], why: Wrong, observed: &Observed) -> Step {
        observed.refuse(why);
        self.joined.pass_all(observed, &mut self.ready);
        self.is_over = true;
        let mut changed = Vec::new();
        push_frame(
            &mut changed,
            SETTINGS,
            0,
            0,
            &[0, ENABLE_PUSH as u8, 0, 0, 0, 2],
        );
        changed.extend_from_slice(bytes);
        Step::Change(bytes.len(), changed)
    }

    fn data(&mut self, head: FrameHead, bytes: &[u8], observed: &Observed) -> Step {
        let padding = match bytes.get(FRAME_HEAD) {
            _ if !head.has(PADDED) => 0,
            // No room for the padding's length: a connection error, as below.
            _ if head.length == 0 => return self.give_up(bytes, observed),
            Some(padding) => 1 + usize::from(*padding),
            None => return Step::Hold,
        };
        // Padding that fills the frame, or more, is a connection error (RFC 9113 §6.1). The END_STREAM of a frame that
        // `h2` refuses ends no body.
        let Some(count) = head.length.checked_sub(padding) else {
            return self.give_up(bytes, observed);
        };
        // The padding of joined frames would not fit into one.
        let is_small = head.length < SMALL && !head.has(PADDED);
        if is_small && bytes.len() < head.whole() {
            return Step::Hold;
        }
        let verdict = observed.weigh(head.stream, |state| state.data(count));
        if is_small && verdict == Verdict::Fine && self.joins(head, bytes, observed) {
            return Step::Change(head.whole(), Vec::new());
        }
        self.pass_joined(head.stream, observed);
        self.ends = head.has(END_STREAM).then_some(head.stream);
        self.drops = verdict == Verdict::Drop;
        match (self.begin(head, bytes, observed), verdict) {
            (Step::Pass(count), Verdict::Reset) => behind_a_reset(head.stream, &bytes[..count]),
            (step, _) => step,
        }
    }

    /// Joins a small frame with those of its stream that wait, if there are any or the frame shall wait itself.
    fn joins(&mut self, head: FrameHead, bytes: &[u8], observed: &Observed) -> bool {
        let ends = head.has(END_STREAM);
        if head.length == 0 && !ends {
            return observed.knows(head.stream);
        }
        let stays = !ends && observed.keeps(head.stream);
        if !stays && !self.joined.has(head.stream) {
            return false;
        }
        let payload = &bytes[FRAME_HEAD..head.whole()];
        if self.joined.add(head.stream, payload) || !stays {
            let (stream, flags) = (head.stream, head.flags & END_STREAM);
            self.joined.pass(stream, flags, observed, &mut self.ready);
            observed.on(stream, |state| state.end(ends));
        }
        true
    }

    fn pass_joined(&mut self, stream: u32, observed: &Observed) {
        self.joined.pass(stream, 0, observed, &mut self.ready);
    }

    fn control(
        &mut self,
        head: FrameHead,
        frame: &[u8],
        bytes: &[u8],
        observed: &Observed,
    ) -> Step {
        let payload = &frame[FRAME_HEAD..];
        let fault = match (head.kind, payload) {
            (SETTINGS, settings) if !head.has(ACK) && enables_push(settings) => {
                let why = "it allows the client to push (SETTINGS_ENABLE_PUSH)";
                return self.refuse(bytes, why, observed);
            }
            (GOAWAY, [a, b, c, d, code @ ..]) => {
                if let Some(code) = code.first_chunk() {
                    let last = u32::from_be_bytes([*a, *b, *c, *d]);
                    observed.goes_away(last, u32::from_be_bytes(*code));
                }
                return Step::Pass(frame.len());
            }
            (RST_STREAM, [_, _, _, _]) => {
                return match observed.server_resets(head.stream) {
                    Verdict::Drop => Step::Change(frame.len(), Vec::new()),
                    _ => Step::Pass(frame.len()),
                };
            }
            (WINDOW_UPDATE, [a, 0, 0, 0]) if a & 0x7f == 0 && head.stream != 0 => {
                "a WINDOW_UPDATE of nothing came on its stream"
            }
            // A client ignores its content.
            (PRIORITY, [_, _, _, _, _]) if head.stream != 0 => {
                return Step::Change(frame.len(), Vec::new());
            }
            (PRIORITY, _) if head.stream != 0 => "a PRIORITY frame of a wrong size came",
            _ => return Step::Pass(frame.len()),
        };
        match observed.weigh(head.stream, |state| state.fault(fault)) {
            Verdict::Reset => Step::Change(frame.len(), reset(head.stream)),
            _ => Step::Change(frame.len(), Vec::new()),
        }
    }

    /// A block of fields, which may be in many frames.
    fn block(&mut self, head: FrameHead, bytes: &[u8], observed: &Observed) -> Step {
        let end = match self.end_of_block(head, bytes) {
            Ok(end) if end <= self.largest_block => end,
            Err(true) if bytes.len() <= self.largest_block => return Step::Hold,
            _ => return self.give_up(bytes, observed),
        };
        self.scanned = 0;
        observed.progresses();
        let frames = &bytes[..end];
        let Some((block, depends_on_itself)) = fields(head, frames) else {
            return self.give_up(bytes, observed);
        };
        let Ok(said) = self.decoder.read(&block) else {
            return self.give_up(bytes, observed);
        };
        let ends = head.has(END_STREAM);
        let verdict = observed.weigh(head.stream, |state| state.head(&said, ends));
        let replaced = match said.wrong {
            Some(_) => self.decoder.harmless(&block),
            None if depends_on_itself || verdict == Verdict::Drop => Some(block.into_owned()),
            None => None,
        };
        match replaced {
            None if verdict == Verdict::Reset => behind_a_reset(head.stream, frames),
            None => Step::Pass(end),
            Some(block) => Step::Change(end, replaced_block(head, verdict, &block)),
        }
    }

    /// Where the frames of a block end; whether more may have to come, if they do not.
    fn end_of_block(&mut self, head: FrameHead, bytes: &[u8]) -> Result<usize, bool> {
        let (mut at, mut is_last) = match self.scanned {
            0 => (head.whole(), head.has(END_HEADERS)),
            scanned => (scanned, false),
        };
        while at <= bytes.len() {
            if is_last {
                return Ok(at);
            }
            self.scanned = at;
            let Some(next) = FrameHead::read(&bytes[at..]) else {
                break;
            };
            if (next.kind, next.stream) != (CONTINUATION, head.stream) || next.length > LARGEST {
                return Err(false);
            }
            at += next.whole();
            is_last = next.has(END_HEADERS);
        }
        Err(true)
    }
}

/// A frame for which `h2` resets this stream, and nothing else.
fn reset(stream: u32) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_HEAD + 5);
    let [a, b, c, d] = stream.to_be_bytes();
    push_frame(&mut frame, PRIORITY, 0, stream, &[a, b, c, d, 0]);
    frame
}

/// The frames of this block in place of the one that came.
fn replaced_block(head: FrameHead, verdict: Verdict, block: &[u8]) -> Vec<u8> {
    let mut changed = match verdict {
        Verdict::Reset => reset(head.stream),
        _ => Vec::new(),
    };
    // To `h2`, fields that do not end a stream which the server has reset are an error of only that stream.
    let flags = match verdict {
        Verdict::Drop => 0,
        _ => head.flags,
    };
    push_block(&mut changed, FrameHead { flags, ..head }, block);
    changed
}

fn behind_a_reset(stream: u32, bytes: &[u8]) -> Step {
    let mut changed = reset(stream);
    changed.extend_from_slice(bytes);
    Step::Change(bytes.len(), changed)
}

/// Whether a server enables pushes, which no server may (RFC 9113 §6.5.2).
fn enables_push(settings: &[u8]) -> bool {
    let mut all = settings.chunks_exact(6);
    all.any(|setting| setting[..2] == ENABLE_PUSH.to_be_bytes() && setting[2..] != [0; 4])
}
