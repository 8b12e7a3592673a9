//! Retries by the program's retry predicate, with the waits and the limit of `retry`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::sleep;

use crate::client::attempts::Course;
use crate::client::hooks::Hooks;
use crate::client::open_response::OpenResponse;
use crate::client::replaced::so_far;
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
    pub async fn run_by_predicate(
        self: &Arc<Self>,
        request: &mut Request,
        course: &mut Course,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Failure> {
        let first = request.clone();
        let mut tries = 0;
        loop {
            let result = self.once(request, course, trace).await;
            tries += 1;
            let fields = result.as_ref().map(|response| &response.fields[..]);
            let retry = self.retry_of(request);
            let wait = retry.and_then(|retry| retry.wait_for_predicate(tries, fields.ok()));
            // If Retry-After goes past the deadline, the predicate need not be called.
            let Some(wait) = wait.filter(|wait| *wait < trace.deadline.left()) else {
                return result;
            };
            let Some((hooks, number)) = self.retry_predicate_of(request) else {
                return result;
            };
            let again = hooks.again(number, outcome(&result, request, trace));
            if !again.await || wait >= trace.deadline.left() {
                return result;
            }
            if !first.body.begin_again() {
                return result.map_err(Failure::only_once);
            }
            self.counts.retries.fetch_add(1, Ordering::Relaxed);
            if let Some(passed) = self.passed(result, request, trace) {
                passed.await;
            }
            *request = first.clone();
            trace.redirects = 0;
            sleep(trace.skip_if_given(wait)).await;
            trace.lap();
        }
    }
}

/// The outcome so far: the body may be unread.
fn outcome(
    result: &Result<OpenResponse, Failure>,
    request: &Request,
    trace: &Trace,
) -> Result<Response, Error> {
    match result {
        Ok(response) => Ok(so_far(response, request, trace)),
        Err(failure) => {
            let (failure, attempts) = (failure.clone(), trace.attempts.clone());
            let elapsed = trace.deadline.begun.elapsed();
            Err(Error::new(failure, request.into(), elapsed, attempts))
        }
    }
}
