//! One try of a request on the wire: which connection, how long each phase took, how it ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::message::connection_facts::{ConnectionFacts, Endpoint, TlsFacts};
use crate::message::deadline::Deadline;
use crate::message::elapsed::Interval;
use crate::message::failure::Phase;

/// One try of a request. Durations are `None` for phases that were not reached or not needed
/// (a reused connection has no `resolve_time`, no `connect_time` and no `tls_time`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Number of the connection, unique within the client; 0 if there was none.
    pub connection: u64,
    /// The other end of the connection; none before a connection was open.
    pub facts: Option<Arc<ConnectionFacts>>,
    /// Whether the connection had carried a request before.
    pub reused: bool,
    /// The version of HTTP on the connection; none when there was no connection.
    pub version: Option<Version>,
    /// Whether any byte of the request was written.
    pub sent: bool,
    /// Waiting for a connection when their number is limited. Over HTTP/2 and HTTP/3, also waiting for a free stream,
    /// and for a sign that a silent connection is alive.
    pub queue_time: Option<Duration>,
    /// Resolving the name.
    pub resolve_time: Option<Duration>,
    /// Opening the connection.
    pub connect_time: Option<Duration>,
    /// The TLS handshake.
    pub tls_time: Option<Duration>,
    /// Writing the request.
    pub send_time: Option<Duration>,
    /// From the request written to the head of the response read.
    pub first_byte_time: Option<Duration>,
    /// From the head to the last byte of the body.
    pub read_time: Option<Duration>,
    /// From the start of the request to the start of this attempt.
    pub begun: Duration,
    /// From the start of the request to the end of this attempt; `None` when it was given up.
    pub ended: Option<Duration>,
    /// How many redirects were followed before it.
    pub redirects: u16,
    /// The phase that the attempt reached last.
    pub phase: Phase,
    /// The status of the response, once its head has come. The body may have failed afterwards.
    pub status: Option<u16>,
    /// How the attempt ended.
    pub ending: Ending,
}

impl Attempt {
    /// An attempt that has not got anywhere yet.
    fn new(begun: Duration, redirects: u16) -> Attempt {
        Attempt {
            begun,
            ended: None,
            redirects,
            connection: 0,
            facts: None,
            reused: false,
            version: None,
            sent: false,
            queue_time: None,
            resolve_time: None,
            connect_time: None,
            tls_time: None,
            send_time: None,
            first_byte_time: None,
            read_time: None,
            phase: Phase::Queue,
            status: None,
            ending: Ending::Unfinished,
        }
    }

    /// The phase for messages. A request that its connection holds back waits for no response yet.
    pub(crate) fn reached(&self) -> Phase {
        match self.phase {
            Phase::FirstByte if !self.sent => Phase::Send,
            phase => phase,
        }
    }

    /// The other end of the connection; through a proxy that is the proxy.
    pub fn peer(&self) -> Option<&Endpoint> {
        self.facts.as_ref()?.peer.as_ref()
    }

    /// This end of the connection.
    pub fn local(&self) -> Option<&Endpoint> {
        self.facts.as_ref()?.local.as_ref()
    }

    /// The result of the connection's TLS handshake with the origin.
    pub fn tls(&self) -> Option<&TlsFacts> {
        self.facts.as_ref()?.tls.as_ref()
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// The attempt was unfinished when its request was given up.
    #[default]
    Unfinished,
    /// A response with this status, read whole. The body of a [`Streaming`](crate::Streaming) response, or of one that
    /// another attempt replaced or that the deadline cut, may be unread.
    Status(u16),
    /// A failure, in the phase reached last.
    Failed,
    /// The request was re-sent on another connection without a retry rule, for one of these reasons:
    ///
    /// - The server certainly did nothing with it: its connection, which had carried a request, was closed before a byte
    ///   was written, or an HTTP/2 or HTTP/3 server said so (RFC 9113 §8.7).
    /// - A new connection ended before a byte was written ([`reconnect`](crate::Config::reconnect)).
    /// - The request is idempotent, and its connection ended before a byte of the response (`reconnect`, too).
    Resent,
}

/// The version of HTTP on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1, or HTTP/1.0 if the server responds so.
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
}

