//! HTTP/1.1 (RFC 9112): one request on one connection.
//!
//! `exchange` is the whole of it: `encode` writes the head, `outgoing` sends it and the body, `connection` has what was read ahead
//! of need, `incoming` reads the body, which `body` finds in what has arrived. `body` and `encode` are pure functions.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod encode;
pub(crate) mod exchange;
pub(crate) mod incoming;
mod outgoing;
