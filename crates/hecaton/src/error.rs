//! How a request fails: what kind, in which phase, after how long, and whether it left the machine.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::attempt::Attempt;
use crate::redirect::Redirect;
use crate::request::{Request, display_url};

/// The steps of one attempt, in order; `Total` names the deadline around all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// Waiting for a connection.
    Queue,
    /// Turning the host's name into addresses.
    Resolve,
    /// Opening a connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Writing the request.
    Send,
    /// Waiting for the head of the response.
    FirstByte,
    /// Reading the body of the response.
    Read,
    /// The total deadline, whatever was going on when it passed.
    Total,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Phase; 8] = [
        Phase::Queue,
        Phase::Resolve,
        Phase::Connect,
        Phase::Tls,
        Phase::Send,
        Phase::FirstByte,
        Phase::Read,
        Phase::Total,
    ];

    /// The phase's name: `queue`, `resolve`, `connect`, `tls`, `send`, `first_byte`, `read` or `total`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Queue => "queue",
            Phase::Resolve => "resolve",
            Phase::Connect => "connect",
            Phase::Tls => "tls",
            Phase::Send => "send",
            Phase::FirstByte => "first_byte",
            Phase::Read => "read",
            Phase::Total => "total",
        }
    }

    /// The phase in the middle of a sentence.
    pub(crate) fn doing(self) -> &'static str {
        match self {
            Phase::Queue => "waiting for a connection",
            Phase::Resolve => "resolving the name",
            Phase::Connect => "connecting",
            Phase::Tls => "the TLS handshake",
            Phase::Send => "sending the request",
            Phase::FirstByte => "waiting for the response",
            Phase::Read => "reading the body",
            Phase::Total => "running",
        }
    }
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A deadline passed; the phase says which.
    Timeout,
    /// The name has no address, or the resolver failed.
    Resolve,
    /// No connection could be opened.
    Connect,
    /// The two sides could not agree on TLS: a certificate, a version, a pin.
    Tls,
    /// The connection broke, or what came is not HTTP.
    Protocol,
    /// The body was cut short, is larger than allowed, or is not what its `Content-Encoding` says.
    Body,
    /// A redirect that can not or must not be followed.
    Redirect,
    /// The request was given up by its owner before it ended.
    Cancelled,
}

/// A request that did not end in a response.
///
/// The text never contains the URL's query or anything of headers and bodies.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: Kind,
    phase: Phase,
    sent: bool,
    elapsed: Duration,
    url: String,
    detail: String,
    code: Option<i32>,
    redirects: Vec<Redirect>,
    attempts: Vec<Attempt>,
}

/// What an attempt knows when it fails; the client adds the rest.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: Kind,
    pub phase: Phase,
    pub detail: String,
    /// What the operating system called it.
    pub code: Option<i32>,
    /// Whether another try might end in another way.
    pub passing: bool,
}

impl Failure {
    pub fn new(kind: Kind, phase: Phase, detail: impl Into<String>) -> Failure {
        Failure {
            kind,
            phase,
            detail: detail.into(),
            code: None,
            passing: true,
        }
    }

    /// The same, which another try would only meet again.
    pub fn for_good(mut self) -> Failure {
        self.passing = false;
        self
    }

    /// The same, with what the operating system calls the reason.
    pub fn because(mut self, error: &io::Error) -> Failure {
        self.code = error.raw_os_error();
        self
    }
}

impl Failure {
    /// Says why the request was not tried again.
    pub fn only_once(mut self) -> Failure {
        self.detail += "; it was not tried again, because its body can be read only once";
        self
    }
}

impl Error {
    pub(crate) fn new(
        failure: Failure,
        request: &Request,
        elapsed: Duration,
        attempts: Vec<Attempt>,
    ) -> Error {
        let Failure {
            kind,
            phase,
            detail,
            code,
            passing: _,
        } = failure;
        let sent = attempts.iter().any(|attempt| attempt.sent);
        Error(Box::new(Inner {
            kind,
            phase,
            sent,
            elapsed,
            url: display_url(&request.origin, &request.target),
            detail,
            code,
            redirects: request.redirected.clone(),
            attempts,
        }))
    }

    /// What went wrong.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// In which phase it went wrong; `Total` when the total deadline passed.
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// Whether any byte of the request left the machine. If not, sending it again is always safe.
    pub fn sent(&self) -> bool {
        self.0.sent
    }

    /// From the start of the request to this error.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// The URL without credentials and query.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// The operating system's number of the reason, where it gave one: `ECONNREFUSED` and the like.
    pub fn os_error(&self) -> Option<i32> {
        self.0.code
    }

    /// The redirects that were followed before, in order.
    pub fn redirects(&self) -> &[Redirect] {
        &self.0.redirects
    }

    /// What was tried, in order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.0.attempts
    }

    /// The reason alone, without URL and times.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            url,
            detail,
            elapsed,
            sent,
            ..
        } = &*self.0;
        let left = if *sent {
            "the request had been sent"
        } else {
            "nothing had been sent"
        };
        write!(f, "{detail} ({url}, after {:.0?}; {left})", elapsed)
    }
}

impl std::error::Error for Error {}

/// A request that can not be sent as it stands; nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRequest(pub(crate) String);
