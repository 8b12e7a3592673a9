//! One attempt: a connection, the request on it, and as much of its response as the attempt is to read.

use std::sync::Arc;

use super::body_reader::{BodyReader, Http1Body, Source, decoder};
use super::open_response::{AttemptOptions, Body, OpenResponse, Reading};
use super::shared::Shared;
use super::stream_attempt::Reply;
use crate::content::Decoder;
use crate::content::buffered::Buffered;
use crate::h1::exchange::exchange;
use crate::message::attempt::Trace;
use crate::message::broken::Broken;
use crate::message::request::Request;

impl Shared {
    /// One attempt, on a reused connection or a new one.
    pub async fn attempt(
        self: &Arc<Self>,
        request: &Request,
        options: AttemptOptions,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Broken> {
        let mut held = None;
        if self.pool.may_share(&request.origin) {
            // Boxed to keep the future of a plain request small.
            match Box::pin(self.attempt_on_stream(request, options, trace)).await? {
                Reply::Response(response) => return Ok(response),
                Reply::Http1(connection) => held = connection,
            }
        }
        let mut held = match held {
            Some(held) => held,
            None => {
                let new = options.new_connection;
                let held = self.pool.http1(&request.origin, new, trace).await;
                held.map_err(Broken::opening)?
            }
        };
        let http1 = &mut held.connection.http1;
        let (head, mut incoming) = exchange(http1, request, &self.config, trace).await?;
        let (status, fields) = (head.status, &head.fields[..]);
        let decoder = self.received(request, status, fields, head.coded, trace)?;
        let reading = self.reading_of(options, request, status, fields);
        let body = if reading == Reading::Open || decoder.is_some() {
            let body = Http1Body::new(request, incoming, head.framing, held);
            let reader = BodyReader::new(Source::Http1(body), decoder, self);
            let body = Box::pin(reader.body(reading, trace)).await;
            body.map_err(Broken::Failed)?
        } else {
            http1.share = Buffered::share(&self.buffered);
            let whole = incoming.whole(http1, &self.config).await;
            let report = |failure| incoming.with_received(failure, head.framing, http1);
            let whole = whole.map_err(|failure| Broken::Failed(report(failure)))?;
            trace.attempt().read_time = trace.lap();
            let trailers = incoming.take_trailers();
            if incoming.finish(http1) {
                self.pool.put(&request.origin, held.connection, trace.mark);
            }
            Body::Whole(whole, trailers)
        };
        Ok(OpenResponse {
            status: head.status,
            fields: head.fields,
            body,
        })
    }

    /// Notes the status of a response, and its `Alt-Svc` if `http` is `Any`. Returns the decoder of its body if there
    /// is a `Content-Encoding` and the body is to be decoded.
    pub(super) fn received(
        &self,
        request: &Request,
        status: u16,
        fields: &[u8],
        coded: bool,
        trace: &mut Trace,
    ) -> Result<Option<Box<Decoder>>, Broken> {
        trace.attempt().status = Some(status);
        self.pool.note_alt_svc(&request.origin, fields);
        match coded {
            true => decoder(request, &self.config, status, fields).map_err(Broken::Failed),
            false => Ok(None),
        }
    }
}
