//! The socket under an HTTP/2 connection, watched for which requests have left, whether anything comes, and how
//! the peer ends it.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tls::explain;
use crate::wire::{Look, Wire};

/// What a client sends first (RFC 9113 §3.4).
const PREFACE: usize = 24;
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const GOAWAY: u8 = 7;
/// What of a GOAWAY is looked at: its head, the last stream and the code (RFC 9113 §6.8).
const GOAWAY_HEAD: usize = FRAME_HEAD + 8;
/// The greatest number of a stream, which a GOAWAY names that is a warning alone.
const NO_STREAM: u32 = 0x7fff_ffff;

/// How many reads one turn of a connection may do before other tasks have theirs.
const READS_PER_TURN: u32 = 16;

/// What is known of a connection from its bytes.
#[derive(Default)]
pub(crate) struct Departures {
    /// The highest stream whose request has begun to leave. Streams are opened in order.
    departed: AtomicU32,
    received: AtomicU64,
    reads: AtomicU32,
    /// Whether the peer has begun to answer a request, or says that it took one up.
    progressed: AtomicBool,
    /// The streams of requests that are not done with, and whether the peer has ended its side of them.
    streams: Mutex<HashMap<u32, bool>>,
    /// The code of the peer's GOAWAY, 0 as long as it has said of no error.
    goaway_error: AtomicU32,
    /// Why TLS ended the connection, if it did.
    refusal: OnceLock<String>,
}

/// A stream that may know more of why it failed than an error of `h2` keeps, which is a text.
pub(crate) trait Explains {
    /// The reason of this error, if it is one of TLS.
    fn reason(&mut self, error: &io::Error) -> Option<String>;
}

impl Explains for Wire {
    fn reason(&mut self, error: &io::Error) -> Option<String> {
        // Where writing fails, what can still be read says why.
        explain(error).or_else(|| self.is_quiet(Look::Kernel).err().flatten())
    }
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

    /// Whether the peer has got anything done, as far as is known.
    pub fn has_progressed(&self) -> bool {
        self.progressed.load(Ordering::Relaxed)
    }

    /// The code for which the peer has ended the connection, none without an error.
    pub fn goaway_error(&self) -> Option<u32> {
        let code = self.goaway_error.load(Ordering::Relaxed);
        (code != 0).then_some(code)
    }

    /// A request is sent on this stream.
    pub fn opened(&self, stream: u32) {
        self.streams().insert(stream, false);
    }

    /// It is done with.
    pub fn closed(&self, stream: u32) {
        self.streams().remove(&stream);
    }

    /// Whether the peer has ended its side of it (END_STREAM).
    pub fn has_ended(&self, stream: u32) -> bool {
        self.streams().get(&stream).copied().unwrap_or(false)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u32, bool>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_coming(&self, frame: Frame) {
        match frame {
            Frame::Headers(_) => self.progressed.store(true, Ordering::Relaxed),
            Frame::End(stream) => {
                if let Some(ended) = self.streams().get_mut(&stream) {
                    *ended = true;
                }
            }
            Frame::GoAway { last, code } => {
                self.goaway_error.fetch_max(code, Ordering::Relaxed);
                let took_some = last > 0 && last < NO_STREAM;
                self.progressed.fetch_or(took_some, Ordering::Relaxed);
            }
        }
    }

    /// Why TLS ended the connection before the peer said anything in it, as one does that refuses the client.
    pub fn refusal(&self) -> Option<&str> {
        let unheard = self.received() == 0;
        self.refusal.get().map(String::as_str).filter(|_| unheard)
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
    going: Frames,
    coming: Frames,
    /// Why nothing more can be written. It is told when there is nothing more to be read: a peer that hung up may have said
    /// before what it left undone (GOAWAY), or have answered.
    lost: Option<io::Error>,
}

impl<S: Explains> Tap<S> {
    /// Notes why, before `h2` forgets it.
    fn explain(&mut self, error: io::Error) -> io::Error {
        if let Some(why) = self.stream.reason(&error) {
            let _ = self.departures.refusal.set(why);
        }
        error
    }
}

impl<S> Tap<S> {
    pub fn new(stream: S, departures: Arc<Departures>) -> Tap<S> {
        Tap {
            stream,
            departures,
            going: Frames::after(PREFACE),
            coming: Frames::after(0),
            lost: None,
        }
    }

    /// Takes what cannot be written for written if the peer has hung up, so that what it said is read. None of it counts
    /// as departed.
    fn outlive(&mut self, error: io::Error, count: usize) -> io::Result<usize> {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                self.lost = Some(error);
                Ok(count)
            }
            _ => Err(error),
        }
    }

