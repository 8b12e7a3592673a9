//! The value of a `Set-Cookie` → what it says (RFC 6265bis §5.6).

use std::time::{Duration, SystemTime};

use super::date;

/// Name and value may have at most this many bytes together; a cookie with more is ignored.
const LONGEST: usize = 4096;

/// An attribute's value may have at most this many bytes; an attribute with more is ignored.
const LONGEST_ATTRIBUTE: usize = 1024;

/// A parsed `Set-Cookie`, before anything is known about the server.
#[derive(Debug, Default)]
pub(super) struct Raw<'a> {
    pub name: &'a str,
    /// With its quotes, if it has any.
    pub value: &'a str,
    /// Without the dot that it may begin with; none if it is empty.
    pub domain: Option<&'a str>,
    pub path: Option<&'a str>,
    pub secure: bool,
    pub http_only: bool,
    expires: Option<SystemTime>,
    max_age: Option<MaxAge>,
}

#[derive(Debug)]
enum MaxAge {
    Past,
    /// This many seconds from now.
    In(u64),
}

impl<'a> Raw<'a> {
    /// Reads the value of a `Set-Cookie`. None if the text is no cookie: it has no name, or contains a control
    /// character. If an attribute is repeated, the last one counts.
    pub fn read(text: &'a str) -> Option<Raw<'a>> {
        if text.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
            return None;
        }
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let mut raw = Raw {
            name: trim(name),
            value: trim(value),
            ..Raw::default()
        };
        if raw.name.is_empty() {
            return None;
        }
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            raw.note(trim(name), trim(value));
        }
        Some(raw)
    }

    /// Whether it is too long to be stored.
    pub fn is_too_long(&self) -> bool {
        self.name.len() + self.value.len() > LONGEST
    }

    fn note(&mut self, name: &str, value: &'a str) {
        if value.len() > LONGEST_ATTRIBUTE {
            return;
        }
        match name.to_ascii_lowercase().as_str() {
            "expires" => self.expires = date::parse(value).or(self.expires),
            "max-age" => {
                if let Some(age) = max_age(value) {
                    self.max_age = Some(age);
                }
            }
            "domain" => {
                let domain = value.strip_prefix('.').unwrap_or(value);
                self.domain = Some(domain).filter(|domain| !domain.is_empty());
            }
            "path" => self.path = Some(value),
            "secure" => self.secure = true,
            "httponly" => self.http_only = true,
            _ => {}
        }
    }

    /// When the cookie expires; none if it ends with the jar. `Max-Age` takes precedence over `Expires`.
    pub fn end(&self, now: SystemTime, far_away: Duration) -> Option<SystemTime> {
        match self.max_age {
            Some(MaxAge::Past) => Some(SystemTime::UNIX_EPOCH),
            Some(MaxAge::In(seconds)) => {
                let end = now.checked_add(Duration::from_secs(seconds));
                Some(end.unwrap_or(now + far_away))
            }
            None => self.expires,
        }
    }
}

/// Spaces and tabs are not part of names and values.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// A number, perhaps negative; anything else is ignored, an empty value too.
fn max_age(value: &str) -> Option<MaxAge> {
    let (digits, is_past) = match value.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (value, false),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // A number too large for the type is a very long time.
    Some(match digits.parse().unwrap_or(u64::MAX) {
        0 => MaxAge::Past,
        _ if is_past => MaxAge::Past,
        seconds => MaxAge::In(seconds),
    })
}
