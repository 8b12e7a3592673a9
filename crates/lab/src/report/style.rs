//! The abilities of the terminal: width, colour, characters beyond ASCII.

/// How to write to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns; views use at most 120 and need at least 60.
    pub width: usize,
    /// Whether ANSI colours are understood and allowed.
    pub color: bool,
    /// Whether braille and box-drawing characters can be shown; else plain ASCII.
    pub unicode: bool,
}

/// Colours of the clients in order: the closest of the 256 to the Okabe–Ito palette, on dark and on light.
const COLORS: [u8; 6] = [32, 166, 36, 175, 178, 74];

impl Style {
    /// Reads the environment. `terminal` says whether the output is one: a file or a pipe gets no colours.
    ///
    /// `NO_COLOR` (not empty) and `TERM=dumb` switch to plain ASCII without colours. A locale that is not UTF-8 means
    /// ASCII, but keeps the colours. In a pipe an unset locale is taken as UTF-8.
    pub fn detect(
        variable: impl Fn(&str) -> Option<String>,
        terminal: bool,
        width: usize,
    ) -> Style {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
        let locale = set("LC_ALL")
            .or_else(|| set("LC_CTYPE"))
            .or_else(|| set("LANG"));
        let utf8 = locale.map_or(!terminal, |name| {
            let name = name.to_ascii_lowercase();
            name.contains("utf-8") || name.contains("utf8")
        });
        Style {
            width: width.clamp(60, 120),
            color: terminal && !plain,
            unicode: utf8 && !plain,
        }
    }

    pub(super) fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn warn(&self, text: &str) -> String {
        self.paint("1;33", text)
    }

    pub(super) fn client(&self, position: usize, text: &str) -> String {
        self.paint(&format!("38;5;{}", COLORS[position % COLORS.len()]), text)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.into()
        }
    }

    /// `text` in ASCII when that is all there is.
    pub(super) fn plain(&self, text: String) -> String {
        if self.unicode {
            return text;
        }
        text.chars().fold(String::with_capacity(text.len()), with)
    }
}

/// A text with another character, in ASCII.
fn with(mut text: String, character: char) -> String {
    match ascii(character) {
        None => text.push(character),
        Some(other) => text.push_str(other),
    }
    text
}

/// The replacement of a character in ASCII; none if it is ASCII. A `?` would be taken for a doubt.
fn ascii(character: char) -> Option<&'static str> {
    Some(match character {
        '–' | '·' | '−' => "-",
        '×' | '✗' => "x",
        '…' => "...",
        '◀' => "<",
        '↻' => "@",
        '\u{a0}' => " ",
        '÷' => "/",
        '’' => "'",
        '“' | '”' => "\"",
        '→' => "->",
        '±' => "+-",
        '›' => ">",
        'µ' => "u",
        other if other.is_ascii() => return None,
        _ => "?",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)], terminal: bool) -> (bool, bool) {
        let find = |name: &str| {
            variables
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| v.to_string())
        };
        let style = Style::detect(find, terminal, 100);
        (style.color, style.unicode)
    }

    #[test]
    fn what_views_say_is_legible_in_ascii() {
        let style = Style {
            width: 80,
            color: false,
            unicode: false,
        };
        let said = style.plain("A ÷ B: 1.5× [1.0–2.0], ±2\u{a0}% → “x’s”".to_owned());
        assert_eq!(said, "A / B: 1.5x [1.0-2.0], +-2 % -> \"x's\"");
    }

    #[test]
    fn each_sign_of_a_row_is_another_one_in_ascii() {
        let signs: Vec<String> = crate::views::SIGNS
            .iter()
            .map(|(sign, _)| sign.chars().fold(String::new(), with))
            .collect();
        assert!(!signs.iter().any(|sign| sign.contains('?')), "{signs:?}");
        let distinct: std::collections::HashSet<&String> = signs.iter().collect();
        assert_eq!(distinct.len(), signs.len(), "{signs:?}");
    }

    #[test]
    fn reads_the_environment() {
        assert_eq!(
            detect(&[("LANG", "en_GB.UTF-8"), ("TERM", "xterm-256color")], true),
            (true, true)
        );
        assert_eq!(
            detect(&[("LANG", "en_GB.UTF-8"), ("NO_COLOR", "1")], true),
            (false, false)
        );
        assert_eq!(
            detect(&[("LANG", "en_GB.UTF-8"), ("NO_COLOR", "")], true),
            (true, true)
        );
        assert_eq!(
            detect(&[("LANG", "en_GB.UTF-8"), ("TERM", "dumb")], true),
            (false, false)
        );
        assert_eq!(
            detect(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")], true),
            (true, false)
        );
        assert_eq!(detect(&[], false), (false, true));
        assert_eq!(Style::detect(|_| None, true, 20).width, 60);
    }
}
