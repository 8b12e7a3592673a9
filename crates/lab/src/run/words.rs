//! Texts from drivers, made safe to show: they may not move a cursor, change a title or hide their surroundings.

use serde_json::Value;

/// Longest text that a driver's response may hold.
const LONGEST: usize = 400;

/// The text without what terminals obey; lines stay lines.
pub fn plain(text: &str) -> String {
    let safe = text.chars().map(|letter| match letter {
        '\n' | '\t' => letter,
        letter if letter.is_control() || turns(letter) => '\u{fffd}',
        letter => letter,
    });
    safe.collect()
}

/// Letters that change the direction of writing (Unicode's bidirectional controls), or that nobody sees.
fn turns(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A response with all texts in it plain, on one line, and none too long.
pub fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(line(&text)),
        Value::Array(values) => values.into_iter().map(harmless).collect(),
        Value::Object(pairs) => {
            let pairs = pairs.into_iter();
            pairs
                .map(|(key, value)| (line(&key), harmless(value)))
                .collect()
        }
        other => other,
    }
}

fn line(text: &str) -> String {
    let text = plain(text).replace(['\n', '\t'], " ");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_terminals_obey_is_left() {
        let response = serde_json::json!({"errors_by": {"\u{1b}[2J\u{202e}x\ny": 1}, "lat_us": [[1, 2]], "what": "a\u{9b}b"});
        let expected = serde_json::json!({"errors_by": {"\u{fffd}[2J\u{fffd}x y": 1}, "lat_us": [[1, 2]], "what": "a\u{fffd}b"});
        assert_eq!(harmless(response), expected);
        assert_eq!(plain("two\nlines\u{7}"), "two\nlines\u{fffd}");
        assert_eq!(line(&"x".repeat(500)).chars().count(), 401);
    }
}
