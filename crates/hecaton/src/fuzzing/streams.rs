//! What is asked of a stream: proxies' answers, and what the stream under HTTP/2 notes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::in_pieces;
use crate::h2::fuzzing::{Explains, Instrumented, Observed};
use crate::message::request::Request;
use crate::transport::proxy::Forward;
use crate::transport::proxy::fuzzing::{Target, ask_socks, tunnel};

/// What comes piece by piece, and takes whatever is written.
struct Peer<'a> {
    size: usize,
    left: &'a [u8],
}

impl AsyncRead for Peer<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let count = this.size.min(this.left.len()).min(buffer.remaining());
        let (piece, left) = this.left.split_at(count);
        buffer.put_slice(piece);
        this.left = left;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Peer<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(self.size.min(bytes.len())))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Explains for Peer<'_> {
    fn reason(&mut self, _: &io::Error) -> Option<String> {
        None
    }
}

/// Runs what never has to wait.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("everything is there")
}

/// A proxy's answer to CONNECT: only success makes a tunnel, whatever the pieces.
pub fn connect(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let origin = Request::get("https://host.example/")
        .unwrap()
        .origin()
        .clone();
    let ask = |size| {
        let forward = Forward::new(Some((b"user".to_vec(), b"pass".to_vec())));
        let mut peer = Peer { size, left: bytes };
        at_once(tunnel(&mut peer, &forward, &origin, "fuzz/1"))
    };
    if ask(size).is_ok() {
        assert!(
            bytes.starts_with(b"HTTP/1.") || bytes.starts_with(b"\r") || bytes.starts_with(b"\n")
        );
    }
    // In small pieces what is behind the answer may not have come yet.
    if ask(usize::MAX).is_ok() {
        assert!(ask(1).is_ok());
    }
}

/// A SOCKS proxy's answers: every split reads alike, and nothing behind them is taken.
pub fn socks(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let known = Some((b"user".to_vec(), b"pass".to_vec()));
    for credentials in [None, known] {
        let ask = |size| {
            let mut peer = Peer { size, left: bytes };
            let result = at_once(ask_socks(&mut peer, &credentials, Target::Name("host", 80)));
            (result, peer.left.len())
        };
        let (whole, left) = ask(usize::MAX);
        let (pieces, pieces_left) = ask(size);
        assert_eq!(whole, pieces);
        if whole.is_ok() {
            assert_eq!(left, pieces_left);
            assert!(bytes.len() - left <= 2 + 2 + 5 + 257);
        }
    }
}

/// The instrumented stream under HTTP/2: what has left and what came is known whatever the pieces, and by what the frames say.
pub fn tap(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let (mut departed, mut progressed, mut code) = (0, false, 0);
    follow(bytes.get(24..).unwrap_or_default(), |frame, stream, _| {
        departed = departed.max(if frame == 1 { stream } else { 0 });
    });
    follow(bytes, |frame, _, goaway| match (frame, goaway) {
        (1, _) => progressed = true,
        (7, Some((last, error))) => {
            // A code that HTTP/2 does not have says of no error.
            code = code.max(if error <= 13 { error } else { 0 });
            progressed |= last > 0 && last < 0x7fff_ffff;
        }
        _ => {}
    });
    for size in [size, usize::MAX] {
        let seen = note(bytes, size);
        assert!(seen.has_left(departed) && !seen.has_left(departed + 1));
        assert_eq!(seen.received(), bytes.len() as u64);
        assert_eq!(seen.has_progressed(), progressed);
        assert_eq!(seen.goaway_error(), (code != 0).then_some(code));
    }
}

/// What it knows when these bytes have gone through it both ways.
fn note(bytes: &[u8], size: usize) -> Arc<Observed> {
    let observed = Arc::new(Observed::default());
    let mut tap = Instrumented::new(Peer { size, left: bytes }, observed.clone());
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut rest = bytes;
    while !rest.is_empty() {
        let Poll::Ready(Ok(count)) = Pin::new(&mut tap).poll_write(&mut cx, rest) else {
            panic!("it takes whatever is written");
        };
        rest = &rest[count..];
    }
    let mut space = [0; 300];
    loop {
        observed.begin_turn();
        let mut buffer = ReadBuf::new(&mut space);
        assert!(
            Pin::new(&mut tap)
                .poll_read(&mut cx, &mut buffer)
                .is_ready()
        );
        if buffer.filled().is_empty() {
            return observed;
        }
    }
}

/// Tells kind and stream of each frame whose head is there, and last stream and code of a GOAWAY (RFC 9113 §4.1, §6.8).
fn follow(mut rest: &[u8], mut tell: impl FnMut(u8, u32, Option<(u32, u32)>)) {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    while let Some((head, after)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        // A GOAWAY counts once it has passed whole, which no shorter frame does.
        let whole = length >= 8 && after.len() >= length;
        let start = after.get(..8).filter(|_| whole);
        let goaway = start.map(|start| (number(&start[..4]) & 0x7fff_ffff, number(&start[4..])));
        tell(head[3], number(&head[5..]) & 0x7fff_ffff, goaway);
        rest = after.get(length..).unwrap_or_default();
    }
}
