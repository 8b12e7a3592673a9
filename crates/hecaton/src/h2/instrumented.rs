//! The socket under an HTTP/2 connection, watched for which requests have left, whether anything comes, and how
//! the peer ends it.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::{Frame, Frames, NO_STREAM, PREFACE};
use crate::transport::tls::explain::explain;
use crate::transport::wire::{Look, Waiting, Wire};

/// How many reads one turn of a connection may do before other tasks have theirs.
const READS_PER_TURN: u32 = 16;

/// The greatest error code that HTTP/2 has (RFC 9113 §7).
const LAST_ERROR: u32 = 13;

/// What is known of a connection from its bytes.
#[derive(Default)]
pub(crate) struct Observed {
    /// The highest stream whose request has begun to leave. Streams are opened in order.
    departed: AtomicU32,
    received: AtomicU64,
    reads: AtomicU32,
    /// Whether the peer has begun to answer a request, or says that it took one up.
    progressed: AtomicBool,
    /// What came on the streams of requests that are not done with.
    streams: Mutex<HashMap<u32, Came>>,
    /// The code of the peer's GOAWAY, 0 as long as it has said of no error.
    goaway_error: AtomicU32,
    /// One more than the last stream that the peer's GOAWAY names; 0 without one.
    goaway_end: AtomicU32,
    /// Why TLS ended the connection, if it did.
    refusal: OnceLock<String>,
}

/// What the peer has sent on one stream, which `h2` may not have processed yet.
#[derive(Clone, Copy, Default)]
struct Came {
    heads: u32,
    /// Bytes of the body.
    body: u64,
    /// Whether the peer has ended its side (END_STREAM).
    ended: bool,
    /// Whether it did so with fields behind the body.
    trailers: bool,
}

/// A stream that may know more of why it failed than an error of `h2` keeps, which is a text.
pub(crate) trait Explains {
    /// The reason of this error, if it is one of TLS.
    fn reason(&mut self, error: &io::Error) -> Option<String>;
}

impl Explains for Wire {
    fn reason(&mut self, error: &io::Error) -> Option<String> {
        // Where writing fails, what can still be read says why.
        explain(error).or_else(|| match self.waiting(Look::Kernel) {
            Waiting::End(why) => why,
            Waiting::Nothing | Waiting::Data => None,
        })
    }
}

impl Observed {
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

    /// Whether the peer has said that it did nothing of the request on this stream, and will not (RFC 9113 §6.8).
    pub fn leaves_out(&self, stream: u32) -> bool {
        let end = self.goaway_end.load(Ordering::Relaxed);
        end != 0 && stream >= end
    }

    /// The code for which the peer has ended the connection, none without an error.
    pub fn goaway_error(&self) -> Option<u32> {
        let code = self.goaway_error.load(Ordering::Relaxed);
        (code != 0).then_some(code)
    }

    /// A request is sent on this stream.
    pub fn opened(&self, stream: u32) {
        self.streams().insert(stream, Came::default());
    }

    /// It is done with.
    pub fn closed(&self, stream: u32) {
        self.streams().remove(&stream);
    }

    /// How many bytes of a body came on this stream, if the peer has ended it (END_STREAM), and nothing but them: fields
    /// behind a body are something that may be lost, too.
    pub fn whole_body(&self, stream: u32) -> Option<u64> {
        let came = self.streams().get(&stream).copied()?;
        (came.ended && !came.trailers).then_some(came.body)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u32, Came>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What comes after END_STREAM is no part of the response.
    fn note_on(&self, stream: u32, note: impl FnOnce(&mut Came)) {
        if let Some(came) = self
            .streams()
            .get_mut(&stream)
            .filter(|came: &&mut Came| !came.ended)
        {
            note(came);
        }
    }

    fn note_coming(&self, frame: Frame) {
        match frame {
            Frame::Headers(stream) => {
                self.progressed.store(true, Ordering::Relaxed);
                self.note_on(stream, |came| came.heads += 1);
            }
            Frame::Data(stream, count) => self.note_on(stream, |came| came.body += count as u64),
            Frame::End(stream, with_head) => self.note_on(stream, |came| {
                came.ended = true;
                came.trailers |= with_head && came.heads > 1;
            }),
            Frame::GoAway { last, code } => {
                // A code that nobody knows means nothing (RFC 9113 §7).
                let error = if code <= LAST_ERROR { code } else { 0 };
                self.goaway_error.fetch_max(error, Ordering::Relaxed);
                let before = self.goaway_end.load(Ordering::Relaxed);
                let end = if before == 0 {
                    last + 1
                } else {
                    before.min(last + 1)
                };
                self.goaway_end.store(end, Ordering::Relaxed);
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

/// A stream that notes in an [`Observed`] what goes through it.
pub(crate) struct Instrumented<S> {
    stream: S,
    observed: Arc<Observed>,
    going: Frames,
    coming: Frames,
    /// Why nothing more can be written. It is told when there is nothing more to be read: a peer that hung up may have said
    /// before what it left undone (GOAWAY), or have answered.
    lost: Option<io::Error>,
}

impl<S: Explains> Instrumented<S> {
    /// Notes why, before `h2` forgets it.
    fn explain(&mut self, error: io::Error) -> io::Error {
        if let Some(why) = self.stream.reason(&error) {
            let _ = self.observed.refusal.set(why);
        }
        error
    }

    /// Takes what cannot be written for written if the peer has hung up, so that what it said is read. None of it counts
    /// as having left.
    fn outlive(&mut self, error: io::Error, count: usize) -> io::Result<usize> {
        let error = self.explain(error);
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                self.lost = Some(error);
                Ok(count)
            }
            _ => Err(error),
        }
    }
}

impl<S> Instrumented<S> {
    pub fn new(stream: S, observed: Arc<Observed>) -> Instrumented<S> {
        Instrumented {
            stream,
            observed,
            going: Frames::after(PREFACE),
            coming: Frames::after(0),
            lost: None,
        }
    }

    fn note(&mut self, bytes: &[u8]) {
        let departed = &self.observed.departed;
        self.going.note(bytes, |frame| {
            if let Frame::Headers(stream) = frame {
                departed.fetch_max(stream, Ordering::Relaxed);
            }
        });
    }
}

impl<S: AsyncRead + Explains + Unpin> AsyncRead for Instrumented<S> {
    /// Stops now and then: the connection's task runs outside of tokio's budget (see `link`), and
    /// a peer that always has something to say would keep everyone else from their turn.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.observed.reads.fetch_add(1, Ordering::Relaxed) >= READS_PER_TURN {
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
        let observed = &this.observed;
        let received = &observed.received;
        received.fetch_add(new.len() as u64, Ordering::Relaxed);
        this.coming.note(new, |frame| observed.note_coming(frame));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Explains + Unpin> AsyncWrite for Instrumented<S> {
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
        Poll::Ready(written.or_else(|error| this.outlive(error, bytes.len())))
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
        Poll::Ready(written.or_else(|error| this.outlive(error, all)))
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
        Poll::Ready(flushed.or_else(|error| this.outlive(error, 0).map(drop)))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let observed = Arc::new(Observed::default());
        let mut tap = Instrumented::new(HungUp(b"its last words"), observed.clone());
        let cx = &mut Context::from_waker(std::task::Waker::noop());
        let written = Pin::new(&mut tap).poll_write(cx, &[0; 100]);
        assert!(matches!(written, Poll::Ready(Ok(_))), "{written:?}");
        assert!(!observed.has_left(1), "and none of it counts as sent");
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
}
