//! The faults of `/fault/<kind>`.

use std::time::Duration;

/// A fault. Each is named in the path as written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `truncate`: half of the body that Content-Length promises, then the end.
    Truncate,
    /// `truncate-chunked`: one whole chunk and half of another, then the end.
    TruncateChunked,
    /// `tls-cut`: a body that ends with the connection, and TLS without its close_notify, as if an attacker had cut it;
    /// over HTTP/3 an error closes the connection.
    TlsCut,
    /// `reset`: RST before any response.
    Reset,
    /// `close`: the end before any response.
    Close,
    /// `garbage`: bytes that are not HTTP, then the end.
    Garbage,
    /// `stall-head`: no response, ever.
    StallHead,
    /// `stall-body`: head and half of the body, then nothing.
    StallBody,
    /// `drip`: an endless body, one byte (in a chunk of its own) each 100 ms.
    Drip,
    /// `goaway`: over HTTP/2 and HTTP/3 a good response and GOAWAY, which says that later streams are not processed;
    /// over HTTP/1.1 a good response that closes.
    Goaway,
    /// `refused-stream`: over HTTP/2 and HTTP/3 the stream is refused, and so was not processed; over HTTP/1.1 as
    /// `close`.
    RefusedStream,
    /// `huge-head`: a response with 1 MiB of header.
    HugeHead,
    /// `early`: 413 with `Connection: close` and the end of the connection at once, whatever is unread: what still
    /// comes causes an RST.
    Early,
    /// `idle-close`: a good response on a connection that stays, closed 20 ms later whatever has come.
    IdleClose,
}

pub(crate) const DRIP_EVERY: Duration = Duration::from_millis(100);
pub(crate) const IDLE_CLOSE_AFTER: Duration = Duration::from_millis(20);
pub(crate) const HUGE_HEAD: usize = 1024 * 1024;
/// The body that faults promise.
pub(crate) const BODY: &[u8; 1000] = &[b'x'; 1000];

impl Fault {
    pub(crate) fn named(name: &str) -> Option<Fault> {
        Some(match name {
            "truncate" => Fault::Truncate,
            "truncate-chunked" => Fault::TruncateChunked,
            "tls-cut" => Fault::TlsCut,
            "reset" => Fault::Reset,
            "close" => Fault::Close,
            "garbage" => Fault::Garbage,
            "stall-head" => Fault::StallHead,
            "stall-body" => Fault::StallBody,
            "drip" => Fault::Drip,
            "goaway" => Fault::Goaway,
            "refused-stream" => Fault::RefusedStream,
            "huge-head" => Fault::HugeHead,
            "early" => Fault::Early,
            "idle-close" => Fault::IdleClose,
            _ => return None,
        })
    }
}
