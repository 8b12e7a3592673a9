//! A TCP stream whose owner can ask how much was written and whether the peer hung up.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The stream itself; hyper gets it, and keeps it for as long as the connection lives.
pub(crate) struct Socket {
    stream: TcpStream,
    written: Arc<AtomicU64>,
}

/// What the connection can still ask of the stream that hyper has.
pub(crate) struct Watch {
    fd: RawFd,
    written: Arc<AtomicU64>,
}

impl Socket {
    /// The stream, and a watch on it that must not outlive it.
    pub fn new(stream: TcpStream) -> (Socket, Watch) {
        let written = Arc::new(AtomicU64::new(0));
        let watch = Watch {
            fd: stream.as_raw_fd(),
            written: written.clone(),
        };
        (Socket { stream, written }, watch)
    }

    fn count(&self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(count)) = result {
            self.written.fetch_add(count as u64, Ordering::Relaxed);
        }
        result
    }
}

impl Watch {
    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Whether there is anything to read, be it the end of the stream. On an idle connection that
    /// means it can not be used. Asks the kernel itself: the reactor may not have run for a while.
    pub fn is_readable(&self) -> bool {
        let peeked = recv(
            self.fd,
            &mut [0],
            MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT,
        );
        peeked != Err(Errno::EAGAIN)
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // The usual single slice by `send`, which the kernel does a little faster than `writev`.
        let result = match slices {
            [bytes] => Pin::new(&mut self.stream).poll_write(cx, bytes),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, slices),
        };
        self.count(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
