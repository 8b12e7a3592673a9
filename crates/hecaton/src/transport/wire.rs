//! The stream of a connection: a socket, or TLS over one.
//!
//! Unread bytes on an idle connection need not be a fault: TLS 1.3 sends session tickets after the response. They are
//! read when the connection is taken from the pool. Only data, the end, or too many bytes make the connection unusable.
//! At most one record is written at a time, so "no byte of the request left" stays true after an error. A flood without
//! data (tickets, keys) yields after 64 reads, so that deadlines hold.

use std::io::{self, IoSlice, Read};
use std::os::fd::RawFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use nix::sys::socket::MsgFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client;

use crate::transport::farewell;
use crate::transport::pipe::Pipe;
use crate::transport::tls::explain::{Explanation, explain};

/// A TLS record carries at most this many bytes (RFC 8446 §5.1).
pub(crate) const RECORD: usize = 16 << 10;

/// At most this many reads from a socket serve one read from TLS. A peer may send records without data (tickets, keys)
/// for ever, and must not delay deadlines and other requests.
const READS_PER_TURN: u32 = 64;

/// At most this many bytes of a peer that hung up are read at once; the rest is read as usual.
const MOST_RESCUED: usize = 64 << 10;

/// TLS over a socket.
pub(crate) type TlsStream = client::TlsStream<Socket>;

/// An enum, and not a trait object, so that a plain socket costs two comparisons and no more.
pub(crate) enum Wire {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

/// Where to look for bytes that have come.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    /// At what the reactor has seen so far, which costs nothing.
    Reactor,
    /// In the kernel itself, because the reactor may not have run for a while.
    Kernel,
}

/// The unread bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    Nothing,
    /// Data that came before a request was written.
    Data,
    /// The end, with the reason if TLS has one.
    End(Option<Explanation>),
}

impl Wire {
    /// The socket's descriptor.
    pub fn descriptor(&self) -> RawFd {
        match self {
            Wire::Plain(socket) => socket.pipe.fd(),
            Wire::Tls(tls) => tls.get_ref().0.pipe.fd(),
        }
    }

    /// Ready when a read would not wait, as far as is known; TLS has to read to know.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Wire::Plain(socket) => socket.pipe.poll_readable(cx),
            Wire::Tls(_) => Poll::Ready(Ok(())),
        }
    }

    /// Ready when bytes have come on the socket itself, whatever they are, or its end.
    pub fn poll_news(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Wire::Plain(socket) => socket.pipe.poll_news(cx),
            Wire::Tls(tls) => tls.get_ref().0.pipe.poll_news(cx),
        }
    }

    /// Whether the server chose HTTP/2 in the TLS handshake.
    pub fn chose_http2(&self) -> bool {
        match self {
            Wire::Plain(_) => false,
            Wire::Tls(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// The unread bytes.
    pub fn waiting(&mut self, look: Look) -> Waiting {
        match self {
            Wire::Plain(socket) => socket.waiting(look),
            Wire::Tls(tls) => waiting_in_tls(tls, look),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Wire::Tls(tls) = self {
            say_farewell(tls);
        }
    }
}

/// Ends TLS on a connection that is dropped.
pub(crate) fn say_farewell(tls: &mut TlsStream) {
    let (socket, session) = tls.get_mut();
    farewell::say(session, &mut socket.pipe);
}

/// Takes in what a socket has, up to a limit.
fn rescue_plain(socket: &mut Socket, input: &mut BytesMut) {
    let mut piece = [0; RECORD];
    while input.len() < MOST_RESCUED {
        match socket.pipe.try_read(&mut piece, Look::Kernel) {
            Ok(count @ 1..) => input.extend_from_slice(&piece[..count]),
            _ => return,
        }
    }
}

fn rescue_tls(tls: &mut TlsStream, input: &mut BytesMut) {
    let (socket, session) = tls.get_mut();
    let look = Look::Kernel;
    let mut piece = [0; RECORD];
    for _ in 0..READS_PER_TURN {
        while let Ok(count @ 1..) = session.reader().read(&mut piece) {
            input.extend_from_slice(&piece[..count]);
        }
        let read = session.read_tls(&mut Looking { socket, look });
        if !matches!(read, Ok(1..)) || session.process_new_packets().is_err() {
            return;
        }
    }
}

fn waiting_in_tls(tls: &mut TlsStream, look: Look) -> Waiting {
    match take_in(tls, look) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Waiting::Nothing,
        Err(error) => Waiting::End(explain(&error)),
        Ok(Taken::Data) => Waiting::Data,
        Ok(Taken::End) => Waiting::End(None),
    }
}

/// The unread data of TLS, after TLS has read its own messages.
pub(crate) enum Taken {
    Data,
    End,
}

/// Reads the messages of TLS itself, mostly session tickets (RFC 8446 §4.6.1), until there is data, or the end.
pub(crate) fn take_in(tls: &mut TlsStream, look: Look) -> io::Result<Taken> {
    let (socket, session) = tls.get_mut();
    for _ in 0..READS_PER_TURN {
        let state = session.process_new_packets().map_err(io::Error::other)?;
        if state.plaintext_bytes_to_read() > 0 {
            return Ok(Taken::Data);
        }
        if state.peer_has_closed() || session.read_tls(&mut Looking { socket, look })? == 0 {
            return Ok(Taken::End);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

impl Wire {
    /// Appends the kernel's unread bytes to `input`, without waiting and without the reactor: the last bytes of a peer
    /// whose end was noticed by writing.
    pub fn rescue(&mut self, input: &mut BytesMut) {
        match self {
            Wire::Plain(socket) => rescue_plain(socket, input),
            Wire::Tls(tls) => rescue_tls(tls, input),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(&mut socket.pipe).poll_read(cx, buf),
            Wire::Tls(tls) => poll_read_tls(tls, cx, buf),
        }
    }
}

pub(crate) fn poll_read_tls(
    tls: &mut TlsStream,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    // Bytes that were accepted for writing may still be here, and nothing else writes them. If they cannot be written,
    // the unread bytes may say why.
    if tls.get_ref().1.wants_write() {
        let _ = Pin::new(&mut *tls).poll_flush(cx);
    }
    tls.get_mut().0.reads = 0;
    Pin::new(tls)
        .poll_read(cx, buf)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the server ended it without ending TLS")
            }
            _ => error,
        })
}

impl AsyncWrite for Wire {
    /// One record at a time: an error before all of it is out means that none of it can be read.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(&mut socket.pipe).poll_write(cx, bytes),
            Wire::Tls(tls) => Pin::new(tls).poll_write(cx, &bytes[..bytes.len().min(RECORD)]),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(&mut socket.pipe).poll_flush(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Wire::Plain(socket) => Pin::new(&mut socket.pipe).poll_shutdown(cx),
            Wire::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}

/// A socket that is connected.
pub(crate) struct Socket {
    pub pipe: Pipe,
    /// How often TLS has read from it in this turn.
    reads: u32,
    /// Set during a handshake, with the error of writing if there was one. A server that refuses the client sends the
    /// reason and hangs up, and the reason must be read even if the client was still writing.
    shaking: bool,
    lost: Option<io::Error>,
    /// The first byte that TLS has read from it.
    first: Option<u8>,
}

impl Socket {
    pub fn new(pipe: Pipe) -> Socket {
        Socket {
            pipe,
            reads: 0,
            shaking: true,
            lost: None,
            first: None,
        }
    }

    /// The first byte that TLS has read from it.
    pub fn first(&self) -> Option<u8> {
        self.first
    }

    /// From now on an error of writing is reported at once.
    pub fn shaken(&mut self) {
        self.shaking = false;
    }

    /// The unread bytes. The kernel keeps them, but a look at the reactor takes a byte off.
    fn waiting(&mut self, look: Look) -> Waiting {
        let found = match (&mut self.pipe, look) {
            (Pipe::Tls(tls), _) => return waiting_in_tls(tls, look),
            (pipe, Look::Reactor) => pipe.try_read(&mut [0], look),
            (pipe, Look::Kernel) => pipe.receive(&mut [0], MsgFlags::MSG_PEEK),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Waiting::Nothing,
            Ok(1..) => Waiting::Data,
            _ => Waiting::End(None),
        }
    }
}

/// Reads without waiting.
struct Looking<'a> {
    socket: &'a mut Socket,
    look: Look,
}

impl Read for Looking<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.pipe.try_read(buf, self.look)
    }
}

