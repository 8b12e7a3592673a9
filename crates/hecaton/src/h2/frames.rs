//! The frames of an HTTP/2 connection as they go by, as far as they matter to who sits under `h2`: a reader of bytes, whatever
//! the pieces that they come in.

/// What a client sends first (RFC 9113 §3.4).
pub(super) const PREFACE: usize = 24;
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const PADDED: u8 = 8;
const GOAWAY: u8 = 7;
/// What of a GOAWAY is looked at: its head, the last stream and the code (RFC 9113 §6.8).
const GOAWAY_HEAD: usize = FRAME_HEAD + 8;
/// The greatest number of a stream, which a GOAWAY names that is a warning alone.
pub(super) const NO_STREAM: u32 = 0x7fff_ffff;

/// A frame that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Of this stream; told when its head has been seen.
    Headers(u32),
    /// So many bytes of a stream's body, without padding; told before `End`.
    Data(u32, usize),
    /// The last one of this stream's side (END_STREAM), and whether it is a head; told when it has passed whole.
    End(u32, bool),
    /// Told when it has passed whole: who drops the connection then has let `h2` read it.
    GoAway { last: u32, code: u32 },
}

/// Follows the frames of what is written or read, whatever the pieces.
pub(super) struct Frames {
    /// Bytes to pass over: what comes before the first frame, then what is in one.
    skip: usize,
    head: [u8; GOAWAY_HEAD],
    known: usize,
    /// How much of a frame's begin is wanted.
    wanted: usize,
    /// What is told when the frame that goes on has passed.
    passing: Option<Frame>,
}

impl Frames {
    /// Frames behind so many other bytes.
    pub fn after(skip: usize) -> Frames {
        Frames {
            skip,
            head: [0; GOAWAY_HEAD],
            known: 0,
            wanted: FRAME_HEAD,
            passing: None,
        }
    }

    /// Tells of the frames that begin in these bytes.
    pub fn note(&mut self, mut bytes: &[u8], mut tell: impl FnMut(Frame)) {
        loop {
            let passed = self.skip.min(bytes.len());
            self.skip -= passed;
            bytes = &bytes[passed..];
            if self.skip == 0 {
                self.passing.take().map(&mut tell);
            }
            if bytes.is_empty() {
                return;
            }
            let count = (self.wanted - self.known).min(bytes.len());
            self.head[self.known..self.known + count].copy_from_slice(&bytes[..count]);
            self.known += count;
            bytes = &bytes[count..];
            if self.known == self.wanted {
                if let Some(frame) = self.begun() {
                    tell(frame);
                }
            }
        }
    }

