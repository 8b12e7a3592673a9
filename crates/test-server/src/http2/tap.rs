//! Stands between HTTP/2 and the socket: counts bytes, and writes frames of its own between others.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::hub::Hub;
use crate::multiplexed::{Ending, Life};
use crate::wire::socket::Socket;

/// How a socket may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// At will, until the preface is there.
    Any,
    /// Once.
    One,
    /// Not before the streams that have come are taken.
    None,
}

/// Instructions of streams to their connection.
pub(super) struct Control {
    pub(super) life: Rc<Life>,
    /// The last stream that is processed, once that has been said.
    last: Cell<Option<u32>>,
    /// Bytes to be written between two frames.
    inserted: RefCell<BytesMut>,
    /// How the socket may be read.
    reads: Cell<Reads>,
}

impl Control {
    pub(super) fn new() -> Control {
        Control {
            life: Life::new(),
            last: Cell::new(None),
            inserted: RefCell::default(),
            reads: Cell::new(Reads::Any),
        }
    }

    /// Says that streams above `last` are not processed (RFC 9113 §6.8), and ends after the others. A
    /// later call may not name a higher stream and changes nothing then.
    pub(super) fn go_away(&self, last: u32) {
        if self.last.get().is_some_and(|before| last >= before) {
            return;
        }
        self.last.set(Some(last));
        let mut frame = [0; 17];
        frame[2] = 8; // Bytes behind the frame's head of nine: last stream and error code 0.
        frame[3] = 7; // GOAWAY
        frame[9..13].copy_from_slice(&last.to_be_bytes());
        self.insert(&frame);
        self.life.end(Ending::AfterStreams);
    }

    /// Writes bytes between two frames.
    pub(super) fn insert(&self, bytes: &[u8]) {
        self.inserted.borrow_mut().extend_from_slice(bytes);
        self.life.wake();
    }

    /// Whether nothing is left to do, once what could be written has been.
    pub(super) fn is_over(&self) -> bool {
        let written = match self.life.ending() {
            Ending::Now | Ending::Cut => self.inserted.borrow().is_empty(),
            Ending::Open | Ending::AfterStreams => true,
        };
        written && self.life.is_over()
    }

    /// Whether a stream is above the last one that is processed.
    pub(super) fn is_beyond(&self, stream: u32) -> bool {
        self.last.get().is_some_and(|last| stream > last)
    }

    /// Allows one read more; whether that was not so yet.
    pub(super) fn allow_read(&self) -> bool {
        self.reads.replace(Reads::One) != Reads::One
    }

    fn has_read(&self) {
        if self.reads.get() == Reads::One {
            self.reads.set(Reads::None);
        }
    }
}

/// The socket as HTTP/2 sees it.
pub(super) struct Tap {
    socket: Rc<RefCell<Socket>>,
    /// Bytes that were read before the protocol was known.
    read: Bytes,
    hub: Rc<Hub>,
    control: Rc<Control>,
    frames: Frames,
}

/// Finds the boundaries of frames in what is written.
#[derive(Default)]
struct Frames {
    head: [u8; 9],
    /// Bytes of the head that have been written.
    known: usize,
    /// Bytes of the frame that are still to come, once its head is known.
    missing: usize,
}

impl Frames {
    fn is_boundary(&self) -> bool {
        self.known == 0 && self.missing == 0
    }

    fn wrote(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.missing > 0 {
                let skipped = self.missing.min(bytes.len());
                self.missing -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            self.head[self.known] = bytes[0];
            self.known += 1;
            bytes = &bytes[1..];
            if self.known == self.head.len() {
                let [high, middle, low, ..] = self.head;
                self.missing = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.known = 0;
            }
        }
    }
}

impl Tap {
    pub(super) fn new(
        socket: Rc<RefCell<Socket>>,
        read: Bytes,
        hub: Rc<Hub>,
        control: Rc<Control>,
    ) -> Tap {
        Tap {
            socket,
            read,
            hub,
            control,
            frames: Frames::default(),
        }
    }

    fn poll_socket(
        &self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut socket = self.socket.borrow_mut();
        let count = ready!(Pin::new(&mut *socket).poll_write_vectored(context, parts))?;
        self.hub.ledger.borrow_mut().wrote(count);
        Poll::Ready(Ok(count))
    }

    /// Writes what is to be inserted, if a frame may begin here.
    fn poll_insert(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.frames.is_boundary() && !self.control.inserted.borrow().is_empty() {
            let mut inserted = self.control.inserted.borrow_mut();
            let count = ready!(self.poll_socket(context, &[IoSlice::new(&inserted)]))?;
            inserted.advance(count);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let tap = self.get_mut();
        if tap.control.reads.get() == Reads::None {
            return Poll::Pending; // The code that takes the streams allows it, and polls again.
        }
        if !tap.read.is_empty() {
            tap.control.has_read();
            let count = tap.read.len().min(buffer.remaining());
            buffer.put_slice(&tap.read.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let mut socket = tap.socket.borrow_mut();
        ready!(Pin::new(&mut *socket).poll_read(context, buffer))?;
        tap.control.has_read();
        let count = buffer.filled().len() - before;
        tap.hub.ledger.borrow_mut().read(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    /// A frame's head and its bytes come as two parts, which TLS puts into one record.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let tap = self.get_mut();
        ready!(tap.poll_insert(context))?;
        let count = ready!(tap.poll_socket(context, parts))?;
        let mut written = count;
        for part in parts {
            let taken = written.min(part.len());
            tap.frames.wrote(&part[..taken]);
            written -= taken;
        }
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_insert(context))?;
        Pin::new(&mut *self.socket.borrow_mut()).poll_flush(context)
    }

    /// The socket's end is decided by the connection, after HTTP/2 is done with it.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn boundaries_are_found_in_any_split(
            lengths in prop::collection::vec(0usize..600, 1..8),
            split in 1usize..50,
        ) {
            let frame = |length: &usize| {
                let mut frame = vec![0, (length >> 8) as u8, *length as u8, 0, 0, 0, 0, 0, 1];
                frame.resize(9 + length, 7);
                frame
            };
            let bytes: Vec<u8> = lengths.iter().flat_map(frame).collect();
            let ends: Vec<usize> = lengths.iter().scan(0, |end, length| {
                *end += 9 + length;
                Some(*end)
            }).collect();
            let (mut frames, mut at) = (Frames::default(), 0);
            for part in bytes.chunks(split) {
                frames.wrote(part);
                at += part.len();
                prop_assert_eq!(frames.is_boundary(), ends.contains(&at));
            }
        }
    }
}
