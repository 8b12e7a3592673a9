//! The frames of HTTP/3 on one stream, however the bytes are split (RFC 9114 §7).

use bytes::{Buf, Bytes};

pub(super) const DATA: u64 = 0x0;
pub(super) const HEADERS: u64 = 0x1;
const CANCEL_PUSH: u64 = 0x3;
pub(super) const SETTINGS: u64 = 0x4;
const PUSH_PROMISE: u64 = 0x5;
pub(super) const GOAWAY: u64 = 0x7;
const MAX_PUSH_ID: u64 = 0xd;
/// Frames of HTTP/2 that HTTP/3 does not have (§11.2.1).
const OF_HTTP2: [u64; 4] = [0x2, 0x6, 0x8, 0x9];

/// The longest variable-length integer (RFC 9000 §16).
const LONGEST: usize = 8;

/// Frames without a meaning that one stream may have: unknown ones, and empty DATA frames. They do nothing, and some
/// peers send a few.
const MOST_IDLE: u32 = 10_000;

/// Why the peer violates HTTP/3: the code of the connection's end (RFC 9114 §8.1, RFC 9204 §6), and the end of a
/// sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub code: u32,
    pub why: &'static str,
}

impl Violation {
    pub const fn new(code: u32, why: &'static str) -> Violation {
        Violation { code, why }
    }
}

pub(super) const NO_ERROR: u32 = 0x100;
pub(super) const STREAM_CREATION_ERROR: u32 = 0x103;
pub(super) const CLOSED_CRITICAL_STREAM: u32 = 0x104;
pub(super) const FRAME_UNEXPECTED: u32 = 0x105;
pub(super) const FRAME_ERROR: u32 = 0x106;
pub(super) const EXCESSIVE_LOAD: u32 = 0x107;
pub(super) const ID_ERROR: u32 = 0x108;
pub(super) const SETTINGS_ERROR: u32 = 0x109;
pub(super) const MISSING_SETTINGS: u32 = 0x10a;
pub(super) const REQUEST_REJECTED: u32 = 0x10b;
pub(super) const REQUEST_CANCELLED: u32 = 0x10c;
pub(super) const MESSAGE_ERROR: u32 = 0x10e;
pub(super) const VERSION_FALLBACK: u32 = 0x110;
pub(super) const DECOMPRESSION_FAILED: u32 = 0x200;
pub(super) const ENCODER_STREAM_ERROR: u32 = 0x201;

/// The name of an error code, or its number (RFC 9114 §8.1).
pub(super) fn name_of(code: u64) -> String {
    let names = [
        "NO_ERROR",
        "GENERAL_PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "STREAM_CREATION_ERROR",
        "CLOSED_CRITICAL_STREAM",
        "FRAME_UNEXPECTED",
        "FRAME_ERROR",
        "EXCESSIVE_LOAD",
        "ID_ERROR",
        "SETTINGS_ERROR",
        "MISSING_SETTINGS",
        "REQUEST_REJECTED",
        "REQUEST_CANCELLED",
        "REQUEST_INCOMPLETE",
        "MESSAGE_ERROR",
        "CONNECT_ERROR",
        "VERSION_FALLBACK",
    ];
    let index = code.checked_sub(NO_ERROR.into());
    match index.and_then(|index| names.get(usize::try_from(index).ok()?)) {
        Some(name) => format!("H3_{name}"),
        None => format!("code {code:#x}"),
    }
}

/// The kind of a stream, which decides what its frames mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Request,
    Control,
}

/// The next part of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Some bytes of a DATA frame; none at its beginning.
    Data(Bytes),
    /// A whole frame of another kind.
    Frame(u64, Bytes),
    /// A frame that is longer than what is read. Its stream cannot be read any further.
    TooLong(u64),
}

#[derive(Debug)]
enum State {
    /// Between two frames, or in the head of one.
    Head,
    Data(u64),
    Whole {
        kind: u64,
        length: usize,
    },
    Unknown(u64),
}

/// The meaning of one kind of frame on a stream.
enum Meaning {
    Data,
    Whole,
    Unknown,
}

/// Reads the frames of one stream.
#[derive(Debug)]
pub(crate) struct Reader {
    role: Role,
    /// The longest frame that is read whole.
    most: usize,
    state: State,
    /// The unread bytes of a head or of a frame that is read whole.
    pending: Vec<u8>,
    idle: u32,
}

impl Reader {
    pub fn new(role: Role, most: usize) -> Reader {
        Reader {
            role,
            most,
            state: State::Head,
            pending: Vec::new(),
            idle: 0,
        }
    }

