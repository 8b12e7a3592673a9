//! HTTP/3: one request on one stream of a QUIC connection (RFC 9114). `quinn` implements QUIC; frames and fields are
//! read and written here (`docs/decisions/http3.md` has the reasons).
//!
//! `link` is the connection, with `control` for what the server sends beside responses. `permit` is the right to a
//! stream. `exchange`, with `qpack` and `static_table` (fields), `writer`, `sent`, `reader` and `incoming`, runs one
//! request on one stream. `frames` reads and writes frames. The fields of requests, the rules for
//! a well-formed response and the sending of bodies are those of HTTP/2, and their code is in `h2`.
//!
//! Decisions:
//!
//! - A request is re-sent if the server did nothing for it. The server says so by H3_REQUEST_REJECTED, or by a GOAWAY
//!   that leaves its stream out (RFC 9114 §4.1.1, §5.2); or no byte of the request left the machine.
//! - `sent` is whether a STREAM frame left the machine since QUIC took the first byte of the request, on any stream of
//!   the connection (`sent.rs`). So it may be true although the frame was another request's. It is never false for a
//!   request that left. QUIC takes no byte while the server allows no stream, while a window of the server is used up,
//!   and while 4 MiB of uploads wait for an acknowledgement.
//! - A violation of HTTP/3 ends the connection, as the RFC demands. A malformed response ends its stream alone.
//! - A cut body is a failure: a reset, the end of a connection, fewer or more bytes than announced, or an end in the
//!   middle of a frame.
//! - A dead path is noticed as over HTTP/2: a connection on which nothing came while a request waited until it gave up
//!   must show that it is alive before another request uses it.
//! - Early data (0-RTT) is off, because a server may get it twice. So is migration: a connection stays at its addresses.

mod control;
pub(crate) mod exchange;
mod frames;
pub(crate) mod incoming;
pub(crate) mod link;
pub(crate) mod permit;
mod qpack;
mod reader;
mod sent;
mod static_table;
mod writer;

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzzing {
    pub(crate) use super::frames::{Part, Reader, Role, Violation};
    pub(crate) use super::qpack::decode;
}
