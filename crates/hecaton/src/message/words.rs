//! Words for messages: digests, those of the operating system without the number that Rust adds, and no more of a text than a
//! person reads. "Connection refused (os error 111)" says no more to a person, and programs have `Error::code`.

use std::borrow::Cow;
use std::fmt::Write;

/// A message shows at most this many characters of a URL.
pub(crate) const MOST_OF_A_URL: usize = 500;

/// A message shows at most this many characters of a reason, part of which a server may have chosen.
pub(crate) const MOST_OF_A_REASON: usize = 1000;

/// How the number begins.
const BEGIN: &str = " (os error ";

/// These bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to memory does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The text without such numbers.
pub fn without_os_numbers(mut text: String) -> String {
    let mut from = 0;
    while let Some(at) = text[from..].find(BEGIN) {
        from += at;
        let rest = &text[from + BEGIN.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_one = digits > 0 && rest[digits..].starts_with(')');
        match is_one {
            true => text.replace_range(from..=from + BEGIN.len() + digits, ""),
            false => from += BEGIN.len(),
        }
    }
    text
}

/// At most this many characters of a text.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_text_is_cut_between_two_characters() {
        assert_eq!(shortened("éé", 2), "éé");
        assert_eq!(shortened("ééé", 2), "éé…");
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn os_error_numbers_are_removed_and_words_stay() {
        let refused = std::io::Error::from_raw_os_error(111).to_string();
        assert!(refused.contains("111"), "{refused}");
        let words = "Connection refused";
        assert_eq!(without_os_numbers(refused.clone()), words);
        let two = format!("a ({refused}), b ({refused})");
        let expected = format!("a ({words}), b ({words})");
        assert_eq!(without_os_numbers(two), expected);
        for text in ["", "é", " (os error )", " (os error 1", " (os error x) y"] {
            assert_eq!(without_os_numbers(text.into()), text);
        }
    }
}