    /// Whether the stream may end here.
    pub fn is_between_frames(&self) -> bool {
        matches!(self.state, State::Head) && self.pending.is_empty()
    }

    /// Takes the next part out of `input`; none if there is no whole one.
    pub fn next(&mut self, input: &mut Bytes) -> Result<Option<Part>, Violation> {
        loop {
            match self.state {
                State::Head => {
                    let Some((kind, length)) = self.head(input) else {
                        return Ok(None);
                    };
                    if let Some(part) = self.begin(kind, length)? {
                        return Ok(Some(part));
                    }
                }
                State::Data(0) | State::Unknown(0) => self.state = State::Head,
                _ if input.is_empty() && !self.is_complete() => return Ok(None),
                State::Data(left) => {
                    let piece = input.split_to(fitting(left, input.len()));
                    self.state = State::Data(left - piece.len() as u64);
                    return Ok(Some(Part::Data(piece)));
                }
                State::Unknown(left) => {
                    let count = fitting(left, input.len());
                    input.advance(count);
                    self.state = State::Unknown(left - count as u64);
                }
                State::Whole { kind, length } => {
                    let wanted = length - self.pending.len();
                    let count = wanted.min(input.len());
                    self.pending.extend_from_slice(&input.split_to(count));
                    if self.is_complete() {
                        self.state = State::Head;
                        let frame = Bytes::from(std::mem::take(&mut self.pending));
                        return Ok(Some(Part::Frame(kind, frame)));
                    }
                }
            }
        }
    }

    /// Whether a frame that is read whole is there.
    fn is_complete(&self) -> bool {
        matches!(self.state, State::Whole { length, .. } if length == self.pending.len())
    }

    /// The kind and the length of the next frame.
    fn head(&mut self, input: &mut Bytes) -> Option<(u64, u64)> {
        loop {
            let mut rest = &self.pending[..];
            if let (Some(kind), Some(length)) = (take_integer(&mut rest), take_integer(&mut rest)) {
                self.pending.clear();
                return Some((kind, length));
            }
            if input.is_empty() {
                return None;
            }
            self.pending.push(input.get_u8());
        }
    }

    fn begin(&mut self, kind: u64, length: u64) -> Result<Option<Part>, Violation> {
        match self.meaning(kind)? {
            Meaning::Data => {
                self.state = State::Data(length);
                self.count_idle(length)?;
                return Ok(Some(Part::Data(Bytes::new())));
            }
            Meaning::Unknown => {
                self.state = State::Unknown(length);
                self.count_idle(0)?;
            }
            Meaning::Whole => match usize::try_from(length) {
                Ok(length) if length <= self.most => self.state = State::Whole { kind, length },
                _ => return Ok(Some(Part::TooLong(kind))),
            },
        }
        Ok(None)
    }

    fn count_idle(&mut self, length: u64) -> Result<(), Violation> {
        self.idle += u32::from(length == 0);
        match self.idle > MOST_IDLE {
            true => Err(Violation::new(
                EXCESSIVE_LOAD,
                "too many frames without a meaning came",
            )),
            false => Ok(()),
        }
    }

    fn meaning(&self, kind: u64) -> Result<Meaning, Violation> {
        let unexpected = |why| Err(Violation::new(FRAME_UNEXPECTED, why));
        match (self.role, kind) {
            (_, kind) if OF_HTTP2.contains(&kind) => {
                unexpected("a frame of HTTP/2 came that HTTP/3 does not have")
            }
            (_, PUSH_PROMISE) => Err(Violation::new(
                ID_ERROR,
                "it pushes a response, which was not allowed",
            )),
            (Role::Request, DATA) => Ok(Meaning::Data),
            (Role::Request, HEADERS) => Ok(Meaning::Whole),
            (Role::Request, CANCEL_PUSH | SETTINGS | GOAWAY | MAX_PUSH_ID) => {
                unexpected("a frame of the control stream came on the stream of a request")
            }
            (Role::Control, SETTINGS | GOAWAY) => Ok(Meaning::Whole),
            (Role::Control, DATA | HEADERS | MAX_PUSH_ID) => {
                unexpected("a frame came on the control stream that does not belong there")
            }
            _ => Ok(Meaning::Unknown),
        }
    }
}

fn fitting(left: u64, there: usize) -> usize {
    usize::try_from(left).map_or(there, |left| left.min(there))
}

/// Takes a variable-length integer from the front (RFC 9000 §16); none if it is not whole.
pub(super) fn take_integer(input: &mut &[u8]) -> Option<u64> {
    let first = *input.first()?;
    let length = 1 << (first >> 6);
    let (bytes, rest) = input.split_at_checked(length)?;
    let value = bytes[1..]
        .iter()
        .fold(u64::from(first & 0x3f), |value, byte| {
            value << 8 | u64::from(*byte)
        });
    *input = rest;
    Some(value)
}

