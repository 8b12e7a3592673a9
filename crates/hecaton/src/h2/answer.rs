//! A request on a stream of an HTTP/2 connection, from the wait for one to its answer.

use std::sync::Arc;

use super::acquire::{Acquired, acquire};
use super::exchange::exchange;
use crate::attempt::Trace;
use crate::client::{Answer, Body, Reading, Shared};
use crate::config::Protocol;
use crate::exchange::Broken;
use crate::request::Request;
use crate::stream::Rest;

/// The answer to one attempt; none when the peer, or the client by its settings, speaks HTTP/1.1.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    request: &Request,
    reading: Reading,
    trace: &mut Trace,
) -> Result<Option<Answer>, Broken> {
    let config = &shared.config;
    if config.http == Protocol::Http1 {
        return Ok(None);
    }
    let acquired = acquire(shared, &request.origin, trace).await;
    let Acquired::Stream(lease) = acquired.map_err(Broken::Failed)? else {
        return Ok(None);
    };
    let (head, mut incoming) = exchange(lease, request, config, trace).await?;
    let body = if reading == Reading::Open {
        Body::Open(Box::new(Rest::Http2(shared.clone(), incoming)))
    } else {
        let whole = incoming.whole(config).await.map_err(Broken::Failed)?;
        trace.attempt().read = trace.lap();
        drop(incoming);
        shared.sessions.keep_few(&shared.pool);
        Body::Whole(whole)
    };
    Ok(Some(Answer {
        status: head.status,
        fields: head.fields,
        body,
    }))
}
