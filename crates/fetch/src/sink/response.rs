//! A response whose body is to be stored.

use std::net::IpAddr;

/// A response whose body is to be stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredResponse<'a> {
    /// The number of the input.
    pub number: u64,
    /// The name that the file of its body is to have, if the job gives names.
    pub name: Option<&'a str>,
    /// The URL of the response.
    pub url: &'a str,
    /// Its status.
    pub status: u16,
    /// The words behind the status.
    pub reason: &'a str,
    /// Its headers in their order, as they came.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Whether the body was decoded from what `Content-Encoding` says.
    pub decoded: bool,
    /// The address that it came from, if that is the server's.
    pub ip: Option<IpAddr>,
    /// When the request began, as RFC 3339 has it, in UTC.
    pub at: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl StoredResponse<'_> {
    /// The value of a header that is text, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }
}
