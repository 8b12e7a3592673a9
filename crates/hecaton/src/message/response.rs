//! A response read whole.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use crate::message::attempt::Attempt;
use crate::message::fields::{Fields, Trailers};
use crate::message::redirect::Redirect;
use crate::message::sent::Sent;

/// A response whose body has been read to its end.
#[derive(Clone, Debug)]
pub struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Vec<u8>,
    pub(crate) body: Bytes,
    pub(crate) trailers: Trailers,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) elapsed: Duration,
    /// The request that was sent last.
    pub(crate) request: Sent,
}

impl Response {
    /// The status code, 200 to 999, because 1xx are skipped. It is 101 if the request has an `Upgrade`. Then the body
    /// is empty and the connection is closed, because the engine does not hand the connection over.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The value of a header, the first one if it is repeated; the name in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        Fields(&self.fields).get(name)
    }

    /// The values of a header in order, one for each field of that name; the name in any case.
    pub fn header_values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        Fields(&self.fields).all(name)
    }

    /// The value of the first `Content-Type`.
    pub fn content_type(&self) -> Option<&[u8]> {
        Fields(&self.fields).content_type()
    }

    /// The headers in order, names in lower case; repeats stay.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        Fields(&self.fields).iter()
    }

    /// The headers as one block of lines: `name: value\r\n`.
    pub fn header_block(&self) -> &[u8] {
        &self.fields
    }

    /// The trailers after the body (RFC 9110 §6.5), like headers. Most responses have none.
    pub fn trailers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        Fields(self.trailer_block()).iter()
    }

    /// The trailers as one block of lines: `name: value\r\n`.
    pub fn trailer_block(&self) -> &[u8] {
        self.trailers.as_ref().map_or(&[], |block| block)
    }

    /// The body, without transfer coding.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The body, taken out.
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// This response with another body, for example one that a program assembled from pieces.
    #[must_use]
    pub fn with_body(mut self, body: Bytes) -> Response {
        self.body = body;
        self
    }

    /// This response with another status and other headers, as one block of lines `name: value\r\n`: for example, the
    /// head of the whole file for a download that was resumed by `Range`.
    #[must_use]
    pub fn with_head(mut self, status: u16, header_block: Vec<u8>) -> Response {
        (self.status, self.fields) = (status, header_block);
        self
    }

    /// The URL of the response, with its query: the request's own, or the target of the last redirect.
    pub fn url(&self) -> String {
        self.request.url()
    }

    /// The method of the last request: the request's own, or the one that redirects changed it to.
    pub fn method(&self) -> &Method {
        &self.request.method
    }

    /// The URL, appended to `out`.
    pub fn write_url(&self, out: &mut Vec<u8>) {
        self.request.write_url(out);
    }

    /// The redirects that were followed, in order.
    pub fn redirects(&self) -> &[Redirect] {
        &self.request.redirected
    }

    /// The attempts, in order; the last one brought this response.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// From the start of the request to the last byte of the body.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}
