//! What the origin keeps of a request once its head has been read.

use crate::body::MAX_BODY;
use crate::parse::{Framing, Head, header_pairs};
use crate::route::{self, Route};

/// A request whose head is no longer in the buffer.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) route: Route,
    pub(crate) is_head: bool,
    pub(crate) wants_json: bool,
    pub(crate) framing: Framing,
    pub(crate) expects_continue: bool,
    pub(crate) after: After,
    pub(crate) version: u8,
    /// Only for `/echo`: what it tells.
    pub(crate) echo: Option<Box<Echo>>,
}

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It stays, as HTTP/1.1 does by default.
    Keep,
    /// It stays because HTTP/1.0 asked for it, and the answer must say so.
    KeepAlive,
    Close,
}

/// Method, path and headers of a request, as text.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Echo {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) connection: u64,
    pub(crate) request: u64,
}

impl Request {
    /// `bytes` are the head's own.
    pub(crate) fn new(head: &Head<'_>, bytes: &[u8]) -> Request {
        let route = route::of(head.target);
        Request {
            route,
            is_head: head.method == "HEAD",
            wants_json: head.wants_json,
            framing: head.framing,
            // Nobody is asked to send a body that will be refused.
            expects_continue: head.expects_continue && !is_too_long(head.framing),
            after: after(head),
            version: head.version,
            echo: (route == Route::Echo).then(|| Box::new(Echo::new(head, bytes))),
        }
    }
}

fn is_too_long(framing: Framing) -> bool {
    matches!(framing, Framing::Length(length) if length > MAX_BODY)
}

fn after(head: &Head<'_>) -> After {
    match (head.persistent, head.version) {
        (false, _) => After::Close,
        (true, 0) => After::KeepAlive,
        (true, _) => After::Keep,
    }
}

impl Echo {
    fn new(head: &Head<'_>, bytes: &[u8]) -> Echo {
        Echo {
            method: head.method.to_owned(),
            path: head.target.to_owned(),
            headers: header_pairs(bytes),
            body: String::new(),
            connection: 0,
            request: 0,
        }
    }
}
