//! Answers that need more than one write: long bodies, chunks, bodies without a length, faults.

use std::io::{self, Write as _};
use std::time::Instant;

use crate::answer::{Head, Length, TEXT};
use crate::fault::Fault;
use crate::request::After;
use crate::wire::Wire;

/// What is streamed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) kind: Kind,
    pub(crate) is_head: bool,
    pub(crate) version: u8,
    pub(crate) after: After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chunked(u64),
    Bytes(u64),
    Eof,
    Fault(Fault),
}

/// How the connection goes on after a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Keep,
    /// The answer ends; the connection is closed in good order.
    Close,
    /// The connection is dropped as it is.
    Drop,
}

/// Bodies are written in pieces of about this size.
const PIECE: usize = 64 * 1024;
/// Bodies of `/bytes/<n>` repeat this.
const ALPHABET: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";

impl Stream {
    /// Writes the answer. An error means that the client went away before its end.
    pub(crate) async fn play(self, wire: &mut Wire<'_>) -> io::Result<End> {
        match self.kind {
            Kind::Chunked(count) => self.chunked(wire, count).await,
            Kind::Bytes(count) => self.bytes(wire, count).await,
            Kind::Eof => self.eof(wire).await,
            Kind::Fault(fault) => fault.play(wire, self).await,
        }
    }

    /// Writes a head of status 200.
    pub(crate) async fn head(
        self,
        wire: &mut Wire<'_>,
        length: Length,
        after: After,
    ) -> io::Result<()> {
        let mut out = Vec::new();
        let head = Head {
            status: 200,
            content_type: TEXT,
            length,
            after,
        };
        head.write(&mut out, wire.hub.date.at(Instant::now()).0);
        wire.send(&out).await
    }

    /// Chunks `chunk 1` to `chunk <count>` and the trailer `X-Chunks`. HTTP/1.0 knows no chunks: there the
    /// body ends with the connection.
    async fn chunked(self, wire: &mut Wire<'_>, count: u64) -> io::Result<End> {
        let framed = self.version > 0;
        let (length, after) = if framed {
            (Length::Chunked, self.after)
        } else {
            (Length::Silent, After::Close)
        };
        self.head(wire, length, after).await?;
        if !self.is_head {
            send_chunks(wire, count, framed).await?;
        }
        Ok(end(after))
    }

    async fn bytes(self, wire: &mut Wire<'_>, count: u64) -> io::Result<End> {
        self.head(wire, Length::Bytes(count), self.after).await?;
        let piece = ALPHABET.repeat(PIECE / ALPHABET.len());
        let mut missing = if self.is_head { 0 } else { count };
        while missing > 0 {
            let size = missing.min(piece.len() as u64);
            wire.send_body(&piece[..size as usize]).await?;
            missing -= size;
        }
        Ok(end(self.after))
    }

    async fn eof(self, wire: &mut Wire<'_>) -> io::Result<End> {
        self.head(wire, Length::Silent, After::Close).await?;
        if !self.is_head {
            wire.send_body(b"until the end\n").await?;
        }
        Ok(End::Close)
    }
}

async fn send_chunks(wire: &mut Wire<'_>, count: u64, framed: bool) -> io::Result<()> {
    let (mut piece, mut body) = (Vec::with_capacity(PIECE + 64), 0);
    for number in 1..=count {
        let text = format!("chunk {number}\n");
        if framed {
            write!(piece, "{:x}\r\n{text}\r\n", text.len())?;
        } else {
            piece.extend_from_slice(text.as_bytes());
        }
        body += text.len();
        if piece.len() >= PIECE {
            wire.send_framed(&piece, std::mem::take(&mut body)).await?;
            piece.clear();
        }
    }
    if framed {
        write!(piece, "0\r\nX-Chunks: {count}\r\n\r\n")?;
    }
    wire.send_framed(&piece, body).await
}

/// What an answer's head has promised for the connection.
pub(crate) fn end(after: After) -> End {
    if after == After::Close {
        End::Close
    } else {
        End::Keep
    }
}
