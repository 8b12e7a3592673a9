//! Frames of HTTP/2 as bytes, with names for their types and flags.

/// The bytes that a client sends before its first frame.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const ACK: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
pub(crate) const PADDED: u8 = 8;
pub(crate) const PRIORITY: u8 = 0x20;

/// A frame that came.
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

impl Frame {
    /// The bytes of a frame.
    pub(crate) fn bytes(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len())
            .unwrap_or_default()
            .to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        [&head, payload].concat()
    }

    /// Takes a frame from the bytes that came; none if it has not arrived whole.
    pub(crate) fn take(input: &mut Vec<u8>) -> Option<Frame> {
        let [a, b, c, kind, flags, stream @ ..] = *input.first_chunk::<9>()?;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let payload = input.get(9..9 + length)?.to_vec();
        input.drain(..9 + length);
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
            payload,
        })
    }

    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The piece of a header block in a frame HEADERS.
    pub(crate) fn block(&self) -> Vec<u8> {
        let (padding, trailing) = match self.has(PADDED) {
            true => (1, self.payload.first().copied().unwrap_or_default().into()),
            false => (0, 0),
        };
        let skipped = padding + if self.has(PRIORITY) { 5 } else { 0 };
        let end = self.payload.len().saturating_sub(trailing);
        self.payload.get(skipped..end).unwrap_or_default().to_vec()
    }
}
