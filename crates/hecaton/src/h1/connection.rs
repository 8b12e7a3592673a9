//! One HTTP/1.1 connection: a stream and what has been read from it ahead of need.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWrite};

use crate::content::buffered::Share;
use crate::runtime::spare::Spare;
use crate::transport::proxy::Forward;
use crate::transport::wire::{Look, Waiting, Wire};

/// How many bytes one read takes: at first, and at most once responses turn out to be long.
const FIRST_READ: usize = 8 << 10;
const LONGEST_READ: usize = 64 << 10;

thread_local! {
    /// An idle connection needs no buffer, except with TLS, which must read to know whether anything came.
    static SPARE: Spare<BytesMut> = const { Spare::new() };
}

pub(crate) struct Connection {
    /// Read and not yet used; empty between two requests.
    pub input: BytesMut,
    /// The request being written; its memory is reused.
    pub output: Vec<u8>,
    /// The server's keep-alive timeout, if it has sent one.
    pub keep_alive_timeout: Option<Duration>,
    /// Whether a byte of the response has come.
    pub received: bool,
    /// The share of `max_buffered` for the next body that is held whole. It stands here until the body begins, because
    /// the future of a request must stay small.
    pub share: Share,
    /// Whether another owner may hold some of the input's buffer.
    lent: bool,
    /// How many bytes the next read may take.
    ahead: usize,
    /// The headers for an HTTP proxy that forwards the requests, if there is one.
    pub forward: Option<Arc<Forward>>,
    stream: Wire,
}

impl Connection {
    pub fn new(stream: Wire, forward: Option<Arc<Forward>>) -> Connection {
        Connection {
            input: BytesMut::new(),
            output: Vec::new(),
            keep_alive_timeout: None,
            received: false,
            share: Share::default(),
            lent: false,
            ahead: FIRST_READ,
            forward,
            stream,
        }
    }

