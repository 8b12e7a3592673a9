//! A rule's path: a prefix, in which `*` is anything and a `$` at the end the end.

use std::fmt::Write;

/// A rule's path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    /// What stands between the stars.
    pieces: Vec<String>,
    to_the_end: bool,
    length: usize,
}

impl Pattern {
    pub(super) fn new(path: &str) -> Pattern {
        let (inner, to_the_end) = match path.strip_suffix('$') {
            Some(inner) => (inner, true),
            None => (path, false),
        };
        let pieces: Vec<String> = inner.split('*').map(normal).collect();
        // The longest rule is the one with the most bytes (RFC 9309 §2.2.2).
        let length = pieces.iter().map(String::len).sum::<usize>() + pieces.len() - 1
            + usize::from(to_the_end);
        Pattern {
            pieces,
            to_the_end,
            length,
        }
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Whether it begins this path, which is in its normal form. The first place for each piece is the best one.
    pub(super) fn matches(&self, path: &str) -> bool {
        let Some((first, others)) = self.pieces.split_first() else {
            return true;
        };
        let Some(mut rest) = path.strip_prefix(first.as_str()) else {
            return false;
        };
        let Some((last, middle)) = others.split_last() else {
            return !self.to_the_end || rest.is_empty();
        };
        for piece in middle {
            match rest.find(piece.as_str()) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        match self.to_the_end {
            true => rest.ends_with(last.as_str()),
            false => rest.contains(last.as_str()),
        }
    }
}

/// A path in which octets are percent-encoded in one way: those that need it, in upper case, and no others (RFC 9309 §2.2.2).
pub(super) fn normal(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let encoded = (*byte == b'%').then(|| path.get(at + 1..at + 3)).flatten();
        let decoded = encoded.filter(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let (byte, length, was_encoded) =
            match decoded.and_then(|two| u8::from_str_radix(two, 16).ok()) {
                Some(byte) => (byte, 3, true),
                None => (*byte, 1, false),
            };
        let unreserved = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        let stands = if was_encoded {
            unreserved
        } else {
            byte.is_ascii_graphic()
        };
        match stands {
            true => out.push(byte.into()),
            false => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        at += length;
    }
    out
}
