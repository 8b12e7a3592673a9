//! The summary of a test server since its start.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::round::chaos::Dealt;

/// The test server's observations since it started.
///
/// Counts are requests unless the name says otherwise. Requests for `/ledger` count
/// in bytes and connections only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Requests that arrived, of every path: with a whole response, a cut one, or none yet.
    #[serde(default)]
    pub arrived: u64,
    /// Requests for another path than `/r/<id>` among them.
    #[serde(default)]
    pub elsewhere: u64,
    /// Requests whose response was written whole, of every path.
    pub requests: u64,
    /// Requests of `/r/<id>` among them.
    pub items: u64,
    /// Requests for a path that the server does not have. The response was 404.
    #[serde(default)]
    pub unknown: u64,
    /// Distinct ids: in each round its own, and all others (the first million of them).
    pub distinct: u64,
    /// Requests for an id that had been seen before in the same round, or outside of rounds.
    pub duplicates: u64,
    /// Requests during a round for something that does not belong to it.
    pub foreign: u64,
    /// Requests that ended without a whole response because the client went away.
    pub aborted: u64,
    /// Messages that were not a request, or one too long. The response was 400, 413, 431, 501 or 505.
    pub refused: u64,
    /// Rounds closed.
    pub rounds: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Connections open now.
    pub connections_open: u64,
    /// Most connections open at one moment.
    pub peak_connections: u64,
    /// TLS handshakes completed.
    #[serde(default)]
    pub tls_handshakes: u64,
    /// TLS handshakes among them that resumed an earlier session.
    #[serde(default)]
    pub tls_resumed: u64,
    /// TLS handshakes that failed, or that the client left.
    #[serde(default)]
    pub tls_failed: u64,
    /// Connections that used HTTP/2.
    #[serde(default)]
    pub http2_connections: u64,
    /// Streams of HTTP/2 above the last stream of a GOAWAY; they are not counted as requests.
    #[serde(default)]
    pub http2_unprocessed: u64,
    /// Connections that used HTTP/3.
    #[serde(default)]
    pub http3_connections: u64,
    /// Streams of HTTP/3 that a GOAWAY excludes; they are not counted as requests.
    #[serde(default)]
    pub http3_unprocessed: u64,
    /// Requests that arrived on a connection that had carried one before.
    pub reused: u64,
    /// Most requests held at one moment (read, and without a response yet).
    pub peak_in_flight: u64,
    /// Bytes of requests read from sockets.
    pub bytes_in: u64,
    /// Bytes of responses written to sockets, heads included.
    pub bytes_out: u64,
    /// Bytes of bodies written.
    pub body_bytes_out: u64,
    /// CPU time of the test server's thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Time since the start, in nanoseconds.
    pub uptime_ns: u64,
    /// Median lateness of a response against its planned instant, in microseconds.
    pub lateness_p50_us: u64,
    /// 99th percentile of the lateness, in microseconds.
    pub lateness_p99_us: u64,
    /// Connections that the limit on descriptors allowed to be open at once, when the test server started.
    pub capacity: u64,
    /// Faults of chaos on requests for `/r/<id>`, by name. `good` means none. `unprocessed` counts streams above the
    /// last one that GOAWAY named, and requests after the last response of a connection that ends without notice.
    /// None without chaos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chaos: Option<BTreeMap<String, Dealt>>,
}