impl Version {
    /// `1.1`, `2` or `3`.
    pub fn name(self) -> &'static str {
        match self {
            Version::Http1 => "1.1",
            Version::Http2 => "2",
            Version::Http3 => "3",
        }
    }
}

/// The attempts of a request and the instant up to which its time is accounted for. This value outlives the future that
/// a deadline cuts off.
pub(crate) struct Trace {
    pub attempts: Vec<Attempt>,
    pub mark: Instant,
    pub deadline: Deadline,
    /// How many redirects were followed.
    pub redirects: u16,
    /// Whether the program, and not the network, gave the outcome of the last attempt.
    pub given: bool,
    /// Whether the program observes the response of the last attempt.
    pub observed: bool,
}

impl Trace {
    /// The trace of a request that begins now, and must have ended after this time.
    pub fn new(limit: Duration) -> Trace {
        let deadline = Deadline::new(limit);
        Trace {
            attempts: Vec::with_capacity(1),
            mark: deadline.begun,
            deadline,
            redirects: 0,
            given: false,
            observed: false,
        }
    }

    /// Whether the current attempt re-sends the previous one on another connection.
    pub fn is_resend(&self) -> bool {
        let before = self.attempts.iter().rev().nth(1);
        before.is_some_and(|attempt| attempt.ending == Ending::Resent)
    }

    /// Begins an attempt.
    pub fn begin(&mut self) {
        // The first attempt begins with the request; comparing is cheaper than subtracting.
        let begun = match self.mark == self.deadline.begun {
            true => Duration::ZERO,
            false => self.elapsed(),
        };
        self.attempts.push(Attempt::new(begun, self.redirects));
    }

    /// The time of the request that is accounted for.
    pub fn elapsed(&self) -> Duration {
        self.mark - self.deadline.begun
    }

    /// Ends the current attempt.
    pub fn end(&mut self, ending: Ending, at: Instant) {
        let ended = at - self.deadline.begun;
        let attempt = self.attempt();
        attempt.ending = ending;
        attempt.ended = Some(ended);
    }

    /// The current attempt.
    pub fn attempt(&mut self) -> &mut Attempt {
        self.attempts.last_mut().expect("an attempt was begun")
    }

    /// Adds the time since the last lap to the attempt's wait for a connection.
    pub fn lap_queue(&mut self) {
        let lap = self.lap();
        let queue = &mut self.attempt().queue_time;
        *queue = lap.map(|lap| queue.unwrap_or_default() + lap);
    }

    /// Adds the time since the last lap to the attempt's connecting, including another request's failed try to open the
    /// connection.
    pub fn lap_connect(&mut self) {
        let lap = self.lap();
        let connect = &mut self.attempt().connect_time;
        *connect = lap.map(|lap| connect.unwrap_or_default() + lap);
    }

    /// The phases, up to now, of a connection that has been opening since `from`.
    pub fn intervals(&self, from: Instant) -> Vec<Interval> {
        let Some(attempt) = self.attempts.last() else {
            return Vec::new();
        };
        let (mark, now) = (self.mark.max(from), Instant::now());
        let resolved = match attempt.phase {
            Phase::Resolve => now,
            Phase::Tls => from + attempt.resolve_time.unwrap_or_default(),
            _ => mark,
        };
        let connected = if attempt.phase == Phase::Tls {
            mark
        } else {
            now
        };
        vec![
            (Phase::Resolve, from, resolved),
            (Phase::Connect, resolved, connected),
            (Phase::Tls, connected, now),
        ]
    }

    /// The time since the last lap, for one phase of the attempt: each costs one look at the clock.
    pub fn lap(&mut self) -> Option<Duration> {
        let now = Instant::now();
        Some(now - std::mem::replace(&mut self.mark, now))
    }
}
