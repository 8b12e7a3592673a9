//! One interval of the ledger: what the test server saw during one round.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::ledger::times::Times;

/// The test server's observations from the beginning to the end of a round.
///
/// Counts are requests unless the name says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// First id that belongs to the round; the last one is `first + count - 1`.
    pub first: u64,
    /// How many ids belong to the round.
    pub count: u64,
    /// Requests that got a response, repeats and foreign ones included.
    pub requests: u64,
    /// Ids of the round seen at least once.
    pub distinct: u64,
    /// Requests for an id that had been seen before.
    pub duplicates: u64,
    /// Requests for something that does not belong to the round.
    pub foreign: u64,
    /// Responses that could not be written whole because the client went away.
    pub aborted: u64,
    /// Connections accepted during the round. If the paths of the round contain a random word, only connections that
    /// carried a request with this word.
    pub connections_opened: u64,
    /// Connections that carried at least one request of the round.
    pub connections_used: u64,
    /// Requests that arrived on a connection that had carried one before.
    pub reused: u64,
    /// Most requests held at one moment (read, and without a response yet).
    pub peak_in_flight: u64,
    /// Bytes of requests read from sockets.
    pub bytes_in: u64,
    /// Bytes of responses written to sockets, heads included.
    pub bytes_out: u64,
    /// Bytes of bodies written; of a round in gzip, decoded.
    pub body_bytes_out: u64,
    /// The checksum of every id of the round, each once: the sum of their check values, modulo 2³².
    pub expected_sum: u32,
    /// CPU time of the test server's thread.
    pub cpu_ns: u64,
    /// From the first request read to the last response written.
    pub span_ns: u64,
    /// Median lateness of a response against its planned instant, in microseconds.
    pub lateness_p50_us: u64,
    /// 99th percentile of the lateness, in microseconds.
    pub lateness_p99_us: u64,
    /// Requests whose path lacks the round's random word. No other count of this interval includes them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stray: u64,
    /// Requests that came together with one before them, or while their connection was still owed a response. HTTP/1.1
    /// only.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pipelined: u64,
    /// Requests with the round's random word that are not as planned: with another method than GET, or without `Accept:
    /// application/json` in a round of documents.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub otherwise: u64,
    /// Most connections at one moment that were opened in the round and had carried nothing yet, together with the
    /// requests in flight. Only of a round with a random word.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub peak_ahead: u64,
    /// Most connections open at once that had carried a request of the round; 0 in older documents.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub peak_connections: u64,
    /// Requests of the round that got a 503 on purpose. A client counts them as failed, and their check values are in
    /// no checksum.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turned_away: u64,
    /// TLS handshakes that ended well.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tls_handshakes: u64,
    /// Handshakes that resumed a session, which costs less than a whole one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tls_resumed: u64,
    /// Requests that came over HTTP/2.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub over_http2: u64,
    /// Requests that came over HTTP/3.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub over_http3: u64,
    /// Requests that came over HTTP/1.0, whose clients need to read neither chunks nor interim responses.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub over_http1_0: u64,
    /// How long responses were held, without those that went out at once. A client cannot have received them sooner.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    pub held: Times,
    /// The sum of these times, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_ns: u64,
    /// From each request of the round to the next on its connection.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    pub cycles: Times,
    /// From the last request that was read to the last response written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tail_ns: u64,
    /// How long after it was due each request was read, in a round at a rate: what a client waits for before it sends.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    pub behind: Times,
    /// Requests that were read before they were due.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early: u64,
    /// How long after its request was due each response was let go. No client can have had it sooner.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    pub least: Times,
    /// When the first request of the round was read.
    #[serde(skip)]
    pub first_read: Option<Instant>,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}