    /// As much of a frame's begin as was wanted is there.
    fn begun(&mut self) -> Option<Frame> {
        let number = |at: usize| {
            let bytes = self.head[at..at + 4].first_chunk();
            u32::from_be_bytes(bytes.copied().unwrap_or_default())
        };
        let length = (number(0) >> 8) as usize;
        let kind = self.head[3];
        let is_goaway = kind == GOAWAY && length >= GOAWAY_HEAD - FRAME_HEAD;
        let is_padded = kind == DATA && self.head[4] & PADDED != 0 && length > 0;
        if (is_goaway || is_padded) && self.wanted == FRAME_HEAD {
            self.wanted = if is_goaway {
                GOAWAY_HEAD
            } else {
                FRAME_HEAD + 1
            };
            return None;
        }
        let stream = number(5) & NO_STREAM;
        self.passing = match kind {
            DATA | HEADERS if self.head[4] & END_STREAM != 0 => {
                Some(Frame::End(stream, kind == HEADERS))
            }
            GOAWAY if is_goaway => Some(Frame::GoAway {
                last: number(9) & NO_STREAM,
                code: number(13),
            }),
            _ => None,
        };
        let padding = usize::from(is_padded) * (1 + usize::from(self.head[FRAME_HEAD]));
        let frame = match kind {
            HEADERS => Some(Frame::Headers(stream)),
            DATA => Some(Frame::Data(stream, length.saturating_sub(padding))),
            _ => None,
        };
        self.skip = length + FRAME_HEAD - self.known;
        self.known = 0;
        self.wanted = FRAME_HEAD;
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u32, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 0];
        frame.extend(stream.to_be_bytes());
        frame.extend(vec![HEADERS; length.into()]);
        frame
    }

    /// What is told of these bytes.
    fn told(frames: &mut Frames, bytes: &[u8]) -> Vec<Frame> {
        let mut told = Vec::new();
        frames.note(bytes, |frame| told.push(frame));
        told
    }

    fn written() -> Vec<u8> {
        let mut bytes = vec![b'P'; PREFACE];
        for (kind, stream, length) in [(4, 0, 6), (HEADERS, 1, 20), (0, 1, 9), (HEADERS, 3, 0)] {
            bytes.extend(frame(kind, stream, length));
        }
        bytes
    }

    #[test]
    fn a_request_has_left_when_the_head_of_its_frame_has() {
        let (first, second) = (PREFACE + 15 + 9, written().len());
        let [one, three] = [1, 3].map(Frame::Headers);
        let data = Frame::Data(1, 9);
        for (sent, expected) in [
            (first - 1, &[][..]),
            (first, &[one]),
            (second - 1, &[one, data]),
            (second, &[one, data, three]),
        ] {
            let mut frames = Frames::after(PREFACE);
            assert_eq!(told(&mut frames, &written()[..sent]), expected, "{sent}");
        }
    }

    #[test]
    fn padding_is_not_counted_as_data() {
        // A byte that says how much padding there is, the data, and the padding.
        for (payload, data) in [
            (&[3, 7, 7, 0, 0, 0][..], 2),
            (&[0, 7], 1),
            (&[9, 7], 0),
            (&[], 0),
        ] {
            let mut bytes = frame(DATA, 1, payload.len() as u8);
            bytes[4] = PADDED;
            bytes.splice(FRAME_HEAD.., payload.iter().copied());
            let expected = [Frame::Data(1, data)];
            assert_eq!(told(&mut Frames::after(0), &bytes), expected, "{payload:?}");
        }
    }

    #[test]
    fn a_goaway_is_told_with_its_last_stream_and_its_code() {
        let mut bytes = frame(HEADERS, 1, 2);
        let at = bytes.len();
        bytes.extend(frame(GOAWAY, 0, 11));
        bytes[at + FRAME_HEAD..at + GOAWAY_HEAD].copy_from_slice(&[0x80, 0, 0, 5, 0, 0, 0, 11]);
        bytes.extend(frame(GOAWAY, 0, 3)); // Too short to be one.
        bytes.extend(frame(HEADERS, 7, 0));
        let goaway = Frame::GoAway { last: 5, code: 11 };
        let expected = [Frame::Headers(1), goaway, Frame::Headers(7)];
        assert_eq!(told(&mut Frames::after(0), &bytes), expected);
        let mut frames = Frames::after(0);
        let singly: Vec<_> = bytes.chunks(1).flat_map(|b| told(&mut frames, b)).collect();
        assert_eq!(singly, expected);
    }

    #[test]
    fn the_end_of_a_stream_and_a_goaway_are_told_when_they_have_passed_whole() {
        let mut bytes = frame(DATA, 3, 5);
        bytes[4] = END_STREAM;
        let data = bytes.len();
        bytes.extend(frame(GOAWAY, 0, 12));
        let mut frames = Frames::after(0);
        assert_eq!(told(&mut frames, &bytes[..data - 1]), [Frame::Data(3, 5)]);
        let end = Frame::End(3, false);
        assert_eq!(told(&mut frames, &bytes[data - 1..data]), [end]);
        assert_eq!(told(&mut frames, &bytes[data..bytes.len() - 1]), []);
        assert_eq!(told(&mut frames, &bytes[bytes.len() - 1..]).len(), 1);
    }

    proptest::proptest! {
        #[test]
        fn every_split_of_the_same_bytes_tells_the_same(cut in 0usize..100, again in 0usize..100) {
            let bytes = written();
            let mut cuts = [cut % bytes.len(), again % bytes.len()];
            cuts.sort_unstable();
            let mut frames = Frames::after(PREFACE);
            let pieces = [&bytes[..cuts[0]], &bytes[cuts[0]..cuts[1]], &bytes[cuts[1]..]];
            let seen: Vec<_> = pieces.iter().flat_map(|piece| told(&mut frames, piece)).collect();
            let expected = [Frame::Headers(1), Frame::Data(1, 9), Frame::Headers(3)];
            proptest::prop_assert_eq!(seen, expected);
        }
    }
}
