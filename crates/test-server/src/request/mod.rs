//! A request whose head has been read, as far as the test server needs it.

pub(crate) mod body;
pub(crate) mod detail;
pub(crate) mod fault;
pub(crate) mod parse;
pub(crate) mod route;

use crate::request::detail::Detail;
use crate::request::parse::{Framing, Head, header_pairs};
use crate::request::route::Route;
use crate::round::chaos::RandomFault;
use crate::wire::head::After;

/// A request whose head is no longer in the buffer.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) route: Route,
    pub(crate) is_head: bool,
    pub(crate) is_get: bool,
    pub(crate) accepts_json: bool,
    pub(crate) framing: Framing,
    pub(crate) expects_continue: bool,
    pub(crate) after: After,
    pub(crate) version: u8,
    /// Only for routes that look at it.
    pub(crate) detail: Option<Box<Detail>>,
}

impl Request {
    /// Whether its body is read before the response.
    pub(crate) fn reads_body(&self, fault: Option<RandomFault>) -> bool {
        self.framing != Framing::None && !self.route.is_early() && fault != Some(RandomFault::Early)
    }

    /// The protocol it came in.
    pub(crate) fn protocol(&self) -> &'static str {
        match self.version {
            0 => "HTTP/1.0",
            1 => "HTTP/1.1",
            2 => "HTTP/2",
            _ => "HTTP/3",
        }
    }

    /// `bytes` are the head's own.
    pub(crate) fn new(head: &Head<'_>, bytes: &[u8]) -> Request {
        let route = route::of(head.target);
        Request {
            route,
            is_head: head.method == "HEAD",
            is_get: head.method == "GET",
            accepts_json: head.accepts_json,
            framing: head.framing,
            // No `100 Continue` is sent for a body that will be refused.
            expects_continue: head.expects_continue && !is_too_long(head.framing, route),
            after: after(head),
            version: head.version,
            detail: route.needs_detail().then(|| Box::new(detail(head, bytes))),
        }
    }
}

fn is_too_long(framing: Framing, route: Route) -> bool {
    match framing {
        _ if route.is_early() => true,
        Framing::Length(length) => length > route.keep().limit(),
        _ => false,
    }
}

fn after(head: &Head<'_>) -> After {
    match (head.persistent, head.version) {
        (false, _) => After::Close,
        (true, 0) => After::KeepAlive,
        (true, _) => After::Keep,
    }
}

fn detail(head: &Head<'_>, bytes: &[u8]) -> Detail {
    Detail {
        method: head.method.to_owned(),
        target: head.target.to_owned(),
        headers: header_pairs(bytes),
    }
}
