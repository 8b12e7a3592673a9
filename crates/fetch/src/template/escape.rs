//! Escapes a value for its context.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Every byte but the unreserved characters of RFC 3986 §2.3.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The use of a template, which decides how values are escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escaping {
    /// A URL: percent-encoded, but a column that the template begins with is a URL itself.
    Url,
    /// A method or a header: as they are; one with a line end or another control character is refused.
    Header,
    /// A body: as they are.
    Text,
    /// A body of JSON: escaped as inside of a JSON string.
    Json,
    /// A body as forms send it: percent-encoded.
    Form,
}

impl Escaping {
    /// The escaping for a body of this type, or, without a type, that looks like this.
    pub fn of_body(content_type: Option<&str>, template: &str) -> Escaping {
        let essence = content_type.map(|it| it.split(';').next().unwrap_or_default().trim());
        match essence.map(str::to_ascii_lowercase).as_deref() {
            Some(it) if it.ends_with("/json") || it.ends_with("+json") => Escaping::Json,
            Some("application/x-www-form-urlencoded") => Escaping::Form,
            Some(_) => Escaping::Text,
            None if template.trim_start().starts_with(['{', '[']) => Escaping::Json,
            None => Escaping::Text,
        }
    }
}

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
        Escaping::Url | Escaping::Form => text.extend(utf8_percent_encode(value, RESERVED)),
        Escaping::Json => escaped(value, text),
        Escaping::Text => text.push_str(value),
    }
    Ok(())
}

fn escaped(value: &str, text: &mut String) {
    // The JSON text of a string is the escaped string in quotes.
    let quoted = serde_json::Value::from(value).to_string();
    text.push_str(&quoted[1..quoted.len() - 1]);
}
