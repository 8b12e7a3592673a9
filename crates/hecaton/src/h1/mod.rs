//! HTTP/1.1 (RFC 9112): one request on one connection.
//!
//! `exchange` runs a request. `encode` writes the head, and `outgoing` sends it and the body. `connection` holds bytes
//! that were read ahead. `incoming` reads the body, which `body` finds in those bytes. `body` and `encode` are pure
//! functions.
//!
//! The exchange is the project's own, after hyper's: `docs/decisions/http1-exchange.md` says why and what it gains.
//! Unlike hyper, it knows when the last byte of the request left, and whether any did. These checks guard it:
//!
//! - Pure functions from bytes to bytes. Heads are parsed by `httparse` (`message/head.rs`); the framing of a body
//!   follows RFC 9112 §6.3 line by line. Property tests say that every split of the same bytes reads alike, and that no
//!   bytes panic or outgrow the cap.
//! - Doubtful responses are errors, or the connection is not reused. Such are a length beside chunks, lengths that
//!   disagree, and transfer codings other than `chunked`; also bytes after a response, and a response before the
//!   request was sent.
//! - `tests/engine` runs it against the test server, and against servers that send a few fixed bytes.
//!
//! An exchange ends at the head of the response. Then `outgoing` holds the unsent rest and `incoming` the unread rest,
//! so both serve bodies that are held whole and bodies that are streamed.
//!
//! One `recv` and one `send` a request, besides the `recv` by which the pool checks an idle connection. tokio's `poll_read` knows from a short read that there is no more (its
//! `try_read` does not), so no read after the response finds nothing.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod encode;
pub(crate) mod exchange;
pub(crate) mod incoming;
mod outgoing;
