//! The frames of a block of fields: a HEADERS frame and the CONTINUATION frames after it (RFC 9113 §6.2, §6.10).

use std::borrow::Cow;

use super::frames::{
    CONTINUATION, END_HEADERS, END_STREAM, FRAME_HEAD, FrameHead, HEADERS, LARGEST, PADDED,
    WITH_PRIORITY, push_frame,
};

/// The fields in the frames of a block, and whether the block makes its stream depend on itself. `h2` resets such a
/// stream without reading the fields, so its HPACK table would be out of step. None if the frames are invalid.
pub(super) fn fields(head: FrameHead, frames: &[u8]) -> Option<(Cow<'_, [u8]>, bool)> {
    let mut first = &frames[FRAME_HEAD..head.whole()];
    if head.has(PADDED) {
        let (padding, rest) = first.split_first()?;
        first = rest.get(..rest.len().checked_sub(usize::from(*padding))?)?;
    }
    let mut depends_on_itself = false;
    if head.has(WITH_PRIORITY) {
        let ([a, b, c, d, _], rest) = first.split_first_chunk()?;
        depends_on_itself = u32::from_be_bytes([a & 0x7f, *b, *c, *d]) == head.stream;
        first = rest;
    }
    let mut rest = &frames[head.whole()..];
    if rest.is_empty() {
        return Some((first.into(), depends_on_itself));
    }
    let mut block = first.to_vec();
    while let Some(head) = FrameHead::read(rest) {
        block.extend_from_slice(rest.get(FRAME_HEAD..head.whole())?);
        rest = &rest[head.whole()..];
    }
    Some((block.into(), depends_on_itself))
}

/// Appends the frames of a block instead of the frames that `head` began.
pub(super) fn push_block(out: &mut Vec<u8>, head: FrameHead, block: &[u8]) {
    let (mut rest, mut kind, mut flags) = (block, HEADERS, head.flags & END_STREAM);
    loop {
        let (piece, more) = rest.split_at(rest.len().min(LARGEST));
        let last = if more.is_empty() { END_HEADERS } else { 0 };
        push_frame(out, kind, flags | last, head.stream, piece);
        if more.is_empty() {
            return;
        }
        (rest, kind, flags) = (more, CONTINUATION, 0);
    }
}
