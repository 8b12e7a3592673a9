//! A rule's path: a prefix, in which `*` is anything and a `$` at the end the end.

use std::fmt::Write;

/// A rule's path, in its normal form.
pub(super) struct Pattern<'a> {
    /// With stars, and without the `$` at its end.
    pub path: &'a str,
    pub to_the_end: bool,
}

impl Pattern<'_> {
    /// The longest rule is the one with the most bytes (RFC 9309 §2.2.2).
    pub fn length(&self) -> usize {
        self.path.len() + usize::from(self.to_the_end)
    }

    /// Whether it begins this path, which is in its normal form. The first match of each piece is the best one.
    pub fn matches(&self, path: &str) -> bool {
        let Some((first, others)) = self.path.split_once('*') else {
            let rest = path.strip_prefix(self.path);
            return rest.is_some_and(|rest| !self.to_the_end || rest.is_empty());
        };
        let Some(mut rest) = path.strip_prefix(first) else {
            return false;
        };
        let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
        for piece in middle.split('*') {
            match rest.find(piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        match self.to_the_end {
            true => rest.ends_with(last),
            false => rest.contains(last),
        }
    }
}

/// A path in which octets are percent-encoded in one way: those that need it, in upper case, and no others (RFC 9309
/// §2.2.2).
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