    fn note(&mut self, bytes: &[u8]) {
        let departed = &self.departures.departed;
        self.going.note(bytes, |frame| {
            if let Frame::Headers(stream) = frame {
                departed.fetch_max(stream, Ordering::Relaxed);
            }
        });
    }
}

impl<S: AsyncRead + Explains + Unpin> AsyncRead for Tap<S> {
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
        let read = ready!(Pin::new(&mut this.stream).poll_read(cx, buffer));
        let read = read.map_err(|error| this.explain(error));
        let new = &buffer.filled()[before..];
        if new.is_empty() {
            return Poll::Ready(this.lost.take().map_or(read, Err));
        }
        let departures = &this.departures;
        let received = &departures.received;
        received.fetch_add(new.len() as u64, Ordering::Relaxed);
        this.coming.note(new, |frame| departures.note_coming(frame));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Explains + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.lost.is_some() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes));
        if let Ok(count) = written {
            this.note(&bytes[..count]);
        }
        Poll::Ready(written.or_else(|error| {
            let error = this.explain(error);
            this.outlive(error, bytes.len())
        }))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let all = slices.iter().map(|slice| slice.len()).sum();
        if this.lost.is_some() {
            return Poll::Ready(Ok(all));
        }
        let written = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, slices));
        let mut left = *written.as_ref().unwrap_or(&0);
        for slice in slices {
            let noted = left.min(slice.len());
            this.note(&slice[..noted]);
            left -= noted;
        }
        Poll::Ready(written.or_else(|error| {
            let error = this.explain(error);
            this.outlive(error, all)
        }))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.lost.is_some() {
            return Poll::Ready(Ok(()));
        }
        let flushed = ready!(Pin::new(&mut this.stream).poll_flush(cx));
        Poll::Ready(flushed.or_else(|error| {
            let error = this.explain(error);
            this.outlive(error, 0).map(|_| ())
        }))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// A frame that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// Of this stream; told when its head has been seen.
    Headers(u32),
    /// The last one of this stream's side (END_STREAM); told when it has passed whole.
    End(u32),
    /// Told when it has passed whole: who drops the connection then has let `h2` read it.
    GoAway { last: u32, code: u32 },
}

/// Follows the frames of what is written or read, whatever the pieces.
struct Frames {
    /// Bytes to pass over: what comes before the first frame, then what is in one.
    skip: usize,
    head: [u8; GOAWAY_HEAD],
    known: usize,
    /// How much of a frame's begin is wanted.
    wanted: usize,
    /// What is told when the frame that goes on has passed.
    passing: Option<Frame>,
}

impl Frames {
    /// Frames behind so many other bytes.
    fn after(skip: usize) -> Frames {
        Frames {
            skip,
            head: [0; GOAWAY_HEAD],
            known: 0,
            wanted: FRAME_HEAD,
            passing: None,
        }
    }

    /// Tells of the frames that begin in these bytes.
    fn note(&mut self, mut bytes: &[u8], mut tell: impl FnMut(Frame)) {
        loop {
            let passed = self.skip.min(bytes.len());
            self.skip -= passed;
            bytes = &bytes[passed..];
            if self.skip == 0 {
                self.passing.take().map(&mut tell);
            }
            if bytes.is_empty() {
                return;
            }
            let count = (self.wanted - self.known).min(bytes.len());
            self.head[self.known..self.known + count].copy_from_slice(&bytes[..count]);
            self.known += count;
            bytes = &bytes[count..];
            if self.known == self.wanted {
                if let Some(frame) = self.begun() {
                    tell(frame);
                }
            }
        }
    }

