//! Blocks of fields without a dynamic table (QPACK, RFC 9204): a request's head → bytes, and bytes → a response's fields.
//!
//! The client never announces a table (SETTINGS_QPACK_MAX_TABLE_CAPACITY), so a server may not use one. So no block
//! waits for another stream, and there is no state that could fall out of step.

use http::HeaderMap;

use super::frames::{DECOMPRESSION_FAILED, Violation};
use super::static_table::STATIC;
use crate::config::Config;
use crate::h2::hpack::{Block, Input, Undecodable, push_integer};
use crate::message::head::BadHead;

/// The decoded fields of a message.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// The status of a response, and what is wrong with the block.
    pub block: Block,
    /// The fields as `name: value\r\n`, without pseudo-header fields.
    pub fields: Vec<u8>,
    /// Why there is too much of them. The rest is not decoded then.
    pub too_much: Option<BadHead>,
}

const INVALID: Violation = Violation::new(
    DECOMPRESSION_FAILED,
    "a block of fields is not valid QPACK, or refers to a table that was not allowed",
);

impl From<Undecodable> for Violation {
    fn from(_: Undecodable) -> Violation {
        INVALID
    }
}

/// Decodes a block.
pub(crate) fn decode(bytes: &[u8], config: &Config) -> Result<Decoded, Violation> {
    let mut input = Input {
        block: bytes,
        at: 0,
    };
    // The prefix (§4.5.1). A block that needs no entry of the table requires none to have come.
    let first = input.byte()?;
    if input.integer(first, 8)? != 0 {
        return Err(INVALID);
    }
    let second = input.byte()?;
    input.integer(second, 7)?;
    let (mut decoded, mut count) = (Decoded::default(), 0);
    let (mut name, mut value) = (Vec::new(), Vec::new());
    while input.at < bytes.len() {
        field(&mut input, &mut name, &mut value)?;
        if decoded.block.add(&name, &value, count > 0) {
            continue;
        }
        count += 1;
        let room = config.max_header_bytes.saturating_sub(decoded.fields.len());
        decoded.too_much = if count > config.max_header_fields {
            Some(BadHead::TooManyFields(config.max_header_fields))
        } else if name.len() + value.len() + 4 > room {
            Some(BadHead::TooManyBytes(config.max_header_bytes))
        } else {
            None
        };
        if decoded.too_much.is_some() {
            break;
        }
        for part in [&name[..], b": ", &value, b"\r\n"] {
            decoded.fields.extend_from_slice(part);
        }
    }
    Ok(decoded)
}

/// Reads the next field (§4.5.2 to §4.5.6).
fn field(input: &mut Input<'_>, name: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<(), Violation> {
    let first = input.byte()?;
    match first {
        // Both from the static table.
        0b1100_0000.. => {
            let entry = known(input.integer(first, 6)?)?;
            set(name, entry.0);
            set(value, entry.1);
            return Ok(());
        }
        // The name from the static table.
        0b0101_0000..=0b0101_1111 | 0b0111_0000..=0b0111_1111 => {
            set(name, known(input.integer(first, 4)?)?.0)
        }
        // Both literally.
        0b0010_0000..=0b0011_1111 => input.string(first, 3, name)?,
        _ => return Err(INVALID),
    }
    let first = input.byte()?;
    Ok(input.string(first, 7, value)?)
}

fn set(out: &mut Vec<u8>, text: &str) {
    out.clear();
    out.extend_from_slice(text.as_bytes());
}

fn known(index: usize) -> Result<(&'static str, &'static str), Violation> {
    STATIC.get(index).copied().ok_or(INVALID)
}

/// Encodes the head of a request.
pub(super) fn encode(head: &http::Request<()>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(&[0, 0]);
    let uri = head.uri();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    push(&mut out, ":method", head.method().as_str().as_bytes());
    push(
        &mut out,
        ":scheme",
        uri.scheme_str().unwrap_or("https").as_bytes(),
    );
    if let Some(authority) = uri.authority() {
        push(&mut out, ":authority", authority.as_str().as_bytes());
    }
    push(&mut out, ":path", path.as_bytes());
    push_all(&mut out, head.headers());
    out
}

fn push_all(out: &mut Vec<u8>, fields: &HeaderMap) {
    for (name, value) in fields {
        push(out, name.as_str(), value.as_bytes());
    }
}

/// Appends a field, by the static table as far as it has it.
fn push(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    let mut entries = STATIC.iter().enumerate();
    let named = entries.find(|(_, entry)| entry.0 == name);
    let Some((first, _)) = named else {
        push_integer(out, 0b0010_0000, 3, name.len());
        out.extend_from_slice(name.as_bytes());
        return push_value(out, value);
    };
    // Entries of one name are mostly behind each other, and those that are not are not worth a search.
    let same = STATIC[first..].iter().take_while(|entry| entry.0 == name);
    match same
        .into_iter()
        .position(|entry| entry.1.as_bytes() == value)
    {
        Some(index) => push_integer(out, 0b1100_0000, 6, first + index),
        None => {
            push_integer(out, 0b0101_0000, 4, first);
            push_value(out, value);
        }
    }
}

