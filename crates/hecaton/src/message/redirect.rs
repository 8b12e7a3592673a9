//! A redirect that was followed, and the meaning of its status (RFC 9110 §15.4).

use std::borrow::Cow;
use std::fmt::Write;

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The status that redirected: 301, 302, 303, 307 or 308.
    pub status: u16,
    /// The URL that redirected, absolute and without fragment.
    pub url: String,
}

impl Redirect {
    /// Whether this status may redirect.
    pub fn is_one(status: u16) -> bool {
        matches!(status, 301 | 302 | 303 | 307 | 308)
    }

    /// The `Location` in these header fields, whose names are in lower case (RFC 9110 §10.2.2); none if there is none.
    /// Bytes that are not UTF-8 are percent-encoded, as curl does.
    ///
    /// # Errors
    ///
    /// Why it is unusable: several fields differ, or it has a control character.
    pub fn location<'a>(
        fields: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Option<Cow<'a, str>>, &'static str> {
        let mut locations = fields
            .filter(|(name, _)| *name == "location")
            .map(|(_, value)| value);
        let Some(location) = locations.next() else {
            return Ok(None);
        };
        if locations.any(|other| other != location) {
            return Err("its Locations disagree");
        }
        if location.iter().any(u8::is_ascii_control) {
            return Err("its Location contains a control character");
        }
        Ok(Some(match std::str::from_utf8(location) {
            Ok(text) => text.into(),
            Err(_) => encoded(location).into(),
        }))
    }

    /// Whether a header, its name in lower case, describes a body. It is dropped with the body when a request becomes a
    /// GET.
    pub fn describes_content(name: &str) -> bool {
        name.starts_with("content-") || matches!(name, "digest" | "expect" | "last-modified")
    }

    /// Whether a request of this method, which is not GET, becomes a GET without its body. A 303 demands a GET of the
    /// result. A 301 or 302 turns a POST into a GET, as browsers do. A 307 or 308 keeps method and body.
    pub fn becomes_get(status: u16, method: &str) -> bool {
        match status {
            303 => !matches!(method, "GET" | "HEAD"),
            301 | 302 => method == "POST",
            _ => false,
        }
    }
}

/// Text in another encoding than UTF-8 as ASCII.
fn encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        match byte.is_ascii() {
            true => text.push(char::from(*byte)),
            // Writing to memory does not fail.
            false => drop(write!(text, "%{byte:02x}")),
        }
        text
    })
}
