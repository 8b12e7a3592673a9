//! The bytes read from one socket and not used yet.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::request::parse::MAX_HEAD;
use crate::wire::socket::Socket;

/// Size of a new buffer. It is small, so that ten thousand idle connections need little memory.
const FIRST: usize = 2048;

/// A buffer that grows up to the longest head.
pub(crate) struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub(crate) fn new() -> Input {
        Input {
            buffer: vec![0; FIRST],
            start: 0,
            end: 0,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether the buffer holds so much that bytes must be used before more can be read.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start >= MAX_HEAD
    }

    pub(crate) fn used(&mut self, count: usize) {
        self.start += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Drops the unused bytes.
    pub(crate) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Reads once; 0 is the end of the connection. Must not be called when full.
    pub(crate) fn poll_read(
        &mut self,
        stream: &mut Socket,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.free_space();
        let mut free = ReadBuf::new(&mut self.buffer[self.end..]);
        ready!(Pin::new(stream).poll_read(context, &mut free))?;
        let count = free.filled().len();
        self.end += count;
        Poll::Ready(Ok(count))
    }

    /// Takes bytes as if they had been read; returns how many fit.
    #[cfg(test)]
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        self.free_space();
        let count = bytes.len().min(self.buffer.len() - self.end);
        self.buffer[self.end..self.end + count].copy_from_slice(&bytes[..count]);
        self.end += count;
        count
    }

    fn free_space(&mut self) {
        if self.end < self.buffer.len() {
            return;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else {
            self.buffer.resize((self.buffer.len() * 4).min(MAX_HEAD), 0);
        }
    }
}
