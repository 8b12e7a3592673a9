//! The outcome of a request: a response, or why it failed.

pub(super) type Outcome = Result<Response, Failure>;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: Class,
    pub(super) text: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The limit of the call is over.
    Late,
    /// The connection ended before a byte of the response.
    Ended,
    /// The connection was reset before a byte of the response.
    Reset,
    /// The connection broke within the head of the response.
    BrokenHead,
    /// The connection broke within the response's body.
    Broken,
    /// The response is no HTTP.
    Invalid,
    /// The call cannot be sent as it is.
    Refused,
    /// The connection of HTTP/2, or the stream, ended before the response.
    Gone,
    /// The stream of HTTP/3 ended before the whole response.
    Closed,
    /// The server says that it did not process the request.
    Unprocessed,
}

/// Ends a call with this failure.
pub(super) fn failed<T>(class: Class, text: &'static str) -> Result<T, Failure> {
    Err(Failure { class, text })
}

/// The values of the fields with this name, in any case of letters.
pub(super) fn values<'a>(
    fields: &'a [(String, String)],
    name: &str,
) -> impl Iterator<Item = &'a str> {
    let named = fields
        .iter()
        .filter(move |(found, _)| found.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value.as_str())
}

/// A response.
#[derive(Clone, Debug, Default)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) fields: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Response {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        values(&self.fields, name).next()
    }
}
