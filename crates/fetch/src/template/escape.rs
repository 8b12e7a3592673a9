//! Escapes a value for its context.

use std::fmt::Write;

use super::Escaping;

/// Appends the value, or says why it is not allowed there.
pub(super) fn value(
    value: &str,
    escaping: Escaping,
    raw: bool,
    text: &mut String,
) -> Result<(), &'static str> {
    match escaping {
        Escaping::Header => {
            if value.chars().any(char::is_control) {
                return Err("holds a control character, which no header may have");
            }
            text.push_str(value);
        }
        _ if raw => text.push_str(value),
        Escaping::Url | Escaping::Form => encoded(value, text),
        Escaping::Json => escaped(value, text),
        Escaping::Text => text.push_str(value),
    }
    Ok(())
}

/// Percent-encodes every byte but the unreserved characters of RFC 3986 §2.3.
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
    // The JSON text of a string is the escaped string in quotes.
    let quoted = serde_json::Value::from(value).to_string();
    text.push_str(&quoted[1..quoted.len() - 1]);
}