/// For TLS, which reads until it has data.
impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let socket = self.get_mut();
        socket.reads += 1;
        if socket.reads > READS_PER_TURN {
            socket.reads = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        match Pin::new(&mut socket.pipe).poll_read(cx, buf) {
            Poll::Ready(Ok(())) if buf.filled().len() > before => {
                socket.first.get_or_insert(buf.filled()[before]);
                Poll::Ready(Ok(()))
            }
            Poll::Ready(end) => Poll::Ready(socket.lost.take().map_or(end, Err)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let socket = self.get_mut();
        match Pin::new(&mut socket.pipe).poll_write(cx, bytes) {
            Poll::Ready(Err(error)) if socket.shaking => {
                socket.lost = Some(error);
                Poll::Ready(Ok(bytes.len()))
            }
            result => result,
        }
    }

    /// In a handshake all that waits goes out at once: tokio-rustls writes only once after an error, and the server's
    /// alert may wait behind other messages. Later at most one record is written at a time.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = slices.iter().find(|slice| !slice.is_empty());
        let all = self.shaking.then(|| {
            slices
                .iter()
                .flat_map(|slice| slice.iter().copied())
                .collect::<Vec<u8>>()
        });
        self.poll_write(
            cx,
            all.as_deref()
                .or(first.map(|slice| &**slice))
                .unwrap_or(&[]),
        )
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Write;
    use std::net::TcpListener;

    use tokio::net::TcpStream;

    use super::*;
    use crate::Reactor;
    use crate::runtime::descriptors::Noted;

    #[test]
    fn a_peer_that_sends_endlessly_does_not_hold_up_other_tasks() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        Reactor::new().unwrap().block_on(async {
            let tcp = TcpStream::connect(address).await.unwrap();
            let (mut peer, _) = listener.accept().unwrap();
            peer.write_all(&[7; 1000]).unwrap();
            tcp.readable().await.unwrap();
            let mut socket = Socket::new(Pipe::Tcp(Noted::new(tcp)));
            // Byte by byte, like a peer that sends only small records without data.
            let mut read_on = |cx: &mut Context<'_>| {
                let mut byte = [0];
                let mut buf = ReadBuf::new(&mut byte);
                Pin::new(&mut socket).poll_read(cx, &mut buf).is_ready()
            };
            let mut turns = Vec::new();
            poll_fn(|cx| {
                let read = (0..1000).take_while(|_| read_on(cx)).count();
                turns.push(read);
                match turns.len() {
                    3 => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            })
            .await;
            assert_eq!(turns, [64, 64, 64], "and it wakes itself to read on");
        });
    }
}
