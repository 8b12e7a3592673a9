//! The way of a request over several URLs: redirects, and the cookies that are set and sent on it.

use std::sync::Arc;

use crate::allowance::Allowance;
use crate::attempt::Trace;
use crate::client::{Answer, Body, Reading, Shared};
use crate::error::{Failure, Kind, Phase};
use crate::redirect::{self, Limits, Trail};
use crate::request::Request;

impl Shared {
    /// How many redirects of this request are followed.
    fn most_redirects(&self, request: &Request) -> u32 {
        request.redirects.unwrap_or(self.config.redirects)
    }

    /// Whether there is nothing to do between hops.
    pub fn is_one_hop(&self, request: &Request) -> bool {
        self.most_redirects(request) == 0 && self.config.cookies.is_none()
    }

    /// Whether this answer leads elsewhere, or is an error for not doing so.
    pub fn may_follow(&self, request: &Request, status: u16, fields: &[u8]) -> bool {
        self.most_redirects(request) > 0 && redirect::leads_elsewhere(status, fields)
    }

    /// The hops, one after the other: another one if the answer is a redirect that may be followed.
    pub async fn hops(
        self: &Arc<Self>,
        request: &mut Request,
        reading: Reading,
        allowance: &Allowance,
        trace: &mut Trace,
    ) -> Result<Answer, Failure> {
        let most = self.most_redirects(request);
        let limits = Limits {
            most,
            to_http: self.config.redirects_to_http,
            may_return: self.config.cookies.is_some(),
            hosts: self.config.redirect_hosts.as_deref(),
        };
        let mut trail = Trail::new(request, limits);
        loop {
            let own = request.fields.len();
            if let Some(jar) = &self.config.cookies {
                jar.add_to(request);
            }
            let answer = self.run(request, reading, allowance, trace).await?;
            request.fields.truncate(own);
            if most == 0 || !trail.follow(request, answer.status, &answer.fields)? {
                return Ok(answer);
            }
            if !request.body.begin_again() {
                let why = "it asks for the request's body again, which can be read only once";
                return Err(Failure::new(Kind::Redirect, Phase::Read, why));
            }
            trace.redirects = trace.redirects.saturating_add(1);
            if let Body::Open(rest) = answer.body {
                rest.skip(trace.mark).await;
            }
        }
    }
}
