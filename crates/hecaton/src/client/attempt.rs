//! One attempt: a connection, the request on it, and as much of its response as the attempt is to read.

use std::sync::Arc;

use super::body_reader::{BodyReader, Http1Body, Source, decoder};
use super::http2::Reply;
use super::open_response::{Body, OpenResponse, Order, Reading};
use super::shared::Shared;
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
        order: Order,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Broken> {
        let origin = &request.origin;
        let mut held = None;
        if self.pool.may_support_http2(origin) {
            // Boxed to keep the future of a plain request small.
            match Box::pin(self.attempt_http2(request, order, trace)).await? {
                Reply::Response(response) => return Ok(response),
                Reply::Http1(connection) => held = connection,
            }
        }
        let (permit, mut connection) = match held {
            Some(held) => held,
            None => {
                let held = self.pool.http1(origin, order.new_connection, trace).await;
                held.map_err(Broken::opening)?
            }
        };
        let http1 = &mut connection.http1;
        let (head, mut incoming) = exchange(http1, request, &self.config, trace).await?;
        trace.attempt().status = Some(head.status);
        let decoder = match head.coded {
            true => {
                decoder(request, &self.config, head.status, &head.fields).map_err(Broken::Failed)?
            }
            false => None,
        };
        let reading = self.reading_of(order, request, head.status, &head.fields);
        let body = if reading == Reading::Open || decoder.is_some() {
            let source = Source::Http1(Http1Body {
                origin: origin.clone(),
                incoming,
                framing: head.framing,
                connection,
                permit,
            });
            let reader = BodyReader::new(source, decoder, self);
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
                self.pool.put(origin, connection, trace.mark);
            }
            Body::Whole(whole, trailers)
        };
        Ok(OpenResponse {
            status: head.status,
            fields: head.fields,
            body,
        })
    }
}
