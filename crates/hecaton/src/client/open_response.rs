//! How an attempt reads its response, and the response before its outcome: its body may still be unread.

use std::time::Instant;

use bytes::Bytes;

use super::body_reader::BodyReader;
use crate::message::attempt::{Ending, Trace};
use crate::message::failure::Failure;
use crate::message::fields::Trailers;

/// A response whose body may still be unread.
pub(crate) struct OpenResponse {
    pub status: u16,
    pub fields: Vec<u8>,
    pub body: Body,
}

/// The body of a response.
pub(crate) enum Body {
    Whole(Bytes, Trailers),
    /// A body that is still to be read. Dropping it closes an HTTP/1.1 connection, or resets the stream.
    Open(Box<BodyReader>),
}

impl OpenResponse {
    /// Reads a body that was left open because it might not have been of use.
    pub async fn read_whole(self, trace: &mut Trace) -> Result<OpenResponse, Failure> {
        let body = match self.body {
            Body::Open(reader) => reader.body(Reading::Whole, trace).await,
            body => Ok(body),
        };
        let body = body.inspect_err(|_| trace.end(Ending::Failed, Instant::now()))?;
        Ok(OpenResponse { body, ..self })
    }
}

impl Body {
    /// The whole body, and the trailers after it.
    pub fn into_whole(self) -> (Bytes, Trailers) {
        match self {
            Body::Whole(body, trailers) => (body, trailers),
            Body::Open(_) => unreachable!("bodies are read as the attempt requires"),
        }
    }

    /// The body and the trailers, as far as they have been read.
    pub fn so_far(&self) -> (Bytes, Trailers) {
        match self {
            Body::Whole(body, trailers) => (body.clone(), trailers.clone()),
            Body::Open(_) => (Bytes::new(), None),
        }
    }
}

/// How a body is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Whole,
    Open,
}

/// The options of one attempt.
#[derive(Clone, Copy)]
pub(crate) struct AttemptOptions {
    pub reading: Reading,
    /// Whether the attempt's connection must be a new one. Only HTTP/1.1 heeds it: a shared connection says by itself
    /// whether it takes another stream.
    pub new_connection: bool,
    /// Whether the retry rules allow no further try.
    pub no_retries_left: bool,
}