/// Appends a variable-length integer, which is less than 2^62.
pub(super) fn push_integer(out: &mut Vec<u8>, value: u64) {
    let length = match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => LONGEST,
    };
    let begin = out.len();
    out.extend_from_slice(&value.to_be_bytes()[LONGEST - length..]);
    out[begin] |= (length.ilog2() as u8) << 6;
}

/// Appends the head of a frame.
pub(super) fn push_head(out: &mut Vec<u8>, kind: u64, length: usize) {
    push_integer(out, kind);
    push_integer(out, length as u64);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Parts = Vec<(u64, Vec<u8>)>;

    /// The parts of these bytes, read in pieces of this size, with DATA joined.
    fn parts(bytes: &[u8], size: usize) -> Result<(Parts, bool), Violation> {
        let mut reader = Reader::new(Role::Request, 100);
        let mut all = Parts::new();
        for piece in bytes.chunks(size) {
            let mut input = Bytes::copy_from_slice(piece);
            while let Some(part) = reader.next(&mut input)? {
                match part {
                    Part::Data(data) => match all.last_mut() {
                        Some((DATA, body)) => body.extend_from_slice(&data),
                        _ => all.push((DATA, data.to_vec())),
                    },
                    Part::Frame(kind, frame) => all.push((kind, frame.to_vec())),
                    Part::TooLong(kind) => {
                        all.push((kind, b"too long".into()));
                        return Ok((all, false));
                    }
                }
            }
            assert!(input.is_empty(), "all is taken");
        }
        Ok((all, reader.is_between_frames()))
    }

    fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_head(&mut out, kind, payload.len());
        out.extend_from_slice(payload);
        out
    }

    #[test]
    fn the_examples_of_the_rfc_for_integers() {
        // RFC 9000 §A.1.
        for (bytes, value) in [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            assert_eq!(take_integer(&mut &bytes[..]), Some(value));
            let mut out = Vec::new();
            push_integer(&mut out, value);
            assert_eq!(out, bytes);
        }
        assert_eq!(take_integer(&mut &[0x40, 0x25][..]), Some(37));
        assert_eq!(take_integer(&mut &[0x40][..]), None);
    }

    #[test]
    fn unknown_frames_are_passed_over_and_frames_of_elsewhere_are_violations() {
        let grease = [frame(0x21, b"abc"), frame(HEADERS, b"h"), frame(0x40, b"")].concat();
        assert_eq!(parts(&grease, 1), Ok((vec![(HEADERS, b"h".into())], true)));
        for kind in [2, 3, 4, 6, 7, 8, 9, 0xd] {
            let code = parts(&frame(kind, b""), 9).unwrap_err().code;
            assert_eq!(code, FRAME_UNEXPECTED, "{kind}");
        }
        assert_eq!(parts(&frame(5, b"x"), 9).unwrap_err().code, ID_ERROR);
    }

    #[test]
    fn a_frame_that_is_too_long_is_known_by_its_head() {
        let long = frame(HEADERS, &[0; 101]);
        let found = vec![(HEADERS, b"too long".to_vec())];
        assert_eq!(parts(&long[..3], 1), Ok((found, false)));
    }

    #[test]
    fn a_flood_of_frames_without_a_meaning_ends() {
        for flood in [frame(0x21, b""), frame(DATA, b"")] {
            let flood = flood.repeat(MOST_IDLE as usize + 1);
            assert_eq!(parts(&flood, 999).unwrap_err().code, EXCESSIVE_LOAD);
        }
    }

    proptest! {
        #[test]
        fn integers_are_read_as_they_were_written(value in 0..1_u64 << 62) {
            let mut out = Vec::new();
            push_integer(&mut out, value);
            let mut rest = &out[..];
            prop_assert_eq!(take_integer(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_split_of_the_bytes_gives_the_same_parts(
            frames in prop::collection::vec((0..3_u64, prop::collection::vec(any::<u8>(), 0..90)), 0..9),
            size in 1..200_usize,
        ) {
            let kinds = [DATA, HEADERS, 0x21];
            let bytes: Vec<u8> = frames.iter().flat_map(|(kind, body)| frame(kinds[*kind as usize], body)).collect();
            prop_assert_eq!(parts(&bytes, size), parts(&bytes, usize::MAX));
            prop_assert!(parts(&bytes, size).unwrap().1);
        }

        #[test]
        fn any_input_ends(bytes: Vec<u8>, size in 1..20_usize) {
            let _ = parts(&bytes, size);
        }
    }
}
