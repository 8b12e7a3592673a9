//! The frames of HTTP/2: their heads, and those of the written frames, however the bytes are split.

/// Length of the connection preface (RFC 9113 §3.4).
pub(super) const PREFACE: usize = 24;
pub(super) const FRAME_HEAD: usize = 9;
/// The largest frame that may come: the default of SETTINGS_MAX_FRAME_SIZE (RFC 9113 §4.2).
pub(super) const LARGEST: usize = 1 << 14;
/// The highest stream number. A GOAWAY that names it is only a warning.
pub(super) const NO_STREAM: u32 = 0x7fff_ffff;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 1;
pub(super) const ACK: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;
pub(super) const WITH_PRIORITY: u8 = 0x20;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
}

impl FrameHead {
    /// The head that `bytes` begin with, if it is whole.
    pub fn read(bytes: &[u8]) -> Option<FrameHead> {
        let [a, b, c, kind, flags, stream @ ..] = *bytes.first_chunk::<FRAME_HEAD>()?;
        Some(FrameHead {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & NO_STREAM,
        })
    }

    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The length of the whole frame.
    pub fn whole(&self) -> usize {
        FRAME_HEAD + self.length
    }
}

/// Appends a frame; its payload is shorter than 2^24 bytes.
pub(super) fn push_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Follows the frames of what is written.
pub(super) struct Frames {
    /// Bytes to pass over: those before the first frame, later the payload of a frame.
    skip: usize,
    head: [u8; FRAME_HEAD],
    known: usize,
}

impl Frames {
    /// Frames that begin after this many other bytes.
    pub fn after(skip: usize) -> Frames {
        Frames {
            skip,
            head: [0; FRAME_HEAD],
            known: 0,
        }
    }

    /// Reports the head of each frame that has a whole one now.
    pub fn note(&mut self, mut bytes: &[u8], mut report: impl FnMut(FrameHead)) {
        loop {
            let passed = self.skip.min(bytes.len());
            self.skip -= passed;
            bytes = &bytes[passed..];
            if bytes.is_empty() {
                return;
            }
            let count = (FRAME_HEAD - self.known).min(bytes.len());
            self.head[self.known..self.known + count].copy_from_slice(&bytes[..count]);
            self.known += count;
            bytes = &bytes[count..];
            if let (FRAME_HEAD, Some(head)) = (self.known, FrameHead::read(&self.head)) {
                report(head);
                self.skip = head.length;
                self.known = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The streams that are reported for these bytes.
    fn requests(frames: &mut Frames, bytes: &[u8]) -> Vec<u32> {
        let mut streams = Vec::new();
        frames.note(bytes, |head| {
            if head.kind == HEADERS {
                streams.push(head.stream);
            }
        });
        streams
    }

    fn written() -> Vec<u8> {
        let mut bytes = vec![b'P'; PREFACE];
        for (kind, stream, length) in [(4, 0, 6), (HEADERS, 1, 20), (0, 1, 9), (HEADERS, 3, 0)] {
            push_frame(&mut bytes, kind, 0, stream, &vec![HEADERS; length]);
        }
        bytes
    }

    #[test]
    fn a_request_counts_as_sent_once_the_head_of_its_frame_is() {
        let (first, second) = (PREFACE + 15 + 9, written().len());
        for (sent, expected) in [
            (first - 1, &[][..]),
            (first, &[1]),
            (second - 1, &[1]),
            (second, &[1, 3]),
        ] {
            let mut frames = Frames::after(PREFACE);
            assert_eq!(
                requests(&mut frames, &written()[..sent]),
                expected,
                "{sent}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn every_split_of_the_same_bytes_reports_the_same(cut in 0usize..100, again in 0usize..100) {
            let bytes = written();
            let mut cuts = [cut % bytes.len(), again % bytes.len()];
            cuts.sort_unstable();
            let mut frames = Frames::after(PREFACE);
            let pieces = [&bytes[..cuts[0]], &bytes[cuts[0]..cuts[1]], &bytes[cuts[1]..]];
            let seen: Vec<_> = pieces.iter().flat_map(|piece| requests(&mut frames, piece)).collect();
            proptest::prop_assert_eq!(seen, [1, 3]);
        }
    }
}
