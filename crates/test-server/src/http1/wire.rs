//! Writes pieces of a response to a socket, and counts the bytes in the server's log (the ledger).

use std::io;

use tokio::io::AsyncWriteExt;

use crate::hub::Hub;
use crate::wire::socket::Socket;

/// A socket whose bytes are counted.
pub(crate) struct Wire<'c> {
    pub(crate) stream: &'c mut Socket,
    pub(crate) hub: &'c Hub,
    /// Whether the bytes belong to the response to a stray request.
    pub(crate) stray: bool,
    /// How many bytes were written, also when the rest could not be.
    pub(crate) sent: &'c mut usize,
}

impl Wire<'_> {
    /// Writes all bytes: a head or framing.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.stream.write(bytes).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.hub.ledger.borrow_mut().wrote(count);
            *self.sent += count;
            bytes = &bytes[count..];
        }
        // TLS may hold bytes back. Without TLS this does nothing.
        self.stream.flush().await
    }

    /// Writes all bytes, all of them part of a body.
    pub(crate) async fn send_body(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send_framed(bytes, bytes.len()).await
    }

    /// Writes all bytes; `body` of them are part of a body, and the rest is framing.
    pub(crate) async fn send_framed(&mut self, bytes: &[u8], body: usize) -> io::Result<()> {
        let before = *self.sent;
        let result = self.send(bytes).await;
        let written = body.min(*self.sent - before);
        let stray = self.stray;
        self.hub.ledger.borrow_mut().wrote_body(written, stray);
        result
    }
}
