//! Counts of a client's work.

/// Totals since the client was made, and its work now. Each figure is exact, but they are not read at one instant, so
/// that no request waits for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests that were started, whatever became of them.
    pub requests: u64,
    /// Attempts that were made because of `retry`.
    pub retries: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// How often a connection was used again.
    pub reused: u64,
    /// Connections that wait to be used again.
    pub idle: usize,
    /// Connections with a request on them, or in a TLS handshake.
    pub in_use: usize,
    /// Requests that wait for a connection, because of `per_origin` or `max_connections`.
    pub waiting: usize,
}
