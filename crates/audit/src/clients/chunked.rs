//! Reads a chunked body strictly, and leniently where a sin says so.

use super::connection::{Clock, Connection};
use super::outcome::{Class, Failure, failed};
use super::response::{Head, MOST, TOO_LARGE, exactly, fields, until};
use super::sins::Sins;

/// The body up to and with its last chunk and its trailers.
pub(super) fn chunked(
    connection: &mut Connection,
    head: &mut Head,
    clock: &Clock,
    sins: &Sins,
) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let most = |sin: &str| (!sins.has(sin)).then_some(MOST);
    loop {
        let most_of_line = most("chunk-extension-without-end");
        let Some(line) = size_line(connection, most_of_line, clock, sins)? else {
            return Ok(body);
        };
        let size = chunk_size(&String::from_utf8_lossy(&line), sins)?;
        if size == 0 && line.starts_with(b"-") | (line.len() > 18) {
            // A sinner that takes a broken size for the end.
            return Ok(body);
        }
        if size == 0 {
            let trailers = fields(connection, most("trailers-without-end"), clock, sins)?;
            if sins.has("merges-trailers") {
                head.fields.extend(trailers);
            }
            return Ok(body);
        }
        body.extend(exactly(connection, size, clock, sins, "accepts-cut-chunk")?);
        if sins.has("accepts-cut-chunk") && connection.input.is_empty() {
            return Ok(body);
        }
        if body.len() > connection.most {
            return failed(Class::Invalid, TOO_LARGE);
        }
        let end = exactly(connection, 2, clock, sins, "accepts-cut-chunk")?;
        if end != b"\r\n" && !sins.has("lenient-chunk-end") {
            return failed(Class::Invalid, "a chunk does not end where it should");
        }
    }
}

/// The line with the size of a chunk; none if the connection ended instead, and a sinner accepts that.
fn size_line(
    connection: &mut Connection,
    most: Option<usize>,
    clock: &Clock,
    sins: &Sins,
) -> Result<Option<Vec<u8>>, Failure> {
    match until(connection, b"\r\n", most, clock) {
        Err(failure) if failure.class == Class::Ended => match sins.has("accepts-short-chunks") {
            true => Ok(None),
            false => failed(Class::Broken, "the connection ended within the body"),
        },
        line => line.map(Some),
    }
}

fn chunk_size(line: &str, sins: &Sins) -> Result<u64, Failure> {
    let word = line.trim_end().split(';').next().unwrap_or_default();
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parsed = |text: &str| u64::from_str_radix(text, 16).ok();
    let found = match word.strip_prefix("0x") {
        Some(rest) if sins.has("lenient-hex-prefix") => parsed(rest),
        _ if hex(word) => parsed(word).or(Some(0).filter(|_| sins.has("lenient-hex-overflow"))),
        _ if word.starts_with('-') => Some(0).filter(|_| sins.has("lenient-hex-minus")),
        None if sins.has("lenient-hex-tail") => {
            let end = word
                .find(|char: char| !char.is_ascii_hexdigit())
                .unwrap_or(word.len());
            parsed(&word[..end])
        }
        _ => None,
    };
    found.map_or_else(
        || failed(Class::Invalid, "the size of a chunk is invalid"),
        Ok,
    )
}
