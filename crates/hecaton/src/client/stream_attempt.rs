//! One attempt on a shared connection: a stream of it, the request on it, and as much of its response as the attempt is
//! to read.

use std::sync::Arc;

use super::body_reader::{BodyReader, Source};
use super::open_response::{AttemptOptions, Body, OpenResponse, Reading};
use super::shared::Shared;
use crate::content::buffered::Buffered;
use crate::message::attempt::Trace;
use crate::message::broken::Broken;
use crate::message::request::Request;
use crate::pool::Held;
use crate::pool::acquire::{Acquired, acquire};

/// The result of an attempt on a shared connection.
pub(super) enum Reply {
    Response(OpenResponse),
    /// The peer supports only HTTP/1.1. Holds the connection on which this was found out, if there is one.
    Http1(Option<Held>),
}

impl Shared {
    /// One attempt, unless the peer turns out to support only HTTP/1.1.
    pub(super) async fn attempt_on_stream(
        self: &Arc<Self>,
        request: &Request,
        options: AttemptOptions,
        trace: &mut Trace,
    ) -> Result<Reply, Broken> {
        let config = &self.config;
        let acquired = acquire(&self.pool, &request.origin, trace).await;
        let stream = match acquired.map_err(Broken::opening)? {
            Acquired::Stream(stream) => stream,
            Acquired::Http1(held) => return Ok(Reply::Http1(held)),
        };
        let (head, mut incoming) = stream.exchange(request, config, trace).await?;
        let (status, fields) = (head.status, &head.fields[..]);
        let decoder = self.received(request, status, fields, true, trace)?;
        let reading = self.reading_of(options, request, status, fields);
        let body = if reading == Reading::Open || decoder.is_some() {
            let reader = BodyReader::new(Source::Stream(incoming), decoder, self);
            reader.body(reading, trace).await.map_err(Broken::Failed)?
        } else {
            let share = Buffered::share(&self.buffered);
            let whole = incoming.whole(config, share).await;
            let whole = whole.map_err(Broken::Failed)?;
            trace.attempt().read_time = trace.lap();
            let trailers = incoming.take_trailers();
            drop(incoming);
            self.pool.keep_few();
            Body::Whole(whole, trailers)
        };
        Ok(Reply::Response(OpenResponse {
            status: head.status,
            fields: head.fields,
            body,
        }))
    }
}
