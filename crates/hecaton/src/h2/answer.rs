//! A request on a stream of an HTTP/2 connection, from the wait for one to its answer.

use std::sync::Arc;

use super::acquire::{Acquired, Opened, acquire};
use super::exchange::exchange;
use crate::attempt::Trace;
use crate::buffered::Buffered;
use crate::client::{Answer, Body, Order, Reading, Shared};
use crate::exchange::Broken;
use crate::request::Request;
use crate::rest::{Rest, Source, decoder};

/// What comes of an attempt.
pub(crate) enum Reply {
    Answer(Answer),
    /// The peer speaks HTTP/1.1: a connection that was opened to learn so, or none.
    Http1(Option<Opened>),
}

/// The answer to one attempt.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    request: &Request,
    order: Order,
    trace: &mut Trace,
) -> Result<Reply, Broken> {
    let config = &shared.config;
    let acquired = acquire(shared, &request.origin, trace).await;
    let lease = match acquired.map_err(Broken::Failed)? {
        Acquired::Stream(lease) => lease,
        Acquired::Http1(opened) => return Ok(Reply::Http1(opened)),
    };
    let (head, mut incoming) = exchange(lease, request, config, trace).await?;
    let decoder = decoder(request, config, &head.fields).map_err(Broken::Failed)?;
    let reading = shared.reading_of(order, request, head.status, &head.fields);
    let body = if reading == Reading::Open || decoder.is_some() {
        let rest = Rest::new(Source::Http2(shared.clone(), incoming), decoder);
        rest.body(reading, trace).await.map_err(Broken::Failed)?
    } else {
        let share = Buffered::share(&shared.buffered);
        let whole = incoming.whole(config, share).await;
        let whole = whole.map_err(Broken::Failed)?;
        trace.attempt().read = trace.lap();
        drop(incoming);
        shared.sessions.keep_few(&shared.pool);
        Body::Whole(whole)
    };
    Ok(Reply::Answer(Answer {
        status: head.status,
        fields: head.fields,
        body,
    }))
}
