//! The socket under an HTTP/2 connection, watched for which requests have left, and whether anything comes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a client sends first (RFC 9113 §3.4).
const PREFACE: usize = 24;
const FRAME_HEAD: usize = 9;
const HEADERS: u8 = 1;

/// How many reads one turn of a connection may do before other tasks have theirs.
const READS_PER_TURN: u32 = 16;

/// What is known of a connection from its bytes.
#[derive(Default)]
pub(crate) struct Departures {
    /// The highest stream whose request has begun to leave. Streams are opened in order.
    departed: AtomicU32,
    received: AtomicU64,
    reads: AtomicU32,
}

impl Departures {
    /// Whether the request on this stream has begun to leave the machine.
    pub fn has_left(&self, stream: u32) -> bool {
        self.departed.load(Ordering::Relaxed) >= stream
    }

    /// How many bytes have come so far.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Allows the reads of one more turn.
    pub fn begin_turn(&self) {
        self.reads.store(0, Ordering::Relaxed);
    }
}

/// A stream that notes in a [`Departures`] what goes through it.
pub(crate) struct Tap<S> {
    stream: S,
    departures: Arc<Departures>,
    frames: Frames,
}

impl<S> Tap<S> {
    pub fn new(stream: S, departures: Arc<Departures>) -> Tap<S> {
        Tap {
            stream,
            departures,
            frames: Frames::new(),
        }
    }

    fn note(&mut self, bytes: &[u8]) {
        if let Some(stream) = self.frames.note(bytes) {
            self.departures
                .departed
                .fetch_max(stream, Ordering::Relaxed);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tap<S> {
    /// Stops now and then: the connection's task runs outside of tokio's budget (see `link`), and
    /// a peer that always has something to say would keep everyone else from their turn.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.departures.reads.fetch_add(1, Ordering::Relaxed) >= READS_PER_TURN {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        let count = buffer.filled().len() - before;
        let received = &this.departures.received;
        received.fetch_add(count as u64, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let count = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes))?;
        this.note(&bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let count = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, slices))?;
        let mut left = count;
        for slice in slices {
            let written = left.min(slice.len());
            this.note(&slice[..written]);
            left -= written;
        }
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// Follows the frames of what is written, whatever the pieces.
struct Frames {
    /// Bytes to pass over: the preface at first, then what is in a frame.
    skip: usize,
    head: [u8; FRAME_HEAD],
    known: usize,
}

impl Frames {
    fn new() -> Frames {
        Frames {
            skip: PREFACE,
            head: [0; FRAME_HEAD],
            known: 0,
        }
    }

    /// The last stream for which a HEADERS frame begins in these bytes.
    fn note(&mut self, mut bytes: &[u8]) -> Option<u32> {
        let mut opened = None;
        loop {
            let passed = self.skip.min(bytes.len());
            self.skip -= passed;
            bytes = &bytes[passed..];
            if bytes.is_empty() {
                return opened;
            }
            let count = (FRAME_HEAD - self.known).min(bytes.len());
            self.head[self.known..self.known + count].copy_from_slice(&bytes[..count]);
            self.known += count;
            bytes = &bytes[count..];
            if self.known == FRAME_HEAD {
                self.known = 0;
                let [a, b, c, kind, _flags, stream @ ..] = self.head;
                self.skip = u32::from_be_bytes([0, a, b, c]) as usize;
                if kind == HEADERS {
                    opened = Some(u32::from_be_bytes(stream) & 0x7fff_ffff);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, stream: u32, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, 0];
        frame.extend(stream.to_be_bytes());
        frame.extend(vec![HEADERS; length.into()]);
        frame
    }

    fn written() -> Vec<u8> {
        let mut bytes = vec![b'P'; PREFACE];
        for (kind, stream, length) in [(4, 0, 6), (HEADERS, 1, 20), (0, 1, 9), (HEADERS, 3, 0)] {
            bytes.extend(frame(kind, stream, length));
        }
        bytes
    }

    #[test]
    fn a_request_has_left_when_the_head_of_its_frame_has() {
        let (first, second) = (PREFACE + 15 + 9, written().len());
        for (sent, expected) in [
            (first - 1, None),
            (first, Some(1)),
            (second - 1, Some(1)),
            (second, Some(3)),
        ] {
            assert_eq!(Frames::new().note(&written()[..sent]), expected, "{sent}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_split_of_the_same_bytes_tells_the_same(cut in 0usize..100, again in 0usize..100) {
            let bytes = written();
            let mut cuts = [cut % bytes.len(), again % bytes.len()];
            cuts.sort_unstable();
            let mut frames = Frames::new();
            let pieces = [&bytes[..cuts[0]], &bytes[cuts[0]..cuts[1]], &bytes[cuts[1]..]];
            let seen = pieces.iter().filter_map(|piece| frames.note(piece)).max();
            proptest::prop_assert_eq!(seen, Some(3));
        }
    }
}
