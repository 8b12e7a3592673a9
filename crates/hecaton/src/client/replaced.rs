//! Responses that are not the outcome: another attempt replaces them, or their redirect is refused. The rest of their
//! bodies is passed over, or read for the program that observes them.
//!
//! They are observed here, and not when they come, because the program may read the body of its response in pieces.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::hooks::Hooks;
use super::open_response::{Body, OpenResponse};
use super::shared::Shared;
use crate::message::attempt::Trace;
use crate::message::request::Request;
use crate::message::response::Response;

/// A response for its observer, as far as it has been read.
pub(super) struct Observation {
    hooks: Arc<dyn Hooks>,
    number: usize,
    response: Response,
}

impl Shared {
    /// The response of this request for its observer; none if nobody observes it.
    pub(super) fn observation(
        &self,
        response: &OpenResponse,
        request: &Request,
        trace: &Trace,
    ) -> Option<Box<Observation>> {
        let number = request.options.as_ref()?.intercepted_as?;
        let hooks = self.hooks.clone().filter(|_| trace.observed)?;
        Some(Box::new(Observation {
            hooks,
            number,
            response: so_far(response, request, trace),
        }))
    }
}

/// A future that passes over the body of a response; none if nothing is to be done. An observer gets
/// the body whole, or nothing if it cannot be read whole.
pub(super) fn pass_over(
    body: Body,
    observation: Option<Box<Observation>>,
    now: Instant,
) -> Option<BoxFuture<'static, ()>> {
    match (body, observation) {
        (Body::Whole(..), None) => None,
        (Body::Open(reader), None) => Some(reader.skip(now).boxed()),
        (body, Some(observation)) => Some(observe(body, *observation, now).boxed()),
    }
}

async fn observe(body: Body, observation: Observation, now: Instant) {
    let whole = match body {
        Body::Whole(body, trailers) => Some((body, trailers)),
        Body::Open(reader) => reader.collect(now).await,
    };
    if let Some((body, trailers)) = whole {
        let Observation {
            hooks,
            number,
            response,
        } = observation;
        let response = Response {
            body,
            trailers,
            ..response
        };
        hooks.observe(number, response).await;
    }
}

/// The response so far: the body may be unread.
pub(super) fn so_far(response: &OpenResponse, request: &Request, trace: &Trace) -> Response {
    let (body, trailers) = response.body.so_far();
    Response {
        status: response.status,
        fields: response.fields.clone(),
        body,
        trailers,
        attempts: trace.attempts.clone(),
        elapsed: trace.elapsed(),
        request: request.into(),
    }
}
