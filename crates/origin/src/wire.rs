//! Writes pieces of an answer to a socket and tells the ledger.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::hub::Hub;

/// A socket whose bytes are counted.
pub(crate) struct Wire<'c> {
    pub(crate) stream: &'c mut TcpStream,
    pub(crate) hub: &'c Hub,
}

impl Wire<'_> {
    /// Writes all of it, head or framing.
    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.stream.write(bytes).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.hub.ledger.borrow_mut().wrote(count);
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Writes all of it, bytes of a body.
    pub(crate) async fn send_body(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.send_framed(bytes, bytes.len()).await
    }

    /// Writes all of it, a body of so many bytes with its framing.
    pub(crate) async fn send_framed(&mut self, bytes: &[u8], body: usize) -> io::Result<()> {
        self.send(bytes).await?;
        self.hub.ledger.borrow_mut().wrote_body(body);
        Ok(())
    }

    /// Reads and drops what the client sends until it ends the connection.
    pub(crate) async fn until_end(&mut self) {
        let mut waste = [0; 4096];
        while let Ok(count) = tokio::io::AsyncReadExt::read(self.stream, &mut waste).await {
            if count == 0 {
                break;
            }
        }
    }
}
