//! How an attempt fails: what kind, in which phase, and why; and requests that are refused before they are sent.

use std::io;

use nix::errno::Errno;

use crate::message::reason::Reason;
use crate::message::words::{MOST_OF_A_REASON, shortened, without_os_numbers};

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
    /// The total deadline, in whatever phase it passed.
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
            Phase::Tls => "agreeing on TLS",
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
    /// A redirect that cannot or must not be followed.
    Redirect,
    /// The request was given up by its owner before it ended.
    Cancelled,
}

/// The facts of an error that an attempt knows; the client adds the others.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: Kind,
    pub phase: Phase,
    /// A finer reason than kind and phase, if one is known.
    pub reason: Option<Reason>,
    pub detail: String,
    /// The operating system's number of the error.
    pub code: Option<i32>,
    /// Whether another try might end in another way.
    pub passing: bool,
    /// Whether the peer closed or reset the connection.
    pub ended: bool,
    /// Whether the program gave it in place of the network's.
    pub given: bool,
}

impl Failure {
    pub fn new(kind: Kind, phase: Phase, detail: impl Into<String>) -> Failure {
        let detail = without_os_numbers(detail.into());
        Failure {
            kind,
            phase,
            reason: None,
            detail: shortened(&detail, MOST_OF_A_REASON).into_owned(),
            code: None,
            passing: true,
            ended: false,
            given: false,
        }
    }

    /// This failure, marked as one that every other try would repeat.
    pub fn for_good(mut self) -> Failure {
        self.passing = false;
        self
    }

    /// This failure, with a finer reason.
    pub fn for_reason(mut self, reason: impl Into<Option<Reason>>) -> Failure {
        self.reason = reason.into();
        self
    }

    /// This failure, with the operating system's number of the error.
    pub fn because(mut self, error: &io::Error) -> Failure {
        // An error that passed through a library may have only its kind left.
        let reset = error.kind() == io::ErrorKind::ConnectionReset;
        let code = reset.then_some(Errno::ECONNRESET as i32);
        self.code = error.raw_os_error().or(code);
        if self.code == Some(Errno::ECONNREFUSED as i32) {
            self.reason = Some(Reason::ConnectionRefused);
        }
        self.ended = reset || error.kind() == io::ErrorKind::UnexpectedEof;
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

/// How much of a body came, where that is not all of it.
pub(crate) fn came_of(received: u64, announced: u64) -> String {
    format!("received {received} of {announced} announced bytes")
}

/// A request that cannot be sent as it stands; nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", without_os_numbers(.0.clone()))]
pub struct InvalidRequest(pub(crate) String);
