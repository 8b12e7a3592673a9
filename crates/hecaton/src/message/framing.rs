//! Where the body of a response over HTTP/1.1 ends, by the fields of its head (RFC 9112 §6.3).

use http::Method;

/// How the end of the body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// This many bytes.
    Length(u64),
    /// Chunks, the last of them empty.
    Chunked,
    /// The end of the connection.
    Close,
}

impl Framing {
    /// The announced length.
    pub fn length(self) -> Option<u64> {
        match self {
            Framing::Length(length) => Some(length),
            Framing::Chunked | Framing::Close => None,
        }
    }
}

/// The fields of a head that say where its body ends.
#[derive(Default)]
pub(crate) struct FramingFields {
    length: Option<u64>,
    chunked: bool,
}

impl FramingFields {
    /// Repeated lengths are the same or an error (RFC 9110 §8.6).
    pub fn note_length(&mut self, value: &[u8]) -> Result<(), &'static str> {
        for length in value.split(|byte| *byte == b',') {
            let length = parse_length(length.trim_ascii());
            if length.is_none() || (self.length.is_some() && self.length != length) {
                return Err("a content length that makes no sense");
            }
            self.length = length;
        }
        Ok(())
    }

    /// Notes a `Transfer-Encoding`.
    pub fn note_coding(&mut self, value: &[u8]) -> Result<(), &'static str> {
        if self.chunked || !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
            return Err("a transfer coding other than chunked");
        }
        self.chunked = true;
        Ok(())
    }

    /// Chunks count before a length.
    pub fn of_response(&self, method: &Method, status: u16) -> Framing {
        match self.length {
            _ if *method == Method::HEAD || matches!(status, 101 | 204 | 304) => Framing::Length(0),
            _ if self.chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::Close,
        }
    }

    /// Whether the connection cannot be trusted after this body. A length beside chunks may be an attempt to smuggle,
    /// and HTTP/1.0 has no chunks (RFC 9112 §6.1). A body that is announced for a 204 or a 304 spoils the connection
    /// too, because servers tend to send that body after the response was taken for complete.
    pub fn are_doubtful(&self, status: u16, version_1_1: bool) -> bool {
        let announced = self.chunked || self.length > Some(0);
        self.chunked && (self.length.is_some() || !version_1_1)
            || announced && matches!(status, 204 | 304)
    }
}

/// Only digits: no sign, no space.
pub(crate) fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
