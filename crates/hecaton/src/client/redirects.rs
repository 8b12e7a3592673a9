//! A request over several URLs: redirects, and the cookies that are sent to each.

use std::sync::Arc;

use crate::client::attempts::Course;
use crate::client::open_response::OpenResponse;
use crate::client::redirect_rules::{Limits, Trail, leads_elsewhere};
use crate::client::replaced::pass_over;
use crate::client::shared::Shared;
use crate::message::attempt::Trace;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::request::Request;

impl Shared {
    /// How many redirects of this request are followed.
    fn most_redirects(&self, request: &Request) -> u32 {
        let own = request.options.as_ref().and_then(|own| own.redirects);
        own.unwrap_or(self.config.redirects)
    }

    /// The limits for redirects of this request.
    pub fn redirect_limits(&self, request: &Request) -> Limits<'_> {
        Limits {
            most: self.most_redirects(request),
            to_http: self.config.redirects_to_http,
            may_return: self.cookies.is_some() || self.config.lenient,
            hosts: self.config.redirect_hosts.as_deref(),
            with_login: self.config.lenient,
        }
    }

    /// Whether the request is neither redirected nor gets cookies from a jar.
    pub fn is_plain(&self, request: &Request) -> bool {
        self.most_redirects(request) == 0 && self.cookies.is_none()
    }

    /// Whether this response is a redirect to follow, or one that fails because it cannot be followed.
    pub fn may_follow(&self, request: &Request, status: u16, fields: &[u8]) -> bool {
        self.most_redirects(request) > 0 && leads_elsewhere(status, fields)
    }

    /// One URL after the other, as long as the response is a redirect that may be followed.
    pub async fn follow_redirects(
        self: &Arc<Self>,
        request: &mut Request,
        course: &mut Course,
        trace: &mut Trace,
    ) -> Result<OpenResponse, Failure> {
        let most = self.most_redirects(request);
        let mut trail = Trail::new(request, self.redirect_limits(request));
        loop {
            let own = request.fields.len();
            // Adds none to a request with a `Cookie` of its own, unless the jar joins both.
            let replaced = self.cookies.as_ref().and_then(|jar| jar.add_to(request));
            let response = self.run(request, course, trace).await?;
            match replaced {
                Some(before) => (request.fields, request.inherited_bytes) = before,
                None => request.fields.truncate(own),
            }
            if most == 0 {
                return Ok(response);
            }
            let observation = self.observation(&response, request, trace);
            let followed = match trail.follow(request, response.status, &response.fields) {
                Ok(false) => return Ok(response),
                Ok(true) if !request.body.begin_again() => {
                    let why = "it needs the request's body again, which can be read only once";
                    Err(Failure::new(Kind::Redirect, Phase::Read, why))
                }
                followed => followed,
            };
            // A response that ends in an error is passed over only for its observer.
            if followed.is_ok() || observation.is_some() {
                if let Some(passed) = pass_over(response.body, observation, trace.mark) {
                    passed.await;
                    trace.lap();
                }
            }
            followed?;
            trace.redirects = trace.redirects.saturating_add(1);
        }
    }
}
