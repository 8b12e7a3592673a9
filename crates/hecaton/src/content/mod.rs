//! Takes content codings off a body (RFC 9110 §8.4), piece by piece, each piece of bounded size.
//!
//! A decoder takes the bytes that have arrived, and decodes them a step at a time. No step holds or gives more than
//! [`PIECE`], so a body of a few bytes that decodes to gigabytes costs time, which the deadline limits, and no memory.
//!
//! A step gives at most 64 KiB ([`PIECE`]), and a body that decodes to nothing for long yields. Bytes after a coding's
//! end are an error, as after a response, unless the format allows them: members of gzip, frames of zstd. A stream also
//! holds the decoder's window: 32 KiB for gzip and deflate, at most 16 MiB for br, at most 8 MiB for zstd (RFC 9659).
//! The decoder of zstd is the library in C; the others are in Rust (`docs/decisions/zstd-in-c.md`).

pub(crate) mod buffered;
mod codec;
pub(crate) mod growing;

use bytes::{Buf, Bytes};

use crate::message::fields::Fields;
use crate::runtime::spare::Spare;
use codec::Codec;

/// The `Accept-Encoding` of requests that have none.
pub(crate) const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// One step gives at most this many bytes.
const PIECE: usize = 64 << 10;

/// A body may have at most this many codings, because each needs memory. Even two are not needed in practice.
const MOST_LAYERS: usize = 2;

/// Takes the codings of one body off.
pub(crate) struct Decoder {
    /// The coding that was applied last stands first: it takes the bytes that arrive.
    stages: Vec<Stage>,
}

struct Stage {
    codec: Codec,
    input: Bytes,
    output: Vec<u8>,
    state: State,
    /// Whether bytes that follow the end are dropped.
    lenient: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has come, and nothing need come: the response to HEAD has a coding too.
    Unused,
    Going,
    /// There may be more to give without any input.
    Full,
    Ended,
    /// What follows the end is dropped.
    Over,
}

/// The result of one step.
pub(crate) enum Step<'a> {
    /// A piece of the body; an empty one means that the next step may bring more.
    Piece(&'a [u8]),
    /// The decoder needs more input.
    Wanting,
}

/// Why a body cannot be decoded.
pub(crate) type Undecodable = &'static str;

impl Decoder {
    /// A decoder for the content codings in these fields. None when the body has no coding or an unknown one. Then the
    /// body is left as it is, because the fields still describe it. With `lenient`, bytes that follow the end of a coding
    /// are dropped.
    pub fn of(fields: Fields<'_>, lenient: bool) -> Result<Option<Box<Decoder>>, Undecodable> {
        let values = fields
            .all("content-encoding")
            .flat_map(|value| value.split(|byte| *byte == b','));
        let mut stages = Vec::new();
        for name in values {
            let name = std::str::from_utf8(name.trim_ascii()).unwrap_or_default();
            if name.is_empty() || name.eq_ignore_ascii_case("identity") {
                continue;
            }
            let Some(codec) = Codec::named(name) else {
                return Ok(None);
            };
            if stages.len() == MOST_LAYERS {
                return Err("it has more than 2 codings on top of each other");
            }
            stages.push(Stage::new(codec, lenient));
        }
        stages.reverse();
        Ok((!stages.is_empty()).then(|| Box::new(Decoder { stages })))
    }

    /// Gives the decoder bytes that have arrived, when it needs input.
    pub fn feed(&mut self, bytes: Bytes) {
        self.stages[0].input = bytes;
    }

    /// Does some work, at the last stage first, so that little waits between the stages.
    pub fn step(&mut self) -> Result<Step<'_>, Undecodable> {
        let Some(at) = self.stages.iter().rposition(Stage::can_continue) else {
            return Ok(Step::Wanting);
        };
        let given = self.stages[at].run()?;
        if at + 1 == self.stages.len() {
            return Ok(Step::Piece(&self.stages[at].output[..given]));
        }
        self.stages[at + 1].input = Bytes::copy_from_slice(&self.stages[at].output[..given]);
        Ok(Step::Piece(&[]))
    }

    /// How many bytes it holds, windows and all.
    pub fn memory(&self) -> usize {
        let stages = self.stages.iter();
        stages
            .map(|stage| stage.codec.memory() + stage.output.capacity() + stage.input.len())
            .sum()
    }

    /// Whether every coding has come to its end, and nothing follows it.
    pub fn is_done(&self) -> bool {
        let done =
            |stage: &Stage| matches!(stage.state, State::Unused | State::Ended | State::Over);
        self.stages
            .iter()
            .all(|stage| done(stage) && stage.input.is_empty())
    }

    /// The body has ended: fine only if its codings have.
    pub fn end(&self) -> Result<(), Undecodable> {
        if self.is_done() {
            Ok(())
        } else {
            Err("its coding ends too early")
        }
    }
}

thread_local! {
    /// Allocating 64 KiB, and zeroing them, costs more than decoding some kilobytes.
    static SPARE: Spare<Vec<u8>> = const { Spare::new() };
}

impl Drop for Stage {
    fn drop(&mut self) {
        if self.output.is_empty() {
            return;
        }
        Spare::give(&SPARE, std::mem::take(&mut self.output));
    }
}

impl Stage {
    fn new(codec: Codec, lenient: bool) -> Stage {
        Stage {
            codec,
            input: Bytes::new(),
            output: Vec::new(),
            state: State::Unused,
            lenient,
        }
    }

    fn can_continue(&self) -> bool {
        !self.input.is_empty() || self.state == State::Full
    }

    /// One run of the codec; how much it gave.
    fn run(&mut self) -> Result<usize, Undecodable> {
        let ended = self.state == State::Ended;
        if self.state == State::Over || (ended && self.lenient && !self.codec.begins(&self.input)) {
            self.state = State::Over;
            self.input.clear();
            return Ok(0);
        }
        if ended && !self.codec.begin_again() {
            return Err("something follows the end of its coding");
        }
        if self.output.is_empty() {
            self.output = Spare::take(&SPARE).unwrap_or_else(|| vec![0; PIECE]);
        }
        let progress = self.codec.run(&self.input, &mut self.output);
        let progress = progress.ok_or("it is not what its Content-Encoding says")?;
        self.input.advance(progress.taken);
        if progress.taken + progress.given == 0 && !progress.ended && !self.input.is_empty() {
            return Err("its coding has bytes that cannot be decoded");
        }
        self.state = match progress.ended {
            true => State::Ended,
            false if progress.given == PIECE => State::Full,
            false => State::Going,
        };
        Ok(progress.given)
    }
}

#[cfg(test)]
mod tests;
