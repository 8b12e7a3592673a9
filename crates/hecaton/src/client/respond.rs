//! A request from its beginning to its response or failure, under its one deadline.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::Either;
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

use crate::client::attempts::Course;
use crate::client::open_response::{OpenResponse, Reading};
use crate::client::shared::Shared;
use crate::message::attempt::Trace;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::origin::Origin;
use crate::message::request::Request;

impl Shared {
    /// Runs the request under its one deadline.
    pub async fn respond(
        self: &Arc<Self>,
        request: &mut Request,
        reading: Reading,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Failure> {
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        // The timer counts milliseconds, and a request can be sent within one. With a limit of zero nothing may start.
        if trace.deadline.limit.is_zero() {
            return Err(trace.used_up());
        }
        if let Some(announced) = request.announced() {
            let refused = |why| Failure::new(Kind::Body, Phase::Queue, why).for_good();
            announced.check(&request.body).map_err(refused)?;
        }
        let at = trace.deadline.at.into();
        let course = &mut self.course(request, reading);
        let result = match self.retry_predicate_of(request).is_some() {
            // Boxed like everything that most requests do not need.
            true => {
                let outcome = self.run_by_predicate(request, course, trace);
                timeout_at(at, Box::pin(outcome)).await
            }
            false => timeout_at(at, self.once(request, course, trace)).await,
        };
        self.by_deadline(result, &request.origin, trace)
    }

    /// The result of what was timed by the deadline.
    pub fn by_deadline<T>(
        &self,
        result: Result<Result<T, Failure>, Elapsed>,
        origin: &Arc<Origin>,
        trace: &Trace,
    ) -> Result<T, Failure> {
        let result = match result {
            Ok(result) => result.map_err(|failure| trace.unless_late(failure)),
            Err(_) => Err(trace.used_up()),
        };
        let counts = &self.pool.connection_counts;
        result.map_err(|failure| counts.explain_silence(failure, origin, trace.attempts.last()))
    }

    /// One run of a request, from its first URL to a response. A retry predicate may cause several.
    pub fn once(
        self: &Arc<Self>,
        request: &mut Request,
        course: &mut Course,
        trace: &mut Trace,
    ) -> impl Future<Output = Result<OpenResponse, Failure>> + Send {
        match self.is_plain(request) {
            true => Either::Left(self.run(request, course, trace)),
            false => Either::Right(Box::pin(self.follow_redirects(request, course, trace))),
        }
    }
}
