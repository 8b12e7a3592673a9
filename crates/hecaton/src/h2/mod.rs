//! HTTP/2: one request on one stream of a connection (RFC 9113). The `h2` crate implements the protocol; this module
//! decides what the end of a stream or of a connection means.
//!
//! `link`, with `instrumented` and `frames`, is the connection itself, and `observed` is what is known about it.
//! `guard`, with `blocks`, `hpack`, `huffman`, `joined`, `reader`, `precedence` and `response_state`, filters what
//! reaches `h2`. `session` is the connection as the pool has it, `loan` and `permit` are the right to a stream.
//! `exchange`, with `head` (fields), `upload` and `incoming`, runs one request on one stream. `window` decides how much
//! of a body may come ahead of its reader. HTTP/3 uses `loan`, `upload`, `head`, `hpack` and `response_state` too, and
//! the failures of `incoming`.
//!
//! Decisions:
//!
//! - The `h2` crate (which hyper uses): over HTTP/2 the work is in the protocol.
//! - A connection is a task of the client's runtime. So a waiting thread drives it, and the keeper while nobody waits.
//!   An idle connection is checked before it is used. Unread bytes in the kernel, such as a GOAWAY or the connection's
//!   end, are read first. The task runs outside of tokio's budget, whose wake-ups are lost between two waits (see
//!   `runtime`), and pauses after some reads (`instrumented`). The task holds no handle that sends requests, so it ends
//!   with the client. The sockets of a closed client are closed at once, driven or not (`link`).
//! - A request is re-sent if the peer did nothing for it. The peer says so by REFUSED_STREAM, or by a GOAWAY that names
//!   an earlier stream (RFC 9113 §8.7); or no byte of the request was written. `client/resends.rs` says how often. An
//!   error in a GOAWAY ends all streams at once, because its sender sends nothing more.
//! - `sent` is whether a byte left the machine. `instrumented` sees that in the written frames, because `h2` does not
//!   report it. A request that is given up counts as sent even if no byte left. `h2` keeps its head, and sends it before
//!   it resets the stream. A failed write is reported only after everything was read, because a peer that hung up may
//!   have sent a GOAWAY before.
//! - A malformed response is an error of its stream (RFC 9113 §8.1.1): its request fails and is not sent again, and the
//!   other streams continue. `h2` ends the connection for some malformed responses, and accepts others. So `guard`
//!   reads the frames first, and makes `h2` reset the stream (`docs/decisions/http2-guard.md`). The knowledge of `guard`
//!   may make a request fail. It makes a request succeed only if each byte before END_STREAM was handed over.
//! - A dead path: if nothing at all came on a connection while a request waited until it gave up, the connection gets a
//!   ping. It is used again only if something comes within a second. Otherwise each request would run into its limit
//!   for minutes, until TCP gives up. Over HTTP/1.1 a request that gives up closes its connection.
//! - A reader holds at most its stream's window, 1 MiB at first. The window doubles for all streams of the connection
//!   each time that a reader has taken a whole window of one body, up to 16 MiB (`window`). With 1 MiB a body comes at
//!   10 MB/s if the round trip takes 100 ms, with 16 MiB at 160 MB/s. So a reader that takes nothing never makes the
//!   window grow, but may hold 16 MiB on a connection where another reader took much. The connection's window is the
//!   largest there is, because a smaller one would let slow readers hold up fast ones.
//! - The windows of all streams of a client together are at most 64 MiB, or `max_buffered` if that is less. When more
//!   streams are opened, the windows shrink for all streams of their connections, to 64 KiB at least. A smaller first
//!   window would slow down bodies from distant servers. Bytes that came under a larger window stay. If each of 1,000
//!   readers stops before the next stream is opened, they hold 192 MiB: half of 64 MiB more each time that the streams
//!   have doubled.
//! - `h2` does not see that a WINDOW_UPDATE became due because windows shrank. So readers look themselves (`incoming`),
//!   and those that wait are woken for it (`link`). Otherwise the body would stand still.
//! - A body may come in many small DATA frames, faster than its reader takes them. `h2` keeps each of them apart and
//!   ends the connection when they cost too much, so `guard` joins them while the reader is busy (`joined`).
//! - A limit of zero streams is like any limit that is reached (RFC 9113 §6.5.2): the request opens another connection.
//!   An idle connection with this limit is closed. Go and curl open another one, too. Requests that have their streams
//!   already leave before `h2` reads a lower limit (`precedence`), because `h2` can neither send nor return them then.

mod blocks;
pub(crate) mod exchange;
mod frames;
mod guard;
pub(crate) mod head;
pub(crate) mod hpack;
mod huffman;
pub(crate) mod incoming;
mod instrumented;
mod joined;
pub(crate) mod link;
pub(crate) mod loan;
mod observed;
pub(crate) mod permit;
mod precedence;
mod reader;
pub(crate) mod response_state;
pub(crate) mod session;
pub(crate) mod upload;
pub(crate) mod window;

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzzing {
    pub(crate) use super::hpack::Decoder;
    pub(crate) use super::instrumented::{Explains, Instrumented};
    pub(crate) use super::observed::Observed;
}
