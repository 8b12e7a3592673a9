//! The operating system's words for an error, without the number that Rust adds. "Connection refused (os error 111)" tells a
//! person no more, and programs have `Error::code`.

/// How the number begins.
const BEGIN: &str = " (os error ";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_and_words_stay() {
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
