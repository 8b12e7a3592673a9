//! HTTP/2: many requests on one connection, at the same time (RFC 9113). The `h2` crate speaks the
//! protocol; what is here decides which connection a request uses, and what its end means.
//!
//! In the order a request meets them: `answer` (the whole of it) → `acquire` (a stream, or a connection to
//! be opened) → `sessions`, `known` and `seat` (who gets which, and who waits) → `link`, `tap` and `frames` (the connection
//! itself, and what it lets be known) → `lease` (the right to a stream) → `head` (fields) → `exchange`,
//! `upload` and `incoming` (one request on one stream), `window` (how much of a body comes ahead of its reader).

mod acquire;
mod answer;
mod exchange;
mod frames;
mod head;
mod incoming;
mod known;
mod lease;
mod link;
mod seat;
mod sessions;
mod tap;
mod upload;
mod window;

pub(crate) use answer::{Reply, answer};
pub(crate) use incoming::Incoming;
pub(crate) use sessions::Sessions;

#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    pub(crate) use super::tap::{Departures, Tap};
}
