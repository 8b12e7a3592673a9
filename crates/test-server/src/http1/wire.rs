//! Writes pieces of a response to a socket, and counts the bytes in the server's log (the ledger).

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};

use crate::hub::Hub;
use crate::wire::socket::Socket;

/// A socket whose bytes are counted.
pub(crate) struct Wire<'c> {
    pub(crate) stream: &'c mut Socket,
    pub(crate) hub: &'c Hub,
    /// Whether the bytes belong to the response to a stray request.
    pub(crate) stray: bool,
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
        self.send(bytes).await?;
        let stray = self.stray;
        self.hub.ledger.borrow_mut().wrote_body(body, stray);
        Ok(())
    }

    /// Reads and drops what the client sends until it ends the connection, or until the deadline.
    pub(crate) async fn until_end(&mut self, deadline: Option<Instant>) {
        let mut timer_is_set = false;
        poll_fn(|context| {
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if late || self.poll_end(context).is_ready() {
                return Poll::Ready(());
            }
            if let Some(deadline) = deadline.filter(|_| !std::mem::replace(&mut timer_is_set, true))
            {
                self.hub.timer.wake_at(deadline, context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut bytes = [0; 4096];
        loop {
            let mut waste = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut *self.stream).poll_read(context, &mut waste));
            if read.is_err() || waste.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}
