//! Reads segments up to their last whole frame: what a crash tore off behind it never counts.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::entry::Counted;
use crate::error::{Error, Result, at};
use crate::frame::{Frame, Unpacker, first};
use crate::plan::Folder;
use crate::record::Outcome;

/// No frame of ours is longer, on disk or unpacked: one record and 256 KiB.
const LONGEST: usize = 256 << 20;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// The content of a whole frame of a segment.
pub enum Piece<'a> {
    /// Lines of the results.
    Lines(&'a [u8]),
    /// Data that zstd skips: a head, or intents.
    Aside(&'a [u8]),
}

/// Visits the whole frames at the beginning of a file, of its first `most` bytes at most; how many bytes those frames
/// are.
///
/// # Errors
/// When the file cannot be read, or the visitor fails.
pub fn scan(
    path: &Path,
    most: u64,
    visit: &mut dyn FnMut(Piece<'_>, &[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    scan_from(path, 0, most, visit)
}

/// Scans from a byte where a frame begins up to another. Returns where the last whole frame ends.
///
/// # Errors
/// As [`scan`].
pub fn scan_from(
    path: &Path,
    start: u64,
    end: u64,
    visit: &mut dyn FnMut(Piece<'_>, &[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    scan_open(File::open(path)?, start, end, visit)
}

/// Scans a file that is open, as [`scan_from`] does.
///
/// # Errors
/// As [`scan`].
pub(super) fn scan_open(
    mut file: File,
    start: u64,
    end: u64,
    visit: &mut dyn FnMut(Piece<'_>, &[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    file.seek(SeekFrom::Start(start))?;
    let mut file = file.take(end.saturating_sub(start));
    let (mut held, mut unpacked) = (Vec::new(), Vec::new());
    let mut unpacker = Unpacker::default();
    let (mut from, mut valid, mut needed) = (0, start, CHUNK);
    loop {
        while let Some(frame) = first(&held[from..]) {
            let bytes = frame.bytes();
            let whole = &held[from..from + bytes];
            match frame {
                Frame::Aside(content) => visit(Piece::Aside(content), whole)?,
                Frame::Lines(packed) => match unpacker.unpack(packed, &mut unpacked) {
                    Ok(()) => visit(Piece::Lines(&unpacked), whole)?,
                    Err(_) => return Ok(valid),
                },
            }
            from += bytes;
            valid += bytes as u64;
            needed = CHUNK;
        }
        held.drain(..from);
        from = 0;
        if held.len() > LONGEST || (&mut file).take(needed as u64).read_to_end(&mut held)? == 0 {
            return Ok(valid);
        }
        // A frame that is longer than what was read: twice as much, lest it be looked at again and again.
        needed = held.len().max(CHUNK);
    }
}

/// Visits what counts of a part's segments, in order.
///
/// # Errors
/// When a file cannot be read, or has less than what counts.
pub fn visit(
    folder: &Folder,
    part: u32,
    counts: &[Counted],
    visitor: &mut dyn FnMut(Piece<'_>, &[u8]) -> io::Result<()>,
) -> Result<()> {
    for counted in counts {
        let path = folder.attempt(part, counted.attempt);
        let valid = scan(&path, counted.bytes, visitor).map_err(at("read", &path))?;
        if valid < counted.bytes {
            return Err(Error::failed(format!(
                "{} is damaged at byte {valid}, where it was whole before: {} bytes of it count",
                path.display(),
                counted.bytes
            )));
        }
    }
    Ok(())
}

/// The beginning of a record: the number of its input, the outcome, and whether it is a good response.
pub fn head_of(line: &[u8]) -> Option<(u64, Outcome, bool)> {
    let (number, outcome, ok, _) = head_and_rest(line)?;
    Some((number, outcome, ok))
}

/// Whether a record is of a page that another follows: then it is not the record that completes its input.
pub fn is_followed(line: &[u8]) -> bool {
    let head = head_and_rest(line);
    head.is_some_and(|(_, _, ok, rest)| ok && rest.starts_with(b"true,\"more\":true"))
}

/// The beginning of a record, and the rest of its line from the value of `ok` on.
fn head_and_rest(line: &[u8]) -> Option<(u64, Outcome, bool, &[u8])> {
    let rest = line.strip_prefix(b"{\"n\":")?;
    let end = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    let number = rest[..end].iter().try_fold(0, add).filter(|_| end > 0)?;
    let rest = rest[end..].strip_prefix(b",\"outcome\":\"")?;
    let is_named = |outcome: &Outcome| rest.starts_with(outcome.name().as_bytes());
    let outcome = Outcome::ALL.into_iter().find(is_named)?;
    let rest = rest[outcome.name().len()..].strip_prefix(b"\",\"ok\":")?;
    Some((number, outcome, rest.first() == Some(&b't'), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Packer, pack_aside};

    #[test]
    fn a_segment_cut_at_every_byte_is_read_up_to_its_last_whole_frame() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment");
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        let mut packer = Packer::new(1);
        pack_aside(b"{\"head\":1}", &mut bytes);
        ends.push(bytes.len());
        for n in 0..20u64 {
            let lines = format!("{{\"n\":{n},\"x\":\"{}\"}}\n", n * 7919).repeat(1 + n as usize);
            packer.pack(lines.as_bytes(), &mut bytes).unwrap();
            ends.push(bytes.len());
        }
        for cut in 0..=bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let mut frames = 0;
            let valid = scan(&path, u64::MAX, &mut |_, _| {
                frames += 1;
                Ok(())
            });
            let whole = ends.iter().rposition(|end| *end <= cut).unwrap();
            assert_eq!(valid.unwrap(), ends[whole] as u64, "cut at {cut}");
            assert_eq!(frames, whole, "cut at {cut}");
        }
        // After a power cut, a file system may keep the length of a file and lose its bytes.
        let whole = ends[10];
        let torn = [&bytes[..whole], &vec![0; 500]].concat();
        std::fs::write(&path, torn).unwrap();
        assert_eq!(
            scan(&path, u64::MAX, &mut |_, _| Ok(())).unwrap(),
            whole as u64
        );
    }

    #[test]
    fn the_head_of_a_line_is_read() {
        let line = b"{\"n\":17,\"outcome\":\"response\",\"ok\":true,\"line\":1}";
        assert_eq!(head_of(line), Some((17, Outcome::Response, true)));
        let page = b"{\"n\":17,\"outcome\":\"response\",\"ok\":true,\"more\":true,\"line\":1}";
        assert!(is_followed(page) && !is_followed(line) && !is_followed(b""));
        let line = b"{\"n\":0,\"outcome\":\"skipped\",\"ok\":false,\"line\":1}";
        assert_eq!(head_of(line), Some((0, Outcome::Skipped, false)));
        for bad in [
            "",
            "{\"line\":1}",
            "{\"n\":17",
            "{\"n\":17,\"outcome\":\"other\"",
        ] {
            assert_eq!(head_of(bad.as_bytes()), None);
        }
    }
}
