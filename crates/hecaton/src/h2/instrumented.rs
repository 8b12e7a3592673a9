//! The socket under an HTTP/2 connection. It observes which requests have left, whether anything comes, and how the
//! peer ends the connection.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;

use super::frames::{ACK, Frames, HEADERS, PREFACE, SETTINGS};
use super::guard::Guard;
use super::observed::Observed;
use crate::transport::tls::explain::{Explanation, explain};
use crate::transport::wire::{Look, Waiting, Wire};

/// How many reads one turn of a connection may do before other tasks have theirs. In records of TLS (16 KiB), they bring
/// as many bytes as a turn of HTTP/1 (8 × 64 KiB).
const READS_PER_TURN: u32 = 32;

/// How much is read at once while many responses are in flight.
const LITTLE: usize = 4096;

/// A stream that can explain a failure better than an error of `h2`, which is only a text.
pub(crate) trait Explains {
    /// The reason of this error, if it is one of TLS.
    fn reason(&mut self, error: &io::Error) -> Option<Explanation>;
}

impl Explains for Wire {
    fn reason(&mut self, error: &io::Error) -> Option<Explanation> {
        // If writing fails, the unread bytes may say why.
        explain(error).or_else(|| match self.waiting(Look::Kernel) {
            Waiting::End(why) => why,
            Waiting::Nothing | Waiting::Data => None,
        })
    }
}

/// A stream that notes in an [`Observed`] what goes through it.
pub(crate) struct Instrumented<S> {
    stream: S,
    observed: Arc<Observed>,
    going: Frames,
    coming: Guard,
    /// Why nothing more can be written. It is reported only when nothing is left to read, because a peer that hung up
    /// may have sent a GOAWAY or a response before.
    lost: Option<io::Error>,
}

impl<S: Explains> Instrumented<S> {
    /// Notes why, before `h2` forgets it.
    fn explain(&mut self, error: io::Error) -> io::Error {
        if let Some(why) = self.stream.reason(&error) {
            self.observed.refuses_client(why);
        }
        error
    }

    /// Pretends that bytes were written when the peer has hung up, so that its last bytes are read. These bytes do not
    /// count as having left.
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
    /// `largest_block`: see [`Guard`].
    pub fn new(stream: S, observed: Arc<Observed>, largest_block: usize) -> Instrumented<S> {
        Instrumented {
            stream,
            observed,
            going: Frames::after(PREFACE),
            coming: Guard::new(largest_block),
            lost: None,
        }
    }

    /// Makes another turn follow this one if settings wait for requests to leave.
    fn go_on_after_writing(&self, cx: &Context<'_>) {
        if self.coming.waits && !self.coming.precedence.blocked {
            cx.waker().wake_by_ref();
        }
    }

    /// Notes whether the socket accepts bytes.
    fn writes<T>(&mut self, cx: &Context<'_>, result: Poll<T>) -> Poll<T> {
        self.coming.precedence.blocked = result.is_pending();
        self.go_on_after_writing(cx);
        result
    }

    fn note(&mut self, bytes: &[u8]) {
        let (observed, coming) = (&self.observed, &mut self.coming);
        self.going.note(bytes, |head| match head.kind {
            HEADERS => observed.departs(head.stream),
            SETTINGS if !head.has(ACK) => coming.widened |= observed.widens(),
            _ => {}
        });
    }
}

impl<S: AsyncRead + Unpin> Instrumented<S> {
    /// Reads from the stream. With many responses in flight it reads little at once, because what `h2` has got belongs
    /// to this turn.
    fn poll_some(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = Pin::new(&mut self.stream);
        let is_large = buffer.remaining() > LITTLE && !self.coming.is_within_body();
        if !is_large || !self.observed.has_many() {
            return stream.poll_read(cx, buffer);
        }
        let mut little = ReadBuf::new(buffer.initialize_unfilled_to(LITTLE));
        let read = stream.poll_read(cx, &mut little);
        let count = little.filled().len();
        buffer.advance(count);
        read
    }
}

/// Ends this turn of the connection. The next follows when all others had theirs. tokio would poll a task that wakes
/// itself 61 times before it polls the future that the thread waits for.
fn pause(cx: &mut Context<'_>) {
    let _ = pin!(yield_now()).poll(cx);
}

