//! A response whose body is read piece by piece, as fast as its reader takes it and no faster.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use tokio::time::timeout_at;

use crate::client::body_reader::BodyReader;
use crate::client::open_response::{Body, OpenResponse};
use crate::content::buffered::Share;
use crate::message::attempt::{Attempt, Ending, Trace};
use crate::message::error::Error;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::{Fields, Trailers};
use crate::message::redirect::Redirect;
use crate::message::response::Response;
use crate::message::sent::Sent;

/// A response of which the head has come and the body is still to be read.
///
/// A slow reader holds up the server. Over HTTP/1.1 the part of the body that is held stays far below 1 MiB. Over
/// HTTP/2 it is at most the stream's window: 1 MiB, and up to 16 MiB on a connection whose readers took much. While a
/// client has many streams, all windows together are 64 MiB, or `max_buffered`, but each is at least 64 KiB. The total
/// deadline and the limit between two pieces still hold. The reader's own time counts only for the total deadline.
/// `max_body` does not apply, because it is for bodies that are held whole.
///
/// An HTTP/1.1 connection goes back to the pool when the end of the body has come: with the last piece, or with the
/// call that returns none. Dropping the `Streaming` before that closes the connection; over HTTP/2 it only resets the
/// stream.
pub struct Streaming {
    status: u16,
    fields: Vec<u8>,
    trace: Trace,
    /// The request that was sent last.
    request: Sent,
    /// Known once the body has been read whole.
    trailers: Trailers,
    state: State,
    /// The memory of the decoder, which counts among that of all bodies.
    share: Option<Share>,
}

enum State {
    Going(Box<BodyReader>),
    Ended,
    Failed(Error),
}

impl Streaming {
    /// The stream of a response whose body is unread.
    pub(crate) fn new(response: OpenResponse, trace: Trace, request: Sent) -> Streaming {
        let mut stream = Streaming {
            status: response.status,
            fields: response.fields,
            trace,
            request,
            trailers: None,
            state: match response.body {
                Body::Open(reader) => State::Going(reader),
                Body::Whole(..) => unreachable!("bodies are read as the attempt requires"),
            },
            share: None,
        };
        stream.finish_if_whole();
        stream
    }