fn push_value(out: &mut Vec<u8>, value: &[u8]) {
    push_integer(out, 0, 7, value.len());
    out.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    fn config() -> Config {
        Config::new(Duration::from_secs(1))
    }

    fn decoded(bytes: &[u8]) -> Decoded {
        decode(bytes, &config()).unwrap()
    }

    #[test]
    fn a_request_by_the_static_table() {
        let mut head = http::Request::new(());
        *head.uri_mut() = "https://host/a?b".parse().unwrap();
        let value = HeaderValue::from_static("*/*");
        head.headers_mut().insert("accept", value);
        let bytes = encode(&head);
        // RFC 9204 §4.5: indexed :method GET, :scheme https, then literal values, then indexed accept */*.
        assert_eq!(bytes, b"\0\0\xd1\xd7\x50\x04host\x51\x04/a?b\xdd");
        *head.uri_mut() = "https://host/".parse().unwrap();
        assert_eq!(encode(&head), b"\0\0\xd1\xd7\x50\x04host\xc1\xdd");
    }

    #[test]
    fn a_response_with_each_kind_of_field() {
        // :status 200 indexed; server by name; x-a literally; cache-control by name, in Huffman's code.
        let bytes = b"\0\0\xd9\x5f\x4d\x01s\x23x-a\x011\x5f\x15\x86\xa8\xeb\x10\x64\x9c\xbf";
        let found = decoded(bytes);
        assert_eq!(found.block.status, Some(200));
        assert_eq!(found.block.wrong, None);
        assert_eq!(
            found.fields,
            b"server: s\r\nx-a: 1\r\ncache-control: no-cache\r\n"
        );
    }

    #[test]
    fn what_needs_the_dynamic_table_or_is_broken_is_a_violation() {
        for bytes in [
            &b""[..],
            b"\0",
            b"\x01\0\xd9",
            b"\0\0\x80",
            b"\0\0\x10",
            b"\0\0\x00\x01a",
            b"\0\0\x40\x01a",
            b"\0\0\xff\x30",
            b"\0\0\x23x",
            b"\0\0\xff\xff\xff\xff\xff\xff",
            b"\0\0\x23x-a\xff\xff\xff\xff\x0f",
        ] {
            assert_eq!(decode(bytes, &config()).unwrap_err(), INVALID, "{bytes:x?}");
        }
    }

    #[test]
    fn malformed_fields_are_reported_as_over_http2() {
        for bytes in [
            &b"\0\0\x23X-A\x011"[..],
            b"\0\0\x27\x03connection\x05close",
            b"\0\0\x23x-a\x011\xd9",
            b"\0\0\xd9\xd9",
            b"\0\0\xd1",
            b"\0\0\x58\x03ab\n",
        ] {
            assert!(decoded(bytes).block.wrong.is_some(), "{bytes:x?}");
        }
    }

    #[test]
    fn too_many_fields_or_bytes_are_found_before_they_are_kept() {
        let mut config = config();
        config.max_header_fields = 2;
        let bytes = b"\0\0\xd9\xdd\xdd\xdd";
        let found = decode(bytes, &config).unwrap().too_much;
        assert_eq!(found, Some(BadHead::TooManyFields(2)));
        config.max_header_fields = 3;
        config.max_header_bytes = 2 * "accept: */*\r\n".len();
        let most = config.max_header_bytes;
        let found = decode(bytes, &config).unwrap().too_much;
        assert_eq!(found, Some(BadHead::TooManyBytes(most)));
    }

    proptest! {
        #[test]
        fn encoded_fields_are_decoded(
            names in prop::collection::vec("[a-z][a-z-]{0,20}", 0..20),
            value in "[ -~]{0,200}",
        ) {
            let mut head = http::Request::new(());
            let known = STATIC[72..].iter().map(|entry| entry.0);
            for name in names.iter().map(String::as_str).chain(known) {
                let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
                head.headers_mut().append(name, HeaderValue::from_str(&value).unwrap());
            }
            let bytes = encode(&head);
            let mut expected = String::new();
            for (name, value) in head.headers() {
                expected += &format!("{name}: {}\r\n", value.to_str().unwrap());
            }
            let found = decoded(&bytes);
            prop_assert_eq!(String::from_utf8(found.fields).unwrap(), expected);
        }

        #[test]
        fn any_input_ends(bytes: Vec<u8>) {
            let _ = decode(&bytes, &config());
        }
    }
}
