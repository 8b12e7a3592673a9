//! A response read whole.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;

use crate::attempt::Attempt;

/// A response whose body has been read to its end.
#[derive(Clone, Debug)]
pub struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) elapsed: Duration,
}

impl Response {
    /// The status code, 200 to 999 (1xx are not final and are skipped).
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers; repeats are kept.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body, without transfer coding.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body, taken out.
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// What was tried, in order; the last one brought this response.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// From the start of the request to the last byte of the body.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}