    /// The status code, 200 to 999, because 1xx are skipped. It is 101 if the request has an `Upgrade`. Then the body
    /// is empty and the connection is closed, because the engine does not hand the connection over.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The value of a header, the first one if it is repeated; the name in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        Fields(&self.fields).get(name)
    }

    /// The headers in order, names in lower case; repeats stay.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        Fields(&self.fields).iter()
    }

    /// The headers as one block of lines, `name: value\r\n`, names in lower case; repeats stay.
    pub fn header_block(&self) -> &[u8] {
        &self.fields
    }

    /// The trailers after the body (RFC 9110 §6.5), as a block like that of the headers. Empty before the body has been
    /// read to its end, and where there are none.
    pub fn trailer_block(&self) -> &[u8] {
        self.trailers.as_ref().map_or(&[], |block| block)
    }

    /// The URL of the response, with its query: the request's own, or the target of the last redirect.
    pub fn url(&self) -> String {
        self.request.url()
    }

    /// The method of the last request; redirects may have changed it.
    pub fn method(&self) -> &Method {
        &self.request.method
    }

    /// The redirects that were followed, in order.
    pub fn redirects(&self) -> &[Redirect] {
        &self.request.redirected
    }

    /// The attempts, in order; the last one brought this response.
    pub fn attempts(&self) -> &[Attempt] {
        &self.trace.attempts
    }

    /// From the start of the request to the head of the response; once the body has been read, to its
    /// last byte.
    pub fn elapsed(&self) -> Duration {
        self.trace.elapsed()
    }

    /// The next piece of the body, never empty, of at most a few hundred KiB; none once it has been read whole. A body
    /// that ends too early is an error, and every later call returns an error again.
    ///
    /// Dropping the future loses nothing: the next call continues.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let deadline = self.trace.deadline.at;
        let Some(reader) = self.reader()? else {
            return Ok(None);
        };
        let result = in_time(deadline, reader.piece()).await;
        let piece = self.after_reading(result)?;
        self.count_memory()?;
        Ok(piece)
    }

    /// Reads what is left, and makes a response of it. A body larger than `max_body` is an error.
    pub(crate) async fn whole(&mut self) -> Result<Response, Error> {
        let deadline = self.trace.deadline.at;
        let mut body = Bytes::new();
        if let Some(reader) = self.reader()? {
            let result = in_time(deadline, reader.read_whole()).await;
            body = self.after_reading(result)?;
        }
        let mut response = self.response();
        response.body = body;
        Ok(response)
    }

    /// The reader of the body. None if the body has been read.
    fn reader(&mut self) -> Result<Option<&mut BodyReader>, Error> {
        match &mut self.state {
            State::Going(reader) => Ok(Some(reader)),
            State::Ended => Ok(None),
            State::Failed(error) => Err(error.clone()),
        }
    }

    /// Returns what was read, or ends in the failure. None: the deadline has passed.
    fn after_reading<T>(&mut self, result: Option<Result<T, Failure>>) -> Result<T, Error> {
        match result.unwrap_or_else(|| Err(self.trace.used_up())) {
            Ok(read) => {
                self.finish_if_whole();
                Ok(read)
            }
            Err(failure) => {
                let failure = self.trace.unless_late(failure);
                Err(self.failed(failure))
            }
        }
    }

    /// Counts the memory of the decoder among that of all bodies, which may be limited. It counts until the body ends.
    fn count_memory(&mut self) -> Result<(), Error> {
        let memory = self.memory();
        let State::Going(reader) = &self.state else {
            return Ok(());
        };
        if memory == 0 {
            return Ok(());
        }
        let share = self.share.get_or_insert_with(|| reader.share());
        share
            .grow_to(memory)
            .map_err(|failure| self.failed(failure))
    }

    /// The memory of the decoder.
    fn memory(&self) -> usize {
        match &self.state {
            State::Going(reader) => reader.memory(),
            _ => 0,
        }
    }

    /// The response without its body.
    pub(crate) fn response(&self) -> Response {
        Response {
            status: self.status,
            fields: self.fields.clone(),
            body: Bytes::new(),
            trailers: self.trailers.clone(),
            attempts: self.trace.attempts.clone(),
            elapsed: self.elapsed(),
            request: self.request.clone(),
        }
    }

    /// Gives the rest of the body up: closes an HTTP/1.1 connection, or resets the stream. Does nothing if the body has
    /// been read whole or has failed. Later calls of `chunk` fail with an error of kind [`Cancelled`](Kind::Cancelled).
    pub fn close(&mut self) {
        if let State::Going(_) = self.state {
            let detail = "the response was closed before its body was read whole";
            self.end(Failure::new(Kind::Cancelled, Phase::Read, detail));
        }
    }

    /// Puts the connection back once the end of the body has come and its last piece has been taken.
    fn finish_if_whole(&mut self) {
        if let State::Going(reader) = &mut self.state {
            if reader.is_whole() {
                self.trace.attempt().read_time = self.trace.lap();
                let ending = self.trace.attempt().ending.clone();
                self.trace.end(ending, self.trace.mark);
                self.trailers = reader.take_trailers();
                let State::Going(reader) = std::mem::replace(&mut self.state, State::Ended) else {
                    return;
                };
                self.share = None;
                reader.put_away(self.trace.mark);
            }
        }
    }

    /// Ends in a failure of this attempt.
    fn failed(&mut self, failure: Failure) -> Error {
        self.trace.end(Ending::Failed, Instant::now());
        self.end(failure)
    }

    /// Ends with an error, which every later call returns.
    fn end(&mut self, failure: Failure) -> Error {
        let attempts = self.trace.attempts.clone();
        let elapsed = self.trace.deadline.begun.elapsed();
        let error = Error::new(failure, self.request.clone(), elapsed, attempts);
        self.state = State::Failed(error.clone());
        self.share = None;
        error
    }
}

/// The result of reading; none if the deadline passes first. Bytes that have arrived would be returned even after it. A
/// reader that is late must get the error.
async fn in_time<T>(deadline: Instant, read: impl Future<Output = T>) -> Option<T> {
    match deadline > Instant::now() {
        true => timeout_at(deadline.into(), read).await.ok(),
        false => None,
    }
}
