//! A connected socket: TCP, a Unix socket, or TLS to a proxy.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::runtime::descriptors::Noted;
use crate::transport::farewell::{Now, Under};
use crate::transport::wire::{Look, RECORD, TlsStream, poll_read_tls, say_farewell, take_in};

/// How bytes are sent without waiting. A closed connection is an error and never SIGPIPE, which ends programs that do
/// not ignore it.
#[cfg(not(target_vendor = "apple"))]
const SEND: MsgFlags = MsgFlags::MSG_DONTWAIT.union(MsgFlags::MSG_NOSIGNAL);

/// Apple's systems have the socket option `SO_NOSIGPIPE` instead, which std, mio and socket2 set on each socket they open.
#[cfg(target_vendor = "apple")]
const SEND: MsgFlags = MsgFlags::MSG_DONTWAIT;

/// A connected socket.
pub(crate) enum Pipe {
    Tcp(Noted<TcpStream>),
    Unix(Noted<UnixStream>),
    /// TLS to a proxy. A tunnel through it may carry TLS again.
    Tls(Box<TlsStream>),
}

impl Pipe {
    /// Ready when a read would not wait, as far as is known; TLS has to read to know.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Pipe::Tcp(tcp) => tcp.poll_read_ready(cx),
            Pipe::Unix(unix) => unix.poll_read_ready(cx),
            Pipe::Tls(_) => Poll::Ready(Ok(())),
        }
    }

    /// Ready when bytes have come on the socket itself, whatever they are, or its end.
    pub fn poll_news(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Pipe::Tls(tls) => tls.get_ref().0.pipe.poll_news(cx),
            pipe => pipe.poll_readable(cx).map(drop),
        }
    }

    /// Reads without waiting.
    pub fn try_read(&mut self, buf: &mut [u8], look: Look) -> io::Result<usize> {
        match (self, look) {
            (Pipe::Tls(tls), _) => {
                take_in(tls, look)?;
                tls.get_mut().1.reader().read(buf)
            }
            (Pipe::Tcp(tcp), Look::Reactor) => tcp.try_read(buf),
            (Pipe::Unix(unix), Look::Reactor) => unix.try_read(buf),
            (pipe, Look::Kernel) => pipe.receive(buf, MsgFlags::empty()),
        }
    }

    /// Refuses to touch a parent's socket in a child. A client that is dropped there ends its connections, and the
    /// number of the socket may be another's by then.
    fn check_own(&self) -> io::Result<()> {
        let inherited = match self {
            Pipe::Tcp(tcp) => tcp.is_inherited(),
            Pipe::Unix(unix) => unix.is_inherited(),
            Pipe::Tls(tls) => return tls.get_ref().0.pipe.check_own(),
        };
        match inherited {
            true => Err(io::ErrorKind::NotConnected.into()),
            false => Ok(()),
        }
    }

    pub fn receive(&self, buf: &mut [u8], flags: MsgFlags) -> io::Result<usize> {
        self.check_own()?;
        let flags = flags | MsgFlags::MSG_DONTWAIT;
        recv(self.fd(), buf, flags).map_err(|error| match error {
            Errno::EAGAIN => io::ErrorKind::WouldBlock.into(),
            other => other.into(),
        })
    }

    pub fn fd(&self) -> RawFd {
        match self {
            Pipe::Tcp(tcp) => tcp.as_raw_fd(),
            Pipe::Unix(unix) => unix.as_raw_fd(),
            Pipe::Tls(tls) => tls.get_ref().0.pipe.fd(),
        }
    }
}

impl Under for Pipe {
    fn is_own(&self) -> bool {
        match self {
            Pipe::Tcp(tcp) => tcp.is_own(),
            Pipe::Unix(unix) => unix.is_own(),
            Pipe::Tls(tls) => tls.get_ref().0.pipe.is_own(),
        }
    }

    fn read_now(&self, piece: &mut [u8]) -> io::Result<usize> {
        self.receive(piece, MsgFlags::empty())
    }

    fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Pipe::Tls(tls) = self {
            let (socket, session) = tls.get_mut();
            let count = session.writer().write(bytes)?;
            session.write_tls(&mut Now(&mut socket.pipe))?;
            return Ok(count);
        }
        self.check_own()?;
        send(self.fd(), bytes, SEND).map_err(Into::into)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        if let Pipe::Tls(tls) = self {
            say_farewell(tls);
        }
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_own()?;
        match self.get_mut() {
            Pipe::Tcp(tcp) => Pin::new(&mut **tcp).poll_read(cx, buf),
            Pipe::Unix(unix) => Pin::new(&mut **unix).poll_read(cx, buf),
            Pipe::Tls(tls) => poll_read_tls(tls, cx, buf),
        }
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_own()?;
        match self.get_mut() {
            Pipe::Tcp(tcp) => Pin::new(&mut **tcp).poll_write(cx, bytes),
            Pipe::Unix(unix) => Pin::new(&mut **unix).poll_write(cx, bytes),
            Pipe::Tls(tls) => Pin::new(tls).poll_write(cx, &bytes[..bytes.len().min(RECORD)]),
        }
    }

    /// Sockets hold nothing back.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Pipe::Tls(tls) => Pin::new(tls).poll_flush(cx),
            Pipe::Tcp(_) | Pipe::Unix(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_own()?;
        match self.get_mut() {
            Pipe::Tcp(tcp) => Pin::new(&mut **tcp).poll_shutdown(cx),
            Pipe::Unix(unix) => Pin::new(&mut **unix).poll_shutdown(cx),
            Pipe::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
