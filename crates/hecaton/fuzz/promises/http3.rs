//! Fuzz targets of HTTP/3: frames, blocks of fields, and what servers announce.

use std::time::Duration;

use bytes::Bytes;

use super::{check_block, in_pieces};
use crate::config::Config;
use crate::h3::fuzzing::{Part, Reader, Role, Violation, decode};
use crate::message::alt_svc::http3_at;

/// The longest frame that is read whole.
const MOST: usize = 1000;

/// Frames of both kinds of streams: every split of the bytes gives the same parts.
pub fn frames(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    for role in [Role::Request, Role::Control] {
        let whole = read_frames(role, bytes, bytes.len().max(1));
        assert_eq!(whole, read_frames(role, bytes, size));
    }
}

/// The parts, in which pieces of a body that follow each other are one, and whether the stream may end behind them.
type Parts = (Vec<(u64, Vec<u8>)>, bool);

fn read_frames(role: Role, bytes: &[u8], size: usize) -> Result<Parts, Violation> {
    let mut reader = Reader::new(role, MOST);
    let mut parts: Vec<(u64, Vec<u8>)> = Vec::new();
    for piece in bytes.chunks(size) {
        let mut input = Bytes::copy_from_slice(piece);
        while let Some(part) = reader.next(&mut input)? {
            match (part, parts.last_mut()) {
                (Part::Data(data), Some((0, body))) => body.extend_from_slice(&data),
                (Part::Data(data), _) => parts.push((0, data.to_vec())),
                (Part::Frame(kind, frame), _) => {
                    assert!(frame.len() <= MOST);
                    parts.push((kind, frame.to_vec()));
                }
                (Part::TooLong(kind), _) => {
                    parts.push((kind, b"too long".into()));
                    return Ok((parts, false));
                }
            }
        }
        assert!(input.is_empty(), "all is taken");
    }
    Ok((parts, reader.is_between_frames()))
}

/// A block of fields: one that is well-formed has a line a field, and none has more than is allowed.
pub fn qpack(bytes: &[u8]) {
    let mut config = Config::new(Duration::from_secs(1));
    config.max_header_bytes = 1000;
    let Ok(decoded) = decode(bytes, &config) else {
        return;
    };
    assert!(decoded.fields.len() <= config.max_header_bytes);
    if decoded.block.wrong.is_none() {
        check_block(&decoded.fields);
    }
}

/// Values of `Alt-Svc`, one a line: a service has a port and a time, and `clear` takes all back.
pub fn alt_svc(bytes: &[u8]) {
    let values = || bytes.split(|byte| *byte == b'\n');
    if let Some(found) = http3_at(values(), "host.example") {
        let month = Duration::from_secs(30 * 24 * 60 * 60);
        assert!(found.port > 0 && !found.for_time.is_zero() && found.for_time <= month);
    }
    let cleared = values().chain([&b"clear"[..]]);
    assert_eq!(http3_at(cleared, "host.example"), None);
}
