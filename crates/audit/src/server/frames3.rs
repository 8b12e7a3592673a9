//! Frames of HTTP/3 on the streams of QUIC, with names for their types and for errors.

use quinn::{ReadExactError, RecvStream};

pub(crate) const DATA: u64 = 0;
pub(crate) const HEADERS: u64 = 1;
pub(crate) const PUSH_PROMISE: u64 = 5;
pub(crate) const GOAWAY: u64 = 7;

/// The type of the stream for frames that belong to no request.
pub(crate) const CONTROL: u64 = 0;

pub(crate) const NO_ERROR: u32 = 0x100;
pub(crate) const FRAME_UNEXPECTED: u32 = 0x105;
pub(crate) const EXCESSIVE_LOAD: u32 = 0x107;
pub(crate) const ID_ERROR: u32 = 0x108;
pub(crate) const REQUEST_REJECTED: u32 = 0x10b;
pub(crate) const MESSAGE_ERROR: u32 = 0x10e;
pub(crate) const DECOMPRESSION_FAILED: u32 = 0x200;

/// The start of a control stream: its type, and settings without a value.
pub(crate) const FIRST: [u8; 3] = [0, 4, 0];

/// The bytes of a frame, whose length has four bytes.
pub(crate) fn bytes(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default() | 0x8000_0000;
    [&[kind], &length.to_be_bytes()[..], payload].concat()
}

/// The type and the length of the next frame; none at the end of the stream.
pub(crate) async fn next(stream: &mut RecvStream) -> Result<Option<(u64, u64)>, ReadExactError> {
    let mut first = [0];
    match stream.read(&mut first).await? {
        None => Ok(None),
        Some(_) => {
            let kind = rest_of(stream, first[0]).await?;
            Ok(Some((kind, integer(stream).await?)))
        }
    }
}

/// An integer (RFC 9000 §16).
pub(crate) async fn integer(stream: &mut RecvStream) -> Result<u64, ReadExactError> {
    let mut first = [0];
    stream.read_exact(&mut first).await?;
    rest_of(stream, first[0]).await
}

async fn rest_of(stream: &mut RecvStream, first: u8) -> Result<u64, ReadExactError> {
    let mut rest = vec![0; (1 << (first >> 6)) - 1];
    stream.read_exact(&mut rest).await?;
    let value = u64::from(first & 0x3f);
    Ok(rest
        .iter()
        .fold(value, |value, byte| value << 8 | u64::from(*byte)))
}

/// The payload of a frame.
pub(crate) async fn payload(
    stream: &mut RecvStream,
    length: u64,
) -> Result<Vec<u8>, ReadExactError> {
    let mut payload = vec![0; usize::try_from(length).unwrap_or_default()];
    stream.read_exact(&mut payload).await?;
    Ok(payload)
}
