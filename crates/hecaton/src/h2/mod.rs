//! HTTP/2: one request on one stream of a connection (RFC 9113). The `h2` crate speaks the protocol; what is here says what the end of
//! a stream and of a connection means.
//!
//! `link`, with `instrumented` and `frames`, is the connection itself, and what it lets be known; `permit` the right to a stream;
//! `exchange`, with `head` (fields), `upload` and `incoming`, one request on one stream; `window` how much of a body comes ahead of
//! its reader.

pub(crate) mod exchange;
mod frames;
mod head;
pub(crate) mod incoming;
mod instrumented;
pub(crate) mod link;
pub(crate) mod permit;
mod upload;
mod window;

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzzing {
    pub(crate) use super::instrumented::{Explains, Instrumented, Observed};
}
