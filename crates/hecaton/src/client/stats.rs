//! What a client tells of itself.

/// What a client has done since it was made, and what it is doing. Each figure is right; they are not
/// taken at one instant, so that nobody has to wait for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests that were started, whatever became of them.
    pub requests: u64,
    /// Tries that `retry` asked for.
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
