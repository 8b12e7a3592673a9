//! HTTP/1.1 (RFC 9112): one request on one connection.
//!
//! `exchange` is the whole of it: `encode` writes the head, `outgoing` sends it and the body, `connection` has what was read ahead
//! of need, `incoming` reads the body, which `body` finds in what has arrived. `body` and `encode` are pure functions.
//!
//! The exchange is the project's own, after hyper's: `docs/decisions/http1-exchange.md` says why and what it gains. It knows what
//! hyper does not tell: the moment when the last byte of the request left, and whether any did. What keeps it honest:
//!
//! - Pure functions from bytes to bytes. Heads are parsed by `httparse` (`message/head.rs`); what frames a body follows RFC 9112 §6.3
//!   line by line. Property tests say that every split of the same bytes reads alike, and that no bytes panic or outgrow the cap.
//! - What is doubtful spoils the connection or is an error: a length beside chunks, lengths that disagree, transfer codings other
//!   than `chunked`, bytes behind an answer, an answer before the request was out.
//! - `tests/engine` runs it against the origin and against blunt servers of a few bytes.
//!
//! An exchange ends at the head of the answer. `outgoing` is what is left to write then and `incoming` what is left to read, so the
//! same parts serve a body that is held whole and one that is streamed.
//!
//! One `recv` and one `send` a request. tokio's `poll_read` knows from a short read that there is no more (its `try_read` does not),
//! so there is no read after the answer that finds nothing.

pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod encode;
pub(crate) mod exchange;
pub(crate) mod incoming;
mod outgoing;
