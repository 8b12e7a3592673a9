//! The redirects of a request whose responses do not come from the network: the same rules, one step at a time.

use std::sync::Arc;

use http::Method;
use http::header::HOST;

use crate::client::Client;
use crate::client::redirect_rules::Trail;
use crate::client::shared::Shared;
use crate::message::fields::Fields;
use crate::message::redirect::Redirect;
use crate::message::request::Request;

/// A request that follows redirects in responses which this engine did not receive, such as those of a test's stubs. It is the
/// request that [`Client::send`] would send, but it is never sent.
pub struct Redirection {
    shared: Arc<Shared>,
    request: Request,
    seen: Vec<(Method, String)>,
}

impl Client {
    /// The redirection of a request that this client would send, before its first response.
    pub fn redirection(&self, request: Request) -> Redirection {
        let shared = self.0.clone();
        let seen = Trail::new(&request, shared.redirect_limits(&request)).into_seen();
        Redirection {
            shared,
            request,
            seen,
        }
    }
}

impl Redirection {
    /// Follows a response with this status and these values of `Location`; false when the response is for the program.
    ///
    /// # Errors
    /// Why the redirect is not followed, as a sentence.
    pub fn follow(&mut self, status: u16, locations: &[&[u8]]) -> Result<bool, String> {
        let limits = self.shared.redirect_limits(&self.request);
        if limits.most == 0 {
            return Ok(false);
        }
        let mut trail = Trail::after(std::mem::take(&mut self.seen), limits);
        let fields = locations.iter().map(|value| ("location", *value));
        let followed = trail.follow_fields(&mut self.request, status, fields);
        self.seen = trail.into_seen();
        followed.map_err(|failure| failure.detail)
    }

    /// The method.
    pub fn method(&self) -> &str {
        self.request.method.as_str()
    }

    /// The absolute URL.
    pub fn url(&self) -> String {
        self.request.url()
    }

    /// The redirects that were followed.
    pub fn redirects(&self) -> &[Redirect] {
        &self.request.redirected
    }

    /// The headers that go there: the client's and the request's, and a `Host` that is not the URL's.
    pub fn headers(&self) -> Vec<(String, Vec<u8>)> {
        let fields = Fields(&self.request.fields).iter();
        let mut headers: Vec<_> = fields
            .map(|(name, value)| (name.to_owned(), value.to_vec()))
            .collect();
        if self.request.host != self.request.origin.host_header() {
            headers.push((HOST.to_string(), self.request.host.to_vec()));
        }
        headers
    }

    /// Whether a login for digest authentication goes there.
    pub fn has_login(&self) -> bool {
        let options = self.request.options.as_ref();
        options.is_some_and(|options| options.digest.is_some())
    }
}
