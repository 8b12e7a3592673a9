//! Reads a request's body out of bytes, by length or by chunks; knows nothing of sockets.

use crate::request::parse::{Framing, MAX_HEAD};

/// Longest body that is read and dropped, or stored; a longer one gets a 413.
const MAX_BODY: u64 = 64 * 1024 * 1024;
/// Longest body of which only the length and the checksum are needed.
const MAX_SUMMED: u64 = 1 << 40;
/// Longest line that may introduce a chunk, extensions included.
const MAX_LINE: usize = 4096;

/// A body on its way.
#[derive(Debug)]
pub(crate) struct Body {
    state: State,
    collected: Collected,
    /// Sum of the sizes that chunks have announced.
    announced: u64,
}

/// The bytes of a body that have been read, as far as they are needed.
#[derive(Debug)]
pub(crate) struct Collected {
    keep: Keep,
    sum: crc32fast::Hasher,
    received: Received,
}

/// The use of a body's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Nothing,
    /// All of them.
    Bytes,
    /// Their number and checksum.
    Sum,
}

/// Facts about a body that has been read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// The bytes, if the route needs them.
    pub(crate) bytes: Vec<u8>,
    pub(crate) length: u64,
    /// CRC-32, if the route needs it.
    pub(crate) crc32: u32,
}

impl Keep {
    /// Longest body of that kind.
    pub(crate) fn limit(self) -> u64 {
        match self {
            Keep::Nothing | Keep::Bytes => MAX_BODY,
            Keep::Sum => MAX_SUMMED,
        }
    }
}

impl Collected {
    pub(crate) fn new(keep: Keep) -> Collected {
        Collected {
            keep,
            sum: crc32fast::Hasher::new(),
            received: Received::default(),
        }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.received.length += bytes.len() as u64;
        match self.keep {
            Keep::Nothing => {}
            Keep::Bytes => self.received.bytes.extend_from_slice(bytes),
            Keep::Sum => self.sum.update(bytes),
        }
    }

    pub(crate) fn is_too_long(&self) -> bool {
        self.received.length > self.keep.limit()
    }

