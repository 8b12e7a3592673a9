//! Frames: what plans and segments are made of. Each is a zstd frame with a checksum, or one that zstd skips.
//!
//! A file is a sequence of frames, so `zstdcat` reads it whole. Everything but records (intents, heads) is in frames
//! that zstd skips, each with a checksum of its own. A torn file is read up to its last whole frame.

use std::io;

use zstd_safe::{CCtx, CParameter, DCtx, DParameter};

/// The magic number of a frame that zstd skips, as it is on disk.
const SKIPPED: [u8; 4] = 0x184D_2A5Eu32.to_le_bytes();

/// Magic number and length of such a frame.
const HEAD: usize = 8;

/// Most bytes that one frame holds, decompressed: more is no frame of ours.
pub const LARGEST: usize = 1 << 30;

/// Makes frames.
pub struct Packer {
    context: CCtx<'static>,
}

impl Packer {
    /// One that compresses at this level of zstd.
    pub fn new(level: i32) -> Packer {
        let mut context = CCtx::create();
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ChecksumFlag(true),
        ] {
            // Fails for values out of range alone.
            let _ = context.set_parameter(parameter);
        }
        Packer { context }
    }

    /// Appends `content` as one frame.
    ///
    /// # Errors
    /// When zstd has no memory.
    pub fn pack(&mut self, content: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        out.reserve(zstd_safe::compress_bound(content.len()));
        let before = out.len() as u64;
        let mut end = io::Cursor::new(out);
        end.set_position(before);
        let written = self.context.compress2(&mut end, content);
        written.map(drop).map_err(zstd_error)
    }
}

/// Appends `content` as a frame that zstd skips.
pub fn pack_aside(content: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(content.len() + 4).expect("what is put aside is small");
    out.extend_from_slice(&SKIPPED);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
    out.extend_from_slice(content);
}

/// A whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Lines; still to be decompressed.
    Lines(&'a [u8]),
    /// Data that zstd skips; its checksum is verified.
    Aside(&'a [u8]),
}

impl Frame<'_> {
    /// Its length on disk.
    pub fn bytes(&self) -> usize {
        match self {
            Frame::Lines(frame) => frame.len(),
            Frame::Aside(content) => HEAD + 4 + content.len(),
        }
    }
}

/// The frame at the beginning of `bytes`; none if there is no whole one. The checksum of lines is verified by
/// [`Unpacker`].
pub fn first(bytes: &[u8]) -> Option<Frame<'_>> {
    if bytes.starts_with(&SKIPPED) {
        let length = u32::from_le_bytes(bytes.get(4..HEAD)?.try_into().ok()?) as usize;
        let inside = bytes.get(HEAD..HEAD.checked_add(length)?)?;
        let (sum, content) = inside.split_at_checked(4)?;
        let holds = crc32fast::hash(content).to_le_bytes() == sum;
        return holds.then_some(Frame::Aside(content));
    }
    let length = zstd_safe::find_frame_compressed_size(bytes).ok()?;
    (length > 0).then_some(Frame::Lines(bytes.get(..length)?))
}

/// The lines of a frame, each with its end.
pub fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    let ends = memchr::memchr_iter(b'\n', content).map(|end| end + 1);
    let rest = (!content.ends_with(b"\n")).then_some(content.len());
    ends.chain(rest).filter_map(move |end| {
        let line = &content[std::mem::replace(&mut from, end)..end];
        (!line.is_empty()).then_some(line)
    })
}

/// Opens frames.
pub struct Unpacker {
    context: DCtx<'static>,
}

impl Default for Unpacker {
    fn default() -> Unpacker {
        let mut context = DCtx::create();
        // More is refused before memory is taken.
        let _ = context.set_parameter(DParameter::WindowLogMax(27));
        Unpacker { context }
    }
}

impl Unpacker {
    /// Decompresses a frame of lines into `out`, and replaces its content.
    ///
    /// # Errors
    /// When its checksum does not hold, or it is none.
    pub fn unpack(&mut self, frame: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let bad = || io::Error::new(io::ErrorKind::InvalidData, "a frame is damaged");
        let length = zstd_safe::get_frame_content_size(frame).map_err(|_| bad())?;
        let length = usize::try_from(length.ok_or_else(bad)?).map_err(|_| bad())?;
        if length > LARGEST {
            return Err(bad());
        }
        out.clear();
        out.reserve(length);
        match self.context.decompress(out, frame) {
            Ok(written) if written == length => Ok(()),
            _ => Err(bad()),
        }
    }
}

fn zstd_error(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_with_their_ends() {
        let found = |content: &'static [u8]| lines(content).collect::<Vec<_>>();
        assert_eq!(found(b""), [b""; 0]);
        assert_eq!(found(b"a\nbc\n"), [&b"a\n"[..], b"bc\n"]);
        assert_eq!(found(b"a\nbc"), [&b"a\n"[..], b"bc"]);
    }

    #[test]
    fn frames_are_found_again_and_a_flipped_bit_is_seen() {
        let mut bytes = Vec::new();
        pack_aside(b"head", &mut bytes);
        let aside = bytes.len();
        Packer::new(1)
            .pack(b"a line\nand another\n", &mut bytes)
            .unwrap();
        assert_eq!(first(&bytes), Some(Frame::Aside(b"head")));
        assert_eq!(first(&bytes).unwrap().bytes(), aside);
        let mut out = Vec::new();
        let Some(Frame::Lines(frame)) = first(&bytes[aside..]) else {
            panic!("lines come second")
        };
        Unpacker::default().unpack(frame, &mut out).unwrap();
        assert_eq!(out, b"a line\nand another\n");
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            let is_whole = |from: usize| match first(&flipped[from..]) {
                None => false,
                Some(Frame::Aside(content)) => content == b"head",
                Some(Frame::Lines(frame)) => {
                    let mut out = Vec::new();
                    let is_good = Unpacker::default().unpack(frame, &mut out).is_ok();
                    // A bit that nothing is made of may change.
                    is_good && out != b"a line\nand another\n"
                }
            };
            let is_aside = at < aside;
            let is_wrong = if is_aside {
                is_whole(0)
            } else {
                is_whole(aside)
            };
            assert!(!is_wrong, "the bit at {at} went unseen");
        }
    }
}