    /// Reads some more into `input`; 0 means that the peer has ended the stream.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.input.capacity() == 0 {
            ready!(self.stream.poll_readable(cx))?;
            self.input = Spare::take(&SPARE).unwrap_or_default();
        }
        // The buffer already has the capacity for the rest of a head, or of a body that stays in it.
        let ahead = self.input.is_empty() || self.input.len() == self.input.capacity();
        if ahead {
            self.input.reserve(self.ahead);
        }
        let room = self.input.capacity() - self.input.len();
        let result = pin!(self.stream.read_buf(&mut self.input)).poll(cx);
        if let Poll::Ready(Ok(count @ 1..)) = result {
            self.received = true;
            if ahead && count == room {
                self.ahead = (self.ahead * 2).min(LONGEST_READ);
            }
        }
        result
    }

    /// Gives the input exactly this much memory, which is more than it has. `BytesMut` would double it.
    pub fn grow_input(&mut self, to: usize) {
        let mut bytes = Vec::from(std::mem::take(&mut self.input));
        bytes.reserve_exact(to - bytes.len());
        // The way through `Bytes` copies nothing.
        self.input = BytesMut::from(Bytes::from(bytes));
    }

    /// Takes this many bytes off the input: in the buffer that they were read to, unless most of that
    /// buffer would be empty.
    pub fn take_input(&mut self, count: usize) -> BytesMut {
        if self.input.capacity() > count * 2 {
            let taken = BytesMut::from(&self.input[..count]);
            self.input.advance(count);
            return taken;
        }
        self.split_input(count)
    }

    /// Takes this many bytes off the input, in the buffer that they were read to.
    pub fn split_input(&mut self, count: usize) -> BytesMut {
        self.lent = true;
        self.input.split_to(count)
    }

    /// Hands the buffer on once all of it has been used: an idle connection needs none.
    pub fn release_input(&mut self) {
        let mut input = std::mem::take(&mut self.input);
        // Bytes after a response belong to no request, and must not reach the next connection.
        input.clear();
        // A buffer that others hold too is left to them. Otherwise the whole buffer can be used again.
        if std::mem::take(&mut self.lent) {
            return;
        }
        let _ = input.try_reclaim(input.capacity() + 1);
        if (FIRST_READ..=LONGEST_READ).contains(&input.capacity()) {
            Spare::give(&SPARE, input);
        }
    }

    /// Reads the bytes that the kernel has, even if the reactor has not seen them. Returns whether there were any.
    pub fn rescue(&mut self) -> bool {
        let before = self.input.len();
        self.stream.rescue(&mut self.input);
        self.received |= self.input.len() > before;
        self.input.len() > before
    }

    /// Writes some of `bytes`.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    /// Checks by a system call what has arrived before a request is written. On a reused connection
    /// nothing may have arrived.
    pub fn waiting(&mut self) -> Waiting {
        self.stream.waiting(Look::Kernel)
    }

    /// Ready when something has come on an idle connection since `seems_quiet`, else its next byte or its end wakes the
    /// task.
    pub fn poll_news(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.stream.poll_news(cx)
    }

    /// Whether nothing has come on an idle connection, as far as the reactor has seen, which costs nothing.
    pub fn seems_quiet(&mut self) -> bool {
        self.stream.waiting(Look::Reactor) == Waiting::Nothing
    }

    /// Whether it uses TLS.
    pub fn is_tls(&self) -> bool {
        matches!(self.stream, Wire::Tls(_))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Write;
    use std::os::unix::net::UnixStream as Peer;

    use tokio::net::UnixStream;

    use super::*;
    use crate::Reactor;
    use crate::runtime::descriptors::Noted;
    use crate::transport::pipe::Pipe;
    use crate::transport::wire::Socket;

    fn pair() -> (Connection, Peer) {
        let (own, peer) = Peer::pair().unwrap();
        own.set_nonblocking(true).unwrap();
        let pipe = Pipe::Unix(Noted::new(UnixStream::from_std(own).unwrap()));
        (Connection::new(Wire::Plain(Socket::new(pipe)), None), peer)
    }

    async fn receive(connection: &mut Connection, peer: &mut Peer, count: usize) {
        peer.write_all(&vec![b'x'; count]).unwrap();
        while connection.input.len() < count {
            poll_fn(|cx| connection.poll_fill(cx)).await.unwrap();
        }
    }

    #[test]
    fn a_body_keeps_no_buffer_that_is_much_larger_whatever_came_before() {
        Reactor::new().unwrap().block_on(async {
            let (mut connection, mut peer) = pair();
            // Long reads leave a long buffer, and short ones of another connection walk through it.
            connection.ahead = LONGEST_READ;
            let (mut other, mut its_peer) = pair();
            let short = |connection| std::iter::repeat_n((connection, 500), 112);
            let sizes = [(true, 500)].into_iter();
            let sizes = sizes
                .chain(short(false))
                .chain([(false, 5_000), (true, 20_000)]);
            for (first, size) in sizes {
                let (connection, peer) = match first {
                    true => (&mut connection, &mut peer),
                    false => (&mut other, &mut its_peer),
                };
                receive(connection, peer, size).await;
                let mut body = connection.take_input(size);
                connection.release_input();
                assert!(!body.try_reclaim(2 * size.max(FIRST_READ)), "{size}");
            }
        });
    }

    #[test]
    fn a_released_input_shares_no_buffer_with_earlier_pieces() {
        Reactor::new().unwrap().block_on(async {
            let (mut connection, mut peer) = pair();
            receive(&mut connection, &mut peer, 4_000).await;
            let piece = connection.split_input(1_000).freeze();
            connection.release_input();
            let (mut other, mut its_peer) = pair();
            its_peer.write_all(b"y").unwrap();
            poll_fn(|cx| other.poll_fill(cx)).await.unwrap();
            assert_eq!(other.input, "y");
            assert!(piece.iter().all(|byte| *byte == b'x'));
        });
    }
}