    pub(crate) fn finish(mut self) -> Received {
        self.received.crc32 = self.sum.finalize();
        self.received
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// This many bytes of a body with a length are missing.
    Length(u64),
    /// The line with a chunk's size comes next.
    Size,
    /// This many bytes of a chunk are missing.
    Chunk(u64),
    /// The line end after a chunk comes next.
    ChunkEnd,
    /// Trailers come next; this many bytes of them have been read.
    Trailer(usize),
    Done,
}

/// Why a body cannot be read: the status of the response.
pub(crate) type Refusal = u16;

impl Body {
    pub(crate) fn new(framing: Framing, keep: Keep) -> Body {
        let state = match framing {
            Framing::None => State::Done,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Size,
        };
        Body {
            state,
            collected: Collected::new(keep),
            announced: 0,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub(crate) fn finish(self) -> Received {
        self.collected.finish()
    }

    /// Reads as much as possible, and returns how many bytes it used. The rest must be passed again, with more.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let mut used = 0;
        while !self.is_done() {
            match self.step(&bytes[used..]) {
                Ok(0) => break,
                Ok(step) => used += step,
                // Bytes before the error are used; the next call returns the error.
                Err(_) if used > 0 => break,
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(used)
    }

    fn step(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        match self.state {
            State::Done => Ok(0),
            State::Length(missing) if missing > self.collected.keep.limit() => Err(413),
            State::Length(missing) => {
                let taken = self.take(bytes, missing);
                let rest = missing - taken as u64;
                self.state = if rest == 0 {
                    State::Done
                } else {
                    State::Length(rest)
                };
                Ok(taken)
            }
            State::Size => self.size(bytes),
            State::Chunk(missing) => {
                let taken = self.take(bytes, missing);
                let rest = missing - taken as u64;
                self.state = if rest == 0 {
                    State::ChunkEnd
                } else {
                    State::Chunk(rest)
                };
                Ok(taken)
            }
            State::ChunkEnd => match bytes {
                [b'\r', b'\n', ..] => {
                    self.state = State::Size;
                    Ok(2)
                }
                [] | [b'\r'] => Ok(0),
                _ => Err(400),
            },
            State::Trailer(read) => self.trailer(bytes, read),
        }
    }

    fn take(&mut self, bytes: &[u8], missing: u64) -> usize {
        let taken = bytes
            .len()
            .min(usize::try_from(missing).unwrap_or(usize::MAX));
        self.collected.add(&bytes[..taken]);
        taken
    }

    fn size(&mut self, bytes: &[u8]) -> Result<usize, Refusal> {
        let (used, size) = match httparse::parse_chunk_size(bytes) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) if bytes.len() < MAX_LINE => return Ok(0),
            _ => return Err(400),
        };
        self.announced = self.announced.saturating_add(size);
        if self.announced > self.collected.keep.limit() {
            return Err(413);
        }
        self.state = if size == 0 {
            State::Trailer(0)
        } else {
            State::Chunk(size)
        };
        Ok(used)
    }

    /// Trailers are skipped line by line until the empty one.
    fn trailer(&mut self, bytes: &[u8], read: usize) -> Result<usize, Refusal> {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return if read + bytes.len() < MAX_HEAD {
                Ok(0)
            } else {
                Err(431)
            };
        };
        let used = end + 1;
        if read + used > MAX_HEAD {
            return Err(431);
        }
        let empty = matches!(&bytes[..end], b"" | b"\r");
        self.state = if empty {
            State::Done
        } else {
            State::Trailer(read + used)
        };
        Ok(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(framing: Framing, bytes: &[u8]) -> Result<(Body, usize), Refusal> {
        let mut body = Body::new(framing, Keep::Bytes);
        let used = body.feed(bytes)?;
        Ok((body, used))
    }

    fn refusal(framing: Framing, bytes: &[u8]) -> Refusal {
        let mut body = Body::new(framing, Keep::Bytes);
        let mut used = 0;
        for _ in 0..bytes.len() + 1 {
            match body.feed(&bytes[used..]) {
                Ok(more) => used += more,
                Err(refusal) => return refusal,
            }
        }
        panic!("a body that can be read: {body:?}");
    }

    #[test]
    fn bytes_after_the_length_are_left() {
        let (body, used) = read(Framing::Length(5), b"helloGET").unwrap();
        assert!(body.is_done());
        assert_eq!((used, body.finish().bytes), (5, b"hello".to_vec()));
    }

    #[test]
    fn chunks_with_extension_and_trailer_are_joined() {
        let bytes = b"5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\nGET";
        let (body, used) = read(Framing::Chunked, bytes).unwrap();
        assert!(body.is_done());
        assert_eq!(
            (used, body.finish().bytes),
            (bytes.len() - 3, b"hello world".to_vec())
        );
    }

    #[test]
    fn a_body_that_is_only_summed_up_may_be_longer() {
        let mut body = Body::new(Framing::Length(MAX_BODY + 5), Keep::Sum);
        assert_eq!(body.feed(b"hello"), Ok(5));
        let received = body.finish();
        let sum = crc32fast::hash(b"hello");
        assert_eq!((received.length, received.crc32), (5, sum));
        assert_eq!(received.bytes, b"");
    }

    #[test]
    fn malformed_and_too_long_bodies_are_refused() {
        assert_eq!(refusal(Framing::Length(MAX_BODY + 1), b""), 413);
        assert_eq!(refusal(Framing::Chunked, b"fffffffff\r\n"), 413);
        assert_eq!(refusal(Framing::Chunked, b"xyz\r\n"), 400);
        assert_eq!(refusal(Framing::Chunked, b"1\r\nabc"), 400);
        let endless = [b"1;".as_slice(), &[b'x'; MAX_LINE]].concat();
        assert_eq!(refusal(Framing::Chunked, &endless), 400);
        let trailers = [b"0\r\n".as_slice(), &b"X: y\r\n".repeat(MAX_HEAD / 6 + 1)].concat();
        assert_eq!(refusal(Framing::Chunked, &trailers), 431);
    }
}
