//! Fuzz targets that need a stream: the responses of proxies, and the instrumented stream under HTTP/2.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::in_pieces;
use crate::h2::fuzzing::{Decoder, Explains, Instrumented, Observed};
use crate::message::request::Request;
use crate::transport::proxy::Forward;
use crate::transport::proxy::fuzzing::{Target, negotiate_socks, tunnel};
use crate::transport::tls::explain::Explanation;

/// A peer that sends these bytes in pieces, and accepts whatever is written.
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
    fn reason(&mut self, _: &io::Error) -> Option<Explanation> {
        None
    }
}

/// Runs a future that never has to wait.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("everything is there")
}

/// A proxy's response to CONNECT: however the bytes are split, only an HTTP/1 response makes a tunnel.
pub fn connect(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let origin = Request::get("https://host.example/")
        .unwrap()
        .origin()
        .clone();
    let outcome_of = |size| {
        let forward = Forward::new(Some((b"user".to_vec(), b"pass".to_vec())));
        let mut peer = Peer { size, left: bytes };
        at_once(tunnel(&mut peer, &forward, &origin, "fuzz/1"))
    };
    if outcome_of(size).is_ok() {
        assert!(
            bytes.starts_with(b"HTTP/1.") || bytes.starts_with(b"\r") || bytes.starts_with(b"\n")
        );
    }
    // The reverse does not hold: in small pieces, surplus bytes after the response may not have arrived yet.
    if outcome_of(usize::MAX).is_ok() {
        assert!(outcome_of(1).is_ok());
    }
}

/// A SOCKS proxy's responses: every split gives the same result, and no byte after the responses is read.
pub fn socks(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let known = Some((b"user".to_vec(), b"pass".to_vec()));
    for credentials in [None, known] {
        let outcome_of = |size| {
            let mut peer = Peer { size, left: bytes };
            let result = at_once(negotiate_socks(
                &mut peer,
                &credentials,
                Target::Name("host", 80),
            ));
            (result, peer.left.len())
        };
        let (whole, left) = outcome_of(usize::MAX);
        let (pieces, pieces_left) = outcome_of(size);
        assert_eq!(whole, pieces);
        if whole.is_ok() {
            assert_eq!(left, pieces_left);
            assert!(bytes.len() - left <= 2 + 2 + 5 + 257);
        }
    }
}

/// How much of a block of fields the stream may hold back.
const BLOCK: usize = 1 << 16;

/// The instrumented stream under HTTP/2: however the bytes are split, it observes the same requests and responses, and
/// passes on the same frames, apart from how bodies are cut into frames.
pub fn tap(bytes: &[u8]) {
    let (size, bytes) = in_pieces(bytes);
    let mut departed = 0;
    let written = bytes.get(24..).unwrap_or_default();
    follow(written, |frame, stream| {
        departed = departed.max(if frame == 1 { stream } else { 0 });
    });
    let (whole, passed) = note(bytes, usize::MAX);
    let (pieces, passed_in_pieces) = note(bytes, size);
    assert!(by_stream(&passed) == by_stream(&passed_in_pieces));
    for seen in [&whole, &pieces] {
        assert!(seen.has_left(departed) && !seen.has_left(departed + 1));
        assert_eq!(seen.received(), bytes.len() as u64);
        assert_eq!(seen.has_progressed(), whole.has_progressed());
        assert_eq!(seen.goaway_error(), whole.goaway_error());
        assert_eq!(seen.refused(), whole.refused());
        for stream in [1, 3] {
            assert_eq!(seen.wrong(stream), whole.wrong(stream));
            assert_eq!(seen.body(stream), whole.body(stream));
            let (came, may) = (seen.whole_body(stream), seen.wrong(stream).is_none());
            assert!(came.is_none() || may, "a malformed response is never whole");
        }
    }
    // If nothing is wrong, the frames pass unchanged, apart from some of a few kinds.
    if !whole.has_faults() && whole.refused().is_none() {
        let mut changed = 0;
        follow(bytes, |kind, _| {
            changed += u32::from([1, 2, 3, 8].contains(&kind))
        });
        assert!(changed > 0 || by_stream(&passed) == by_stream(bytes));
    }
}

