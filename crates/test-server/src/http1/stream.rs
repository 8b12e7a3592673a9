//! Writes the responses that need more than one write.

use std::io::{self, Write as _};
use std::time::Instant;

use crate::http1::fault;
use crate::http1::wire::Wire;
use crate::replies::stream::{Kind, Stream};
use crate::request::fault::Fault;
use crate::wire::head::{After, Head, Length};
use crate::wire::source::{PIECE, Source};

/// How the connection continues after a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Keep,
    /// The response ends; the connection is closed in good order.
    Close,
    /// The connection is closed at once, without waiting for the client.
    Drop,
}

impl Stream {
    /// Writes the response. An error means that the client went away before its end.
    pub(crate) async fn play(mut self, wire: &mut Wire<'_>) -> io::Result<End> {
        match std::mem::replace(&mut self.kind, Kind::Fault(Fault::Close)) {
            Kind::Body(length, source) => self.body(wire, length, source).await,
            Kind::Fault(fault) => fault::play(fault, wire, &self).await,
        }
    }

    /// Writes a head of status 200.
    pub(crate) async fn head(
        &self,
        wire: &mut Wire<'_>,
        length: Length,
        after: After,
    ) -> io::Result<()> {
        let mut out = Vec::new();
        let head = Head {
            status: 200,
            content_type: self.content_type,
            fields: &self.fields,
            length,
            after,
        };
        head.write(&mut out, wire.hub.date.at(Instant::now()).0);
        wire.send(&out).await
    }

    /// HTTP/1.0 has no chunks, so there the end of the connection ends such a body.
    async fn body(self, wire: &mut Wire<'_>, length: Length, source: Source) -> io::Result<End> {
        let framed = length == Length::Chunked && self.version > 0;
        let (length, after) = match length {
            Length::Bytes(_) => (length, self.after),
            Length::Chunked if framed => (length, self.after),
            Length::Chunked | Length::Silent => (Length::Silent, After::Close),
        };
        self.head(wire, length, after).await?;
        if !self.is_head {
            send(wire, source, framed).await?;
        }
        Ok(end(after))
    }
}

/// Writes the body; small pieces go out together.
async fn send(wire: &mut Wire<'_>, mut source: Source, framed: bool) -> io::Result<()> {
    let (mut out, mut body) = (Vec::new(), 0);
    while let Some(piece) = source.next() {
        if let Some(pause) = piece.pause {
            wire.send_framed(&out, std::mem::take(&mut body)).await?;
            out.clear();
            let until = Instant::now() + pause;
            wire.hub.timer.sleep_until(until).await;
        }
        body += piece.bytes.len();
        if framed {
            write!(out, "{:x}\r\n", piece.bytes.len())?;
        }
        out.extend_from_slice(&piece.bytes);
        if framed {
            out.extend_from_slice(b"\r\n");
        }
        if out.len() >= PIECE / 2 {
            wire.send_framed(&out, std::mem::take(&mut body)).await?;
            out.clear();
        }
    }
    if framed {
        out.extend_from_slice(b"0\r\n");
        if let Some((name, value)) = source.trailer() {
            write!(out, "{name}: {value}\r\n")?;
        }
        out.extend_from_slice(b"\r\n");
    }
    wire.send_framed(&out, body).await
}

/// The end of the connection that a response's head has promised.
pub(crate) fn end(after: After) -> End {
    if after == After::Close {
        End::Close
    } else {
        End::Keep
    }
}
