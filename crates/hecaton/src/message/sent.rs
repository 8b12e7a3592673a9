//! The request that was sent last, as its response keeps it: without headers and body.

use std::sync::Arc;

use http::Method;
use http::uri::PathAndQuery;

use crate::message::origin::{self, Origin};
use crate::message::redirect::Redirect;
use crate::message::request::Request;

/// Where a request went, and the redirects that led there.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    origin: Arc<Origin>,
    target: PathAndQuery,
    pub method: Method,
    pub redirected: Vec<Redirect>,
}

impl From<Request> for Sent {
    fn from(request: Request) -> Sent {
        Sent {
            origin: request.origin,
            target: request.target,
            method: request.method,
            redirected: request.redirected,
        }
    }
}

impl From<Box<Request>> for Sent {
    fn from(request: Box<Request>) -> Sent {
        (*request).into()
    }
}

impl From<&Request> for Sent {
    fn from(request: &Request) -> Sent {
        Sent {
            origin: request.origin.clone(),
            target: request.target.clone(),
            method: request.method.clone(),
            redirected: request.redirected.clone(),
        }
    }
}

impl Sent {
    /// The URL with its query.
    pub fn url(&self) -> String {
        self.origin.url(&self.target)
    }

    /// Appends the URL with its query to `out`.
    pub fn write_url(&self, out: &mut Vec<u8>) {
        self.origin.write_url(&self.target, out);
    }

    /// The URL without credentials and query, for messages.
    pub fn display_url(&self) -> String {
        origin::display_url(&self.origin, &self.target)
    }
}