/// The observations after these bytes went through both ways, and the bytes that reached `h2`.
fn note(bytes: &[u8], size: usize) -> (Arc<Observed>, Vec<u8>) {
    let observed = Arc::new(Observed::default());
    observed.opened(1, false);
    observed.opened(3, true);
    let peer = Peer { size, left: bytes };
    let mut tap = Instrumented::new(peer, observed.clone(), BLOCK);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut rest = bytes;
    while !rest.is_empty() {
        let Poll::Ready(Ok(count)) = Pin::new(&mut tap).poll_write(&mut cx, rest) else {
            panic!("the peer accepts every write");
        };
        rest = &rest[count..];
    }
    let (mut space, mut passed) = ([0; 300], Vec::new());
    loop {
        observed.begin_turn();
        if observed.received() % 3 == 0 {
            observed.waits(1, std::task::Waker::noop());
        }
        let mut buffer = ReadBuf::new(&mut space);
        match Pin::new(&mut tap).poll_read(&mut cx, &mut buffer) {
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => return (observed, passed),
            Poll::Ready(Ok(())) => passed.extend_from_slice(buffer.filled()),
            Poll::Ready(Err(error)) => panic!("{error}"),
            // The stream yields after many reads, so that other tasks get their turn.
            Poll::Pending => {}
        }
    }
}

/// The frames of each stream: kind, flags and payload. DATA frames that follow each other are one, unless they are padded,
/// and empty ones are left out.
fn by_stream(mut rest: &[u8]) -> BTreeMap<u32, Vec<(u8, u8, Vec<u8>)>> {
    const END_STREAM: u8 = 1;
    const PADDED: u8 = 8;
    let mut streams = BTreeMap::<u32, Vec<(u8, u8, Vec<u8>)>>::new();
    while let Some((head, after)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (payload, after) = after.split_at(length.min(after.len()));
        rest = after;
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes(head[5..].try_into().unwrap()) & 0x7fff_ffff;
        let frames = streams.entry(stream).or_default();
        let joins = kind == 0 && flags & PADDED == 0;
        match frames.last_mut() {
            Some((0, known, body)) if joins && *known & PADDED == 0 => {
                body.extend_from_slice(payload);
                *known |= flags & END_STREAM;
            }
            _ if joins => frames.push((kind, flags & END_STREAM, payload.to_vec())),
            _ => frames.push((kind, flags, payload.to_vec())),
        }
    }
    streams.entry(0).or_default().push((0xff, 0, rest.to_vec()));
    for frames in streams.values_mut() {
        frames.retain(|(kind, flags, payload)| (*kind, *flags) != (0, 0) || !payload.is_empty());
    }
    streams.retain(|_, frames| !frames.is_empty());
    streams
}

/// Reports the kind and the stream of each frame whose head is complete (RFC 9113 §4.1).
fn follow(mut rest: &[u8], mut report: impl FnMut(u8, u32)) {
    while let Some((head, after)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let stream = u32::from_be_bytes(head[5..].try_into().unwrap());
        report(head[3], stream & 0x7fff_ffff);
        rest = after.get(length..).unwrap_or_default();
    }
}

/// Blocks of fields, each after a byte with its length. The replacement of a block must change the HPACK table as the
/// block does.
pub fn hpack(mut bytes: &[u8]) {
    let (mut decoder, mut other) = (Decoder::default(), Decoder::default());
    while let Some((length, rest)) = bytes.split_first() {
        let (block, rest) = rest.split_at(rest.len().min((*length).into()));
        bytes = rest;
        if decoder.read(block).is_err() {
            return;
        }
        let Some(harmless) = decoder.harmless(block) else {
            return;
        };
        assert!(other.read(&harmless).is_ok());
        assert_eq!(decoder.sizes(), other.sizes());
    }
}
