//! Bytes that are not UTF-8 in a String: RFC 6265 §5.2 lets a cookie have any.
//!
//! Each byte above ASCII becomes a character of its own, from the end of the last plane for private use. So jars can be
//! saved as text, and every cookie goes back byte for byte.

use std::borrow::Cow;

const BYTE_0: u32 = 0x10_ff00;

/// The bytes as text.
pub fn to_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() || !text.chars().any(|char| byte(char).is_some()) => {
            text.into()
        }
        _ => bytes.iter().map(|byte| character(*byte)).collect(),
    }
}

/// The bytes that [`to_text`] made this text of.
pub fn of_text(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() || !text.chars().any(|char| byte(char).is_some()) {
        return text.as_bytes().into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match byte(char) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes.into()
}

fn character(byte: u8) -> char {
    match byte.is_ascii() {
        true => byte.into(),
        false => char::from_u32(BYTE_0 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn byte(char: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(char).checked_sub(BYTE_0)?).ok()?;
    (!byte.is_ascii()).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_bytes_come_back(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..20)) {
            let text = to_text(&bytes);
            proptest::prop_assert_eq!(&*of_text(&text), &bytes[..]);
        }

        #[test]
        fn text_stays_as_it_is(text in "[a-z\u{e9}\u{1f600}]{0,20}") {
            proptest::prop_assert_eq!(&*to_text(text.as_bytes()), &*text);
            proptest::prop_assert_eq!(&*of_text(&text), text.as_bytes());
        }
    }

    #[test]
    fn characters_that_stand_for_bytes_come_back_too() {
        let text = "a\u{10ffe9}".as_bytes();
        assert_eq!(&*of_text(&to_text(text)), text);
    }
}
