//! The faults of `/fault/<kind>`.

use std::io;
use std::time::{Duration, Instant};

use crate::http1::stream::{End, Stream};
use crate::http1::wire::Wire;
use crate::replies::held::Small;
use crate::request::After;
use crate::wire::head::Length;

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

    /// Causes the fault. An error means that the client went away first.
    pub(crate) async fn play(self, wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
        match self {
            Fault::Truncate => {
                half(wire, stream).await?;
                Ok(End::Close)
            }
            Fault::TruncateChunked => truncate_chunked(wire, stream).await,
            Fault::TlsCut => {
                stream.head(wire, Length::Silent, After::Close).await?;
                wire.send_body(&BODY[..BODY.len() / 2]).await?;
                Ok(End::Drop)
            }
            Fault::Reset => {
                wire.stream.reset_on_drop()?;
                Ok(End::Drop)
            }
            Fault::Close | Fault::RefusedStream => Ok(End::Close),
            Fault::Goaway => {
                stream.head(wire, Length::Bytes(3), After::Close).await?;
                wire.send_body(b"ok\n").await?;
                Ok(End::Close)
            }
            Fault::Garbage => {
                wire.send(b"\x16\x03\x01\x00\xa5 this is not HTTP\x00\xff\xfe\r\n\r\n")
                    .await?;
                Ok(End::Close)
            }
            Fault::StallHead => stall(wire).await,
            Fault::StallBody => {
                half(wire, stream).await?;
                stall(wire).await
            }
            Fault::Drip => drip(wire, stream).await,
            Fault::HugeHead => huge_head(wire, stream).await,
            Fault::Early => early(wire, stream).await,
            Fault::IdleClose => idle_close(wire, stream).await,
        }
    }
}

/// The head of a whole body and the first half of it.
async fn half(wire: &mut Wire<'_>, stream: &Stream) -> io::Result<()> {
    stream
        .head(wire, Length::Bytes(BODY.len() as u64), After::Keep)
        .await?;
    wire.send_body(&BODY[..BODY.len() / 2]).await
}

async fn truncate_chunked(wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
    stream.head(wire, Length::Chunked, After::Keep).await?;
    wire.send_framed(b"8\r\nchunk 1\n\r\n8\r\nchun", 12).await?;
    Ok(End::Close)
}

/// Sends nothing more until the client goes away.
async fn stall(wire: &mut Wire<'_>) -> io::Result<End> {
    wire.until_end(None).await;
    Err(io::ErrorKind::ConnectionAborted.into())
}

async fn drip(wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
    stream.head(wire, Length::Chunked, After::Keep).await?;
    let mut at = Instant::now();
    loop {
        wire.send_framed(b"1\r\nx\r\n", 1).await?;
        at += DRIP_EVERY;
        wire.hub.timer.sleep_until(at).await;
    }
}

async fn huge_head(wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
    let mut head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n".to_vec();
    while head.len() < HUGE_HEAD {
        head.extend_from_slice(b"X-Huge: ");
        head.extend_from_slice(&BODY[..]);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    wire.send(&head).await?;
    if !stream.is_head {
        wire.send_body(b"ok\n").await?;
    }
    Ok(crate::http1::stream::end(stream.after))
}

async fn early(wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
    let mut response = Vec::new();
    let small = Small::status(413, stream.is_head);
    let body = small.write(&mut response, After::Close, wire.hub, Instant::now());
    wire.send_framed(&response, body).await?;
    Ok(End::Drop)
}

async fn idle_close(wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
    stream.head(wire, Length::Bytes(3), After::Keep).await?;
    if !stream.is_head {
        wire.send_body(b"ok\n").await?;
    }
    wire.hub
        .timer
        .sleep_until(Instant::now() + IDLE_CLOSE_AFTER)
        .await;
    Ok(End::Drop)
}
