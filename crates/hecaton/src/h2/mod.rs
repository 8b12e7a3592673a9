//! HTTP/2: one request on one stream of a connection (RFC 9113). The `h2` crate speaks the protocol; what is here says what the end of
//! a stream and of a connection means.
//!
//! `link`, with `instrumented` and `frames`, is the connection itself, and `observed` what it lets be known; `guard`, with `blocks`,
//! `hpack`, `huffman` and `response_state`, what stands between a server and `h2`; `permit` the right to a stream;
//! `exchange`, with `head` (fields), `upload` and `incoming`, one request on one stream; `window` how much of a body comes ahead of
//! its reader.
//!
//! Decisions:
//!
//! - The `h2` crate (what hyper uses): over HTTP/2 the work is in the protocol.
//! - Who drives: a connection is a task of the client's runtime, so whoever waits drives it, and the keeper while nobody does. One
//!   that was left alone is looked at before it is used: if the kernel has something of it (a GOAWAY, its end), that is read first.
//!   The task runs outside of tokio's budget, whose wake-ups are lost between two waits (see `runtime`), and stops by itself after
//!   some reads (`instrumented`). It holds nothing that sends requests, so it ends with the client. A closed client's sockets are
//!   closed at once, driven or not (`link`).
//! - What resends: a request that the peer did nothing of, by its own word (REFUSED_STREAM, or a GOAWAY that names a stream before
//!   it, RFC 9113 §8.7) or because no byte of it was written. How often: `client/resends.rs`. An error in a GOAWAY ends all streams at
//!   once: its sender says nothing more.
//! - `sent` stays what it says: whether a byte left the machine. That is seen in the frames as they are written (`instrumented`),
//!   for `h2` does not tell. A failed write is told only when what came has been read, for a peer that hung up may have said before
//!   what it left undone.
//! - A response that is malformed is an error of its stream (RFC 9113 §8.1.1): its request fails and is not sent again, and its
//!   neighbours go on. `h2` ends the connection for some of what makes one malformed, and takes other such responses for good. So
//!   `guard` reads the frames before it, and has it reset the stream. What `guard` knows ahead of `h2` may make a request fail; it
//!   makes none succeed, unless each byte that came before END_STREAM was handed over.
//! - A way that is gone: a connection on which nothing at all came while a request waited until it gave up is sent a ping, and used
//!   again only if it says something within a second. Without this each request would run into its limit until TCP itself gives
//!   up, for minutes. Over HTTP/1.1 a request that gives up takes its connection along.
//! - What a reader holds: its stream's window, 1 MiB at first. It doubles, for all streams of the connection, each time that a
//!   reader has taken a whole window of one body, up to 16 MiB (`window`). With 1 MiB a body comes at 10 MB/s where an answer takes
//!   100 ms, with 16 MiB at 160. It never shrinks, because `h2` has no window for a single stream and can lose a WINDOW_UPDATE while
//!   that of all shrinks. So a reader that takes nothing never makes it grow, but may hold 16 MiB on a connection where another one
//!   took much. The connection's window is as large as there is, for a smaller one would let slow readers hold up the quick ones.

mod blocks;
pub(crate) mod exchange;
mod frames;
mod guard;
mod head;
mod hpack;
mod huffman;
pub(crate) mod incoming;
mod instrumented;
pub(crate) mod link;
mod observed;
pub(crate) mod permit;
mod response_state;
mod upload;
mod window;

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzzing {
    pub(crate) use super::hpack::Decoder;
    pub(crate) use super::instrumented::{Explains, Instrumented};
    pub(crate) use super::observed::Observed;
}
