//! The ClientHello of TLS as it was sent, read as far as cases look at it.

/// The contents of a ClientHello.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hello {
    /// The name of the server; empty if there is none.
    pub(super) sni: String,
    /// The versions that the client supports, as `1.2 1.3`.
    pub(super) versions: String,
}

/// How long a record with a ClientHello may be.
const MOST: usize = 1 << 14;

impl Hello {
    /// The ClientHello at the start of `bytes`; none if it is not complete, and an empty one if it is none.
    pub(super) fn take(bytes: &[u8]) -> Option<Hello> {
        let length = usize::from(u16::from_be_bytes([*bytes.get(3)?, *bytes.get(4)?]));
        if bytes[0] != 0x16 || length > MOST {
            return Some(Hello::default());
        }
        let record = bytes.get(5..5 + length)?;
        Some(Hello::read(record).unwrap_or_default())
    }

    fn read(record: &[u8]) -> Option<Hello> {
        // The type and length of the message, its version, and 32 random bytes.
        let old = u16::from_be_bytes([*record.get(4)?, *record.get(5)?]);
        let mut rest = record.get(38..)?;
        for width in [1, 2, 1] {
            rest = skipped(rest, width)?.1;
        }
        // Old clients send no extensions.
        let (mut extensions, _) = skipped(rest, 2).unwrap_or_default();
        let mut hello = Hello {
            versions: version(old),
            ..Hello::default()
        };
        while extensions.len() >= 4 {
            let kind = u16::from_be_bytes([extensions[0], extensions[1]]);
            let (content, after) = skipped(&extensions[2..], 2)?;
            match kind {
                // A list of names, each with a type.
                0 => hello.sni = String::from_utf8_lossy(content.get(5..)?).into_owned(),
                43 => {
                    let pairs = content.get(1..)?.chunks_exact(2);
                    let numbers = pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
                    let mut known: Vec<String> = numbers
                        .map(version)
                        .filter(|name| !name.is_empty())
                        .collect();
                    known.sort();
                    hello.versions = known.join(" ");
                }
                _ => {}
            }
            extensions = after;
        }
        Some(hello)
    }
}

/// Splits off what a length of so many bytes announces.
fn skipped(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let length = bytes
        .get(..width)?
        .iter()
        .fold(0, |length, byte| length << 8 | usize::from(*byte));
    bytes.get(width..)?.split_at_checked(length)
}

fn version(number: u16) -> String {
    match number {
        0x0300 => "ssl3",
        0x0301 => "1.0",
        0x0302 => "1.1",
        0x0303 => "1.2",
        0x0304 => "1.3",
        _ => "",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ClientHello of TLS 1.1 with one extension at most.
    fn hello(extensions: &[u8]) -> Vec<u8> {
        let mut body = vec![3, 2];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0, 0x2f, 1, 0]);
        if !extensions.is_empty() {
            body.extend([0, u8::try_from(extensions.len()).unwrap()]);
            body.extend(extensions);
        }
        let length = u8::try_from(body.len()).unwrap();
        [&[0x16, 3, 1, 0, length + 4, 1, 0, 0, length], &body[..]].concat()
    }

    #[test]
    fn the_name_and_the_versions_are_read() {
        let old = Hello::take(&hello(&[])).unwrap();
        assert_eq!((old.sni.as_str(), old.versions.as_str()), ("", "1.1"));
        let new = Hello::take(&hello(&[0, 43, 0, 5, 4, 3, 4, 3, 3])).unwrap();
        assert_eq!(new.versions, "1.2 1.3");
        let named = Hello::take(&hello(&[0, 0, 0, 6, 0, 4, 0, 0, 1, b'a'])).unwrap();
        assert_eq!(named.sni, "a");
    }

    #[test]
    fn a_hello_may_come_in_parts_or_be_nonsense() {
        let whole = hello(&[0, 43, 0, 5, 4, 3, 4, 3, 3]);
        assert_eq!(Hello::take(&whole[..whole.len() - 1]), None);
        assert_eq!(Hello::take(b"GET / HTTP/1.1"), Some(Hello::default()));
        // Lengths that point behind the end.
        let mut broken = whole.clone();
        broken[44] = 0xff;
        assert!(Hello::take(&broken).is_some());
    }
}