    /// As much of a frame's begin as was wanted is there.
    fn begun(&mut self) -> Option<Frame> {
        let number = |at: usize| {
            let bytes = self.head[at..at + 4].first_chunk();
            u32::from_be_bytes(bytes.copied().unwrap_or_default())
        };
        let length = (number(0) >> 8) as usize;
        let kind = self.head[3];
        let is_goaway = kind == GOAWAY && length >= GOAWAY_HEAD - FRAME_HEAD;
        if is_goaway && self.wanted == FRAME_HEAD {
            self.wanted = GOAWAY_HEAD;
            return None;
        }
        let stream = number(5) & NO_STREAM;
        self.passing = match kind {
            DATA | HEADERS if self.head[4] & END_STREAM != 0 => Some(Frame::End(stream)),
            GOAWAY if is_goaway => Some(Frame::GoAway {
                last: number(9) & NO_STREAM,
                code: number(13),
            }),
            _ => None,
        };
        let frame = (kind == HEADERS).then_some(Frame::Headers(stream));
        self.skip = length + FRAME_HEAD - self.known;
        self.known = 0;
        self.wanted = FRAME_HEAD;
        frame
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

    /// What is told of these bytes.
    fn told(frames: &mut Frames, bytes: &[u8]) -> Vec<Frame> {
        let mut told = Vec::new();
        frames.note(bytes, |frame| told.push(frame));
        told
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
        let [one, three] = [1, 3].map(Frame::Headers);
        for (sent, expected) in [
            (first - 1, &[][..]),
            (first, &[one]),
            (second - 1, &[one]),
            (second, &[one, three]),
        ] {
            let mut frames = Frames::after(PREFACE);
            assert_eq!(told(&mut frames, &written()[..sent]), expected, "{sent}");
        }
    }

    #[test]
    fn a_goaway_is_told_with_its_last_stream_and_its_code() {
        let mut bytes = frame(HEADERS, 1, 2);
        let at = bytes.len();
        bytes.extend(frame(GOAWAY, 0, 11));
        bytes[at + FRAME_HEAD..at + GOAWAY_HEAD].copy_from_slice(&[0x80, 0, 0, 5, 0, 0, 0, 11]);
        bytes.extend(frame(GOAWAY, 0, 3)); // Too short to be one.
        bytes.extend(frame(HEADERS, 7, 0));
        let goaway = Frame::GoAway { last: 5, code: 11 };
        let expected = [Frame::Headers(1), goaway, Frame::Headers(7)];
        assert_eq!(told(&mut Frames::after(0), &bytes), expected);
        let mut frames = Frames::after(0);
        let singly: Vec<_> = bytes.chunks(1).flat_map(|b| told(&mut frames, b)).collect();
        assert_eq!(singly, expected);
    }

    #[test]
    fn the_end_of_a_stream_and_a_goaway_are_told_when_they_have_passed_whole() {
        let mut bytes = frame(DATA, 3, 5);
        bytes[4] = END_STREAM;
        let data = bytes.len();
        bytes.extend(frame(GOAWAY, 0, 12));
        let mut frames = Frames::after(0);
        assert_eq!(told(&mut frames, &bytes[..data - 1]), []);
        assert_eq!(told(&mut frames, &bytes[data - 1..data]), [Frame::End(3)]);
        assert_eq!(told(&mut frames, &bytes[data..bytes.len() - 1]), []);
        assert_eq!(told(&mut frames, &bytes[bytes.len() - 1..]).len(), 1);
    }

    /// A peer that has hung up: nothing can be written, and this can be read.
    struct HungUp(&'static [u8]);

    impl Explains for HungUp {
        fn reason(&mut self, _: &io::Error) -> Option<String> {
            None
        }
    }

    impl AsyncRead for HungUp {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            buffer.put_slice(std::mem::take(&mut self.0));
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for HungUp {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn what_a_peer_said_is_read_though_writing_failed_first() {
        let departures = Arc::new(Departures::default());
        let mut tap = Tap::new(HungUp(b"its last words"), departures.clone());
        let cx = &mut Context::from_waker(std::task::Waker::noop());
        let written = Pin::new(&mut tap).poll_write(cx, &written());
        assert!(matches!(written, Poll::Ready(Ok(_))), "{written:?}");
        assert!(!departures.has_left(1), "and none of it counts as sent");
        let mut buffer = [0; 100];
        let mut buffer = ReadBuf::new(&mut buffer);
        let read = Pin::new(&mut tap).poll_read(cx, &mut buffer);
        assert!(matches!(read, Poll::Ready(Ok(()))), "{read:?}");
        assert_eq!(buffer.filled(), b"its last words");
        let Poll::Ready(Err(error)) = Pin::new(&mut tap).poll_read(cx, &mut buffer) else {
            panic!("the end is told")
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    proptest::proptest! {
        #[test]
        fn every_split_of_the_same_bytes_tells_the_same(cut in 0usize..100, again in 0usize..100) {
            let bytes = written();
            let mut cuts = [cut % bytes.len(), again % bytes.len()];
            cuts.sort_unstable();
            let mut frames = Frames::after(PREFACE);
            let pieces = [&bytes[..cuts[0]], &bytes[cuts[0]..cuts[1]], &bytes[cuts[1]..]];
            let seen: Vec<_> = pieces.iter().flat_map(|piece| told(&mut frames, piece)).collect();
            proptest::prop_assert_eq!(seen, [1, 3].map(Frame::Headers));
        }
    }
}
