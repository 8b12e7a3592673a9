//! The attempts of a request, one after the other: what each ending means, and what follows it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::time::sleep;

use crate::client::open_response::{AttemptOptions, Body, OpenResponse, Reading};
use crate::client::replaced::pass_over;
use crate::client::resends::{Facts, Resend, Resends};
use crate::client::shared::Shared;
use crate::message::attempt::{Ending, Trace};
use crate::message::broken::Broken;
use crate::message::failure::Failure;
use crate::message::request::Request;
use crate::message::retry::Retry;

/// How far a request has come.
pub(crate) struct Course {
    options: AttemptOptions,
    /// Retries by the rules, at all URLs together.
    retries: u32,
    /// Re-sends to the current URL. Each URL has its own number, because its connections may be stale too.
    resends: Resends,
}

/// The step after an attempt: the result, or another attempt, perhaps after a pause.
type Verdict = ControlFlow<Result<OpenResponse, Failure>, Option<BoxFuture<'static, ()>>>;

/// A pause, after the body of the previous response was passed over. Boxed, because most requests need no pause.
fn pause(wait: Duration, passed: Option<BoxFuture<'static, ()>>) -> Option<BoxFuture<'static, ()>> {
    if wait.is_zero() {
        return passed;
    }
    Some(Box::pin(async move {
        if let Some(passed) = passed {
            passed.await;
        }
        sleep(wait).await;
    }))
}

impl Shared {
    /// The course of a request before its first attempt.
    pub fn course(&self, request: &Request, reading: Reading) -> Course {
        let retry = self.retry_by_rule(request);
        Course {
            options: AttemptOptions {
                reading,
                new_connection: false,
                no_retries_left: retry.is_none_or(|retry| retry.max == 0),
            },
            retries: 0,
            resends: Resends::default(),
        }
    }

    /// The attempts at one URL, one after the other, as long as `verdict` demands another.
    pub async fn run(
        self: &Arc<Self>,
        request: &mut Request,
        course: &mut Course,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Failure> {
        course.resends = Resends::default();
        if request.options.is_some() {
            Shared::begin_digest(request);
        }
        loop {
            let mut changed = None;
            if request.options.is_some() {
                self.prove(request);
                changed = Box::pin(self.before_attempt(request, trace)).await?;
            }
            trace.begin();
            let to_send = changed.as_deref().unwrap_or(request);
            let result = match self.interceptor_of(to_send) {
                None => self.attempt(to_send, course.options, trace).await,
                Some(by) => {
                    let attempt = self.intercepted(to_send, by, course.options, trace);
                    Box::pin(attempt).await?
                }
            };
            match self.verdict(result, course, request, trace) {
                Verdict::Break(Ok(response)) if self.is_left_open(&response, course, request) => {
                    return Box::pin(response.read_whole(trace)).await;
                }
                Verdict::Break(result) => return result,
                Verdict::Continue(None) => {}
                Verdict::Continue(Some(pause)) => pause.await,
            }
            trace.lap();
        }
    }

    /// Ends the attempt, and says what comes after it.
    fn verdict(
        &self,
        result: Result<OpenResponse, Broken>,
        course: &mut Course,
        request: &mut Request,
        trace: &mut Trace,
    ) -> Verdict {
        course.options.new_connection = false;
        let result = match result {
            Ok(response) => {
                trace.end(Ending::Status(response.status), trace.mark);
                if let Some(jar) = &self.cookies {
                    jar.keep(request, &response.fields);
                }
                Ok(response)
            }
            Err(broken) => match self.leave(broken, course, request, trace) {
                Ok(to) => {
                    course.options.new_connection = to.new_connection;
                    return Verdict::Continue(pause(trace.skip_if_given(to.wait), None));
                }
                Err(failure) => Err(failure),
            },
        };
        if let (Some(_), Ok(response)) = (&request.options, &result) {
            match self.take_challenge(request, response.status, &response.fields) {
                Ok(false) => {}
                Ok(true) => return Verdict::Continue(self.passed(result, request, trace)),
                Err(failure) => return Verdict::Break(Err(failure)),
            }
        }
        self.retry_or_end(result, course, request, trace)
    }

    /// A retry if the rules demand one and time is left, or else the end of the attempts at this URL.
    fn retry_or_end(
        &self,
        result: Result<OpenResponse, Failure>,
        course: &mut Course,
        request: &Request,
        trace: &mut Trace,
    ) -> Verdict {
        let sent = trace.attempt().sent;
        let wait = self.wait_before_retry(request, course.retries + 1, sent, &result);
        let Some(wait) = wait.filter(|wait| *wait < trace.deadline.left()) else {
            return Verdict::Break(result);
        };
        // False if some of a body that can be read only once was taken already.
        if !request.body.begin_again() {
            return Verdict::Break(result.map_err(Failure::only_once));
        }
        course.retries += 1;
        let most = self.retry_by_rule(request).map_or(0, |retry| retry.max);
        course.options.no_retries_left = course.retries >= most;
        self.counts.retries.fetch_add(1, Ordering::Relaxed);
        let passed = self.passed(result, request, trace);
        Verdict::Continue(pause(trace.skip_if_given(wait), passed))
    }

    /// A future that passes over the body of a response that another attempt replaces; none if nothing is to be done.
    pub fn passed(
        &self,
        result: Result<OpenResponse, Failure>,
        request: &Request,
        trace: &Trace,
    ) -> Option<BoxFuture<'static, ()>> {
        let response = result.ok()?;
        let observation = self.observation(&response, request, trace);
        pass_over(response.body, observation, trace.mark)
    }

    /// Whether the body of the last response was left open, and is needed after all.
    fn is_left_open(&self, response: &OpenResponse, course: &Course, request: &Request) -> bool {
        course.options.reading == Reading::Whole
            && matches!(response.body, Body::Open(_))
            && !self.may_follow(request, response.status, &response.fields)
    }

    /// How the body of a response with this status and these headers is read: not yet, if another attempt may follow a
    /// status from 300 on, by a redirect, the retry rules or digest authentication. A lower status may be retried too,
    /// after its body. The retry predicate is not called.
    pub fn reading_of(
        &self,
        options: AttemptOptions,
        request: &Request,
        status: u16,
        fields: &[u8],
    ) -> Reading {
        let may_retry = || {
            let retry = self.retry_by_rule(request);
            let retry = retry.filter(|_| !options.no_retries_left)?;
            retry.after_status(&request.method, 1, status, fields)
        };
        let may_continue = status >= 300
            && (self.may_follow(request, status, fields)
                || may_retry().is_some()
                || Shared::demand(request, status, fields).is_some());
        match may_continue {
            true => Reading::Open,
            false => options.reading,
        }
    }

    /// Ends an attempt without a whole response. A re-send follows; after a failure, the retry rules decide.
    fn leave(
        &self,
        broken: Broken,
        course: &mut Course,
        request: &Request,
        trace: &mut Trace,
    ) -> Result<Resend, Failure> {
        let facts = Facts {
            idempotent: request.method.is_idempotent(),
            reused: trace.attempt().reused,
            sent: trace.attempt().sent,
            reconnect: self.config.reconnect,
        };
        let next = course.resends.next(&broken, &facts);
        let next = next.filter(|to| to.wait.is_zero() || to.wait < trace.deadline.left());
        let unsent = !facts.sent && matches!(broken, Broken::Unsent | Broken::Ended(_));
        let (ending, result) = match next {
            // A body is rewound only for a request that is re-sent.
            Some(to) if unsent || request.body.begin_again() => (Ending::Resent, Ok(to)),
            Some(_) => (Ending::Failed, Err(broken.into_failure().only_once())),
            None => (Ending::Failed, Err(broken.into_failure())),
        };
        trace.end(ending, Instant::now());
        result
    }

    /// The retry rules of a request: its own, or else those of its client.
    pub fn retry_of<'a>(&'a self, request: &'a Request) -> Option<&'a Retry> {
        match request.options.as_ref().and_then(|own| own.retry.as_ref()) {
            None => self.config.retry.as_ref(),
            Some(own) => own.as_ref(),
        }
    }

    /// The retry rules of a request without the retry predicate.
    fn retry_by_rule<'a>(&'a self, request: &'a Request) -> Option<&'a Retry> {
        self.retry_of(request)
            .filter(|_| self.retry_predicate_of(request).is_none())
    }

    fn wait_before_retry(
        &self,
        request: &Request,
        tries: u32,
        sent: bool,
        result: &Result<OpenResponse, Failure>,
    ) -> Option<Duration> {
        let (retry, method) = (self.retry_by_rule(request)?, &request.method);
        match result {
            Ok(response) => retry.after_status(method, tries, response.status, &response.fields),
            Err(failure) => retry.after_failure(method, tries, sent, failure),
        }
    }
}
