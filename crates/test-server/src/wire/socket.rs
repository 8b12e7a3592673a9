//! The client's end of a connection: TCP, a Unix socket, or TLS on TCP.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// The two ends of a connection: reading and writing. An enum, so that the plain case costs a comparison.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Socket {
    /// Writes what the system takes at once. TLS takes nothing here: its records are written by a flush.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => stream.try_write(bytes),
            Socket::Unix(stream) => stream.try_write(bytes),
            Socket::Tls(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Makes the drop of the socket a reset. A Unix socket knows none: there the drop is the end.
    pub(crate) fn reset_on_drop(&self) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_zero_linger(),
            Socket::Unix(_) => Ok(()),
            Socket::Tls(stream) => stream.get_ref().0.set_zero_linger(),
        }
    }

    /// The socket's error since the last call.
    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Socket::Tcp(stream) => stream.take_error(),
            Socket::Unix(stream) => stream.take_error(),
            Socket::Tls(stream) => stream.get_ref().0.take_error(),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Socket::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Socket::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Socket::Unix(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Socket::Tls(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Socket::Unix(stream) => Pin::new(stream).poll_flush(context),
            Socket::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Socket::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// Reads and drops what the client sends until it ends the connection.
pub(crate) async fn until_end(socket: &mut Socket) {
    poll_fn(|context| poll_end(socket, context)).await;
}

fn poll_end(socket: &mut Socket, context: &mut Context<'_>) -> Poll<()> {
    let mut bytes = [0; 4096];
    loop {
        let mut waste = ReadBuf::new(&mut bytes);
        let read = ready!(Pin::new(&mut *socket).poll_read(context, &mut waste));
        if read.is_err() || waste.filled().is_empty() {
            return Poll::Ready(());
        }
    }
}
