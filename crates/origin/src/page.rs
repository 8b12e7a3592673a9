//! One page of the ledger: what the origin saw during one round.

use serde::{Deserialize, Serialize};

/// What the origin saw between `open_round` and `close_round`.
///
/// Counts are requests unless the name says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// First id that belongs to the round; the ids are `first..first + count`.
    pub first: u64,
    /// How many ids belong to the round.
    pub count: u64,
    /// Requests answered, repeats and foreign ones included.
    pub requests: u64,
    /// Ids of the round seen at least once.
    pub distinct: u64,
    /// Requests for an id that had been seen before.
    pub duplicates: u64,
    /// Requests for something that does not belong to the round.
    pub foreign: u64,
    /// Answers that could not be written whole because the client went away.
    pub aborted: u64,
    /// Connections accepted during the round.
    pub connections_opened: u64,
    /// Connections that carried at least one request of the round.
    pub connections_used: u64,
    /// Requests that arrived on a connection that had carried one before.
    pub reused: u64,
    /// Most requests held at one moment (read, and not yet answered).
    pub peak_in_flight: u64,
    /// Bytes of requests read from sockets.
    pub bytes_in: u64,
    /// Bytes of answers written to sockets, heads included.
    pub bytes_out: u64,
    /// Bytes of bodies written; of a round in gzip over HTTP/1.1, decoded.
    pub body_bytes_out: u64,
    /// Sum modulo 2^32 of the tokens of every id of the round, each once.
    pub expected_sum: u32,
    /// CPU time of the origin's thread.
    pub cpu_ns: u64,
    /// From the first request read to the last answer written.
    pub span_ns: u64,
    /// Median lateness of an answer against its planned instant, in microseconds.
    pub lateness_p50_us: u64,
    /// 99th percentile of the same.
    pub lateness_p99_us: u64,
}