impl<S: AsyncRead + Explains + Unpin> AsyncRead for Instrumented<S> {
    /// Pauses after some reads. The connection's task runs outside of tokio's budget (see `link`), and a peer that
    /// sends without pause would keep everyone else from their turn.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.coming.review(&this.observed);
        if this.coming.hand_over(buffer) {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        while buffer.filled().len() == before {
            let has_read_enough = this.observed.reads_too_often(READS_PER_TURN);
            if has_read_enough || this.observed.has_half() {
                pause(cx);
                return Poll::Pending;
            }
            let Poll::Ready(read) = this.poll_some(cx, buffer) else {
                this.go_on_after_writing(cx);
                return Poll::Pending;
            };
            let read = read.map_err(|error| this.explain(error));
            let count = buffer.filled().len() - before;
            if count == 0 {
                this.coming.end(&this.observed);
                return match this.coming.hand_over(buffer) {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Ready(this.lost.take().map_or(read, Err)),
                };
            }
            this.observed.receives(count);
            this.coming.filter(buffer, before, &this.observed);
        }
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
        let written = Pin::new(&mut this.stream).poll_write(cx, bytes);
        let written = ready!(this.writes(cx, written));
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
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        let written = ready!(this.writes(cx, written));
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
        let flushed = Pin::new(&mut this.stream).poll_flush(cx);
        let flushed = ready!(this.writes(cx, flushed));
        Poll::Ready(flushed.or_else(|error| this.outlive(error, 0).map(drop)))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::spawn;

    use super::super::frames::{DATA, END_HEADERS, END_STREAM, push_frame};
    use super::*;
    use crate::Reactor;

    /// Empty SETTINGS, the first frame of any server.
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

    /// A peer that has hung up: nothing can be written, and this can be read.
    struct HungUp(&'static [u8]);

    impl Explains for HungUp {
        fn reason(&mut self, _: &io::Error) -> Option<Explanation> {
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
    fn a_peers_last_bytes_are_read_though_writing_failed_first() {
        let observed = Arc::new(Observed::default());
        let mut tap = Instrumented::new(HungUp(SETTINGS), observed.clone(), 0);
        let cx = &mut Context::from_waker(std::task::Waker::noop());
        let written = Pin::new(&mut tap).poll_write(cx, &[0; 100]);
        assert!(matches!(written, Poll::Ready(Ok(_))), "{written:?}");
        assert!(!observed.has_left(1), "and none of it counts as sent");
        let mut buffer = [0; 100];
        let mut buffer = ReadBuf::new(&mut buffer);
        let read = Pin::new(&mut tap).poll_read(cx, &mut buffer);
        assert!(matches!(read, Poll::Ready(Ok(()))), "{read:?}");
        assert_eq!(buffer.filled(), SETTINGS);
        let Poll::Ready(Err(error)) = Pin::new(&mut tap).poll_read(cx, &mut buffer) else {
            panic!("the end is reported")
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    /// A peer that sends without pause, one byte of a frame with each read.
    struct Endless(usize);

    impl Explains for Endless {
        fn reason(&mut self, _: &io::Error) -> Option<Explanation> {
            None
        }
    }

    impl AsyncRead for Endless {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            buffer.put_slice(&[SETTINGS[self.0 % SETTINGS.len()]]);
            self.0 += 1;
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn the_waiting_thread_has_its_turn_after_each_turn_of_a_connection() {
        let observed = Arc::new(Observed::default());
        let turns = Reactor::new().unwrap().block_on(async {
            let mut tap = Instrumented::new(Endless(0), observed.clone(), 0);
            let (news, seen) = (
                Arc::new(futures_util::task::AtomicWaker::new()),
                observed.clone(),
            );
            let woken = news.clone();
            let reads = spawn(poll_fn(move |cx| {
                observed.begin_turn();
                let mut bytes = [0; 100];
                let mut buffer = ReadBuf::new(&mut bytes);
                while Pin::new(&mut tap).poll_read(cx, &mut buffer).is_ready() {
                    buffer.clear();
                }
                woken.wake();
                Poll::<()>::Pending
            }));
            let mut turns = Vec::new();
            poll_fn(|cx| {
                news.register(cx.waker());
                turns.push(seen.turn());
                match turns.len() {
                    4 => Poll::Ready(()),
                    _ => Poll::Pending,
                }
            })
            .await;
            reads.abort();
            turns
        });
        assert_eq!(turns, [0, 1, 2, 3]);
    }

    /// A peer whose bytes have all come.
    struct Waits(Vec<u8>);

    impl Explains for Waits {
        fn reason(&mut self, _: &io::Error) -> Option<Explanation> {
            None
        }
    }

    impl AsyncRead for Waits {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let count = self.0.len().min(buffer.remaining());
            buffer.put_slice(&self.0.drain(..count).collect::<Vec<u8>>());
            match count {
                0 => Poll::Pending,
                _ => Poll::Ready(Ok(())),
            }
        }
    }

    /// So that their requests can be followed by others while the client is busy with the second half.
    #[test]
    fn a_turn_brings_half_of_many_responses_that_have_come() {
        let observed = Arc::new(Observed::default());
        let mut come = SETTINGS.to_vec();
        for stream in (1..40).step_by(2) {
            observed.opened(stream, false);
            observed.departs(stream);
            push_frame(&mut come, HEADERS, END_HEADERS, stream, &[0x88]);
            push_frame(&mut come, DATA, END_STREAM, stream, &[7; 300]);
        }
        let all = come.len();
        let mut tap = Instrumented::new(Waits(come), observed.clone(), 1 << 10);
        let cx = &mut Context::from_waker(std::task::Waker::noop());
        let mut turn = || {
            observed.begin_turn();
            let mut bytes = vec![0; 2 * all];
            let mut buffer = ReadBuf::new(&mut bytes);
            while Pin::new(&mut tap).poll_read(cx, &mut buffer).is_ready() {}
            buffer.filled().len()
        };
        let (first, second) = (turn(), turn());
        assert!((all / 2..all * 2 / 3).contains(&first), "{first} of {all}");
        assert_eq!(first + second, all);
    }
}
