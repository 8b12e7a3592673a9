//! Writes heads and small responses as bytes.

use std::borrow::Cow;

use http::StatusCode;

use crate::wire::date;

/// The head of a response.
pub(crate) struct Head<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a str,
    /// Further fields. They are written as they are, so they must not contain line ends.
    pub(crate) fields: &'a [Field],
    pub(crate) length: Length,
    pub(crate) after: After,
}

/// The state of the connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It stays, as HTTP/1.1 does by default.
    Keep,
    /// It stays because a client of HTTP/1.0 requested it, and the response must say so.
    KeepAlive,
    Close,
}

/// Name and value of a header field.
pub(crate) type Field = (Cow<'static, str>, String);

/// How the body of a response is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Bytes(u64),
    Chunked,
    /// By the end of the connection; or the status allows no body (204, 304).
    Silent,
}

pub(crate) const TEXT: &str = "text/plain";
pub(crate) const JSON: &str = "application/json";

/// Where the date stands in every head of status 200.
pub(crate) const DATE_AT: usize = b"HTTP/1.1 200 OK\r\nDate: ".len();

impl Head<'_> {
    /// Writes the head with its empty line.
    pub(crate) fn write(&self, out: &mut Vec<u8>, date: [u8; date::LENGTH]) {
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(itoa::Buffer::new().format(self.status).as_bytes());
        out.push(b' ');
        out.extend_from_slice(reason(self.status).as_bytes());
        out.extend_from_slice(b"\r\nDate: ");
        out.extend_from_slice(&date);
        out.extend_from_slice(b"\r\nContent-Type: ");
        out.extend_from_slice(self.content_type.as_bytes());
        for (name, value) in self.fields {
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
        }
        match self.length {
            Length::Bytes(length) => {
                out.extend_from_slice(b"\r\nContent-Length: ");
                out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            }
            Length::Chunked => out.extend_from_slice(b"\r\nTransfer-Encoding: chunked"),
            Length::Silent => {}
        }
        out.extend_from_slice(match self.after {
            After::Keep => b"\r\n\r\n",
            After::KeepAlive => b"\r\nConnection: keep-alive\r\n\r\n",
            After::Close => b"\r\nConnection: close\r\n\r\n",
        });
    }
}

/// The reason phrase of a status, empty when it has none.
pub(crate) fn reason(status: u16) -> &'static str {
    StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("")
}

/// Whether responses of this status have no body by definition.
pub(crate) fn is_bodiless(status: u16) -> bool {
    matches!(status, 204 | 304)
}
