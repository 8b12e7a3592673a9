//! HTTP/2: many requests on one connection, at the same time (RFC 9113). The `h2` crate speaks the
//! protocol; what is here decides which connection a request uses, and what its end means.
//!
//! In the order a request meets them: `seat` (a place in the queue) → `sessions` (which connection,
//! or who opens one) → `link` and `tap` (the connection itself, and what it lets be known) → `head`
//! (fields) → `exchange`, `upload` and `incoming` (one request on one stream).

mod acquire;
mod answer;
mod exchange;
mod head;
mod incoming;
mod known;
mod lease;
mod link;
mod seat;
mod sessions;
mod tap;
mod upload;

pub(crate) use answer::{Reply, answer};
pub(crate) use incoming::Incoming;
pub(crate) use sessions::Sessions;
