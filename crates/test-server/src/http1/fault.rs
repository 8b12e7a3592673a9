//! The faults of `/fault/<kind>` over HTTP/1.1.

use std::io;
use std::time::Instant;

use crate::http1::stream::{End, end};
use crate::http1::wire::Wire;
use crate::replies::stream::Stream;
use crate::request::fault::{BODY, DRIP_EVERY, Fault, HUGE_HEAD, IDLE_CLOSE_AFTER};
use crate::wire::head::{After, Length};
use crate::wire::small::Small;
use crate::wire::socket::until_end;

/// Causes the fault. An error means that the client went away first.
pub(super) async fn play(fault: Fault, wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
    match fault {
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
    until_end(wire.stream).await;
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
    Ok(end(stream.after))
}

async fn early(wire: &mut Wire<'_>, stream: &Stream) -> io::Result<End> {
    let mut response = Vec::new();
    let small = Small::status(413, stream.is_head);
    let body = small.write(&mut response, After::Close, &wire.hub.date, Instant::now());
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
