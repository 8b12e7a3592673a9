//! Writes to a terminal: foreign text without control characters, and lines on stderr that may be lost.

use std::borrow::Cow;

/// Writes a line on stderr; an error of writing is ignored (`hecaton sweep 2>&1 | head -3`). The macro of the standard
/// library would panic.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{}", $crate::terminal::safe(&format!($($text)*)));
    }};
}

/// A text whose control characters, and characters that turn the direction of what follows, are written as `\u001b`.
/// Line ends and tabs stay.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match commands(character) {
            true => safe += &format!("\\u{:04x}", u32::from(character)),
            false => safe.push(character),
        }
    }
    Cow::Owned(safe)
}

fn commands(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_foreign_character_commands_a_terminal() {
        for (text, expected) in [
            ("tea, ä\tb\n", "tea, ä\tb\n"),
            ("\u{1b}[31mred", "\\u001b[31mred"),
            ("a\u{9b}2Jb", "a\\u009b2Jb"),
            ("\u{202e}fdp.exe", "\\u202efdp.exe"),
            ("a\u{7f}\u{2066}", "a\\u007f\\u2066"),
        ] {
            assert_eq!(safe(text), expected);
        }
    }
}
