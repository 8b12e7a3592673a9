//! Retries by the program's retry predicate, with the waits and the limit of `retry`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::sleep;

use crate::client::deadline::Deadline;
use crate::client::hooks::Hooks;
use crate::client::open_response::{OpenResponse, Reading};
use crate::client::replaced::{pass_over, so_far};
use crate::client::shared::Shared;
use crate::message::attempt::Trace;
use crate::message::error::Error;
use crate::message::failure::Failure;
use crate::message::request::Request;
use crate::message::response::Response;

impl Shared {
    /// The retry predicate of this request, and the number by which it knows the request.
    pub fn retry_predicate_of(&self, request: &Request) -> Option<(&Arc<dyn Hooks>, usize)> {
        let number = request.options.as_ref()?.predicate_number?;
        Some((self.hooks.as_ref()?, number))
    }

    /// Sends the request as often as its retry predicate says.
    pub async fn call_retry_predicate(
        self: &Arc<Self>,
        request: &mut Request,
        reading: Reading,
        deadline: &mut Deadline,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Failure> {
        let first = request.clone();
        let mut tries = 0;
        loop {
            let result = self.once(request, reading, deadline, trace).await;
            tries += 1;
            let fields = result.as_ref().map(|response| &response.fields[..]);
            let retry = self.retry_of(request);
            let Some(wait) = retry.and_then(|retry| retry.wait_for_predicate(tries, fields.ok()))
            else {
                return result;
            };
            // If Retry-After goes past the deadline, the predicate need not be called.
            if wait >= deadline.left() {
                return result;
            }
            let Some((hooks, number)) = self.retry_predicate_of(request) else {
                return result;
            };
            let again = hooks.again(number, outcome(&result, request, deadline, trace));
            if !again.await || wait >= deadline.left() {
                return result;
            }
            if !first.body.begin_again() {
                return result.map_err(Failure::only_once);
            }
            self.counts.retries.fetch_add(1, Ordering::Relaxed);
            if let Ok(response) = result {
                let observation = self.observation(&response, request, deadline, trace);
                if let Some(passed) = pass_over(response.body, observation, trace.mark) {
                    passed.await;
                }
            }
            *request = first.clone();
            trace.redirects = 0;
            sleep(deadline.pass(wait, trace)).await;
            trace.lap();
        }
    }
}

/// The outcome so far: the body may be unread.
fn outcome(
    result: &Result<OpenResponse, Failure>,
    request: &Request,
    deadline: &Deadline,
    trace: &Trace,
) -> Result<Response, Error> {
    match result {
        Ok(response) => Ok(so_far(response, request, deadline, trace)),
        Err(failure) => Err(Error::new(
            failure.clone(),
            request.display_url(),
            request.redirected.clone(),
            deadline.begun.elapsed(),
            trace.attempts.clone(),
        )),
    }
}
