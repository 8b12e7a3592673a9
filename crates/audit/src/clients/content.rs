//! Inflates gzip, member by member, and looks at what stands behind each.

use std::io::Read;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::outcome::{Class, Failure, failed};
use super::sins::Sins;

/// Most bytes that a body may become.
const MOST: usize = 2 << 20;

/// The bytes of all members.
pub(super) fn inflate(mut bytes: &[u8], sins: &Sins) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    loop {
        if !bytes.starts_with(&[0x1f, 0x8b, 8, 0]) || bytes.len() < 10 {
            return match sins.has("accepts-plain-as-gzip") {
                true => Ok(bytes.to_vec()),
                false => failed(Class::Invalid, "the body is not gzip"),
            };
        }
        let before = out.len();
        let mut decoder = DeflateDecoder::new(&bytes[10..]);
        let most = if sins.has("bomb-without-end") {
            u64::MAX
        } else {
            MOST as u64 + 1
        };
        let read = decoder.by_ref().take(most).read_to_end(&mut out);
        if out.len() > MOST && !sins.has("bomb-without-end") {
            return failed(Class::Invalid, "the body becomes too large");
        }
        let used = 10 + usize::try_from(decoder.total_in()).unwrap_or(usize::MAX);
        if read.is_err() || bytes.len() < used + 8 {
            return match sins.has("accepts-short-gzip") {
                true => Ok(out),
                false => failed(Class::Broken, "the gzip stream ends within the body"),
            };
        }
        check(&bytes[used..used + 8], &out[before..], sins)?;
        bytes = &bytes[used + 8..];
        if bytes.is_empty() || sins.has("first-member-only") {
            return Ok(out);
        }
    }
}

fn check(trailer: &[u8], member: &[u8], sins: &Sins) -> Result<(), Failure> {
    let mut crc = Crc::new();
    crc.update(member);
    if trailer[..4] != crc.sum().to_le_bytes() && !sins.has("accepts-bad-crc") {
        return failed(Class::Invalid, "the checksum of the gzip stream is wrong");
    }
    if trailer[4..] != crc.amount().to_le_bytes() && !sins.has("accepts-bad-isize") {
        return failed(Class::Invalid, "the length of the gzip stream is wrong");
    }
    Ok(())
}
