//! A value written as its place needs it.

use std::fmt::Write;

use super::Place;

/// Appends the value; says what is wrong with one that has no place there.
pub(super) fn value(
    value: &str,
    place: Place,
    raw: bool,
    text: &mut String,
) -> Result<(), &'static str> {
    match place {
        Place::Header => {
            if value.chars().any(char::is_control) {
                return Err("holds a control character, which no header may have");
            }
            text.push_str(value);
        }
        _ if raw => text.push_str(value),
        Place::Url | Place::Form => encoded(value, text),
        Place::Json => escaped(value, text),
        Place::Text => text.push_str(value),
    }
    Ok(())
}

/// Everything but what RFC 3986 §2.3 never reserves.
fn encoded(value: &str, text: &mut String) {
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(byte.into());
            }
            byte => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
}

fn escaped(value: &str, text: &mut String) {
    // A string in quotes is what JSON makes of it; it cannot fail.
    let quoted = serde_json::Value::from(value).to_string();
    text.push_str(&quoted[1..quoted.len() - 1]);
}
