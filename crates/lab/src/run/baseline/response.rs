//! Reads responses: just enough of HTTP/1.1 to know where each one ends.

use memchr::memchr;
use memchr::memmem::Finder;

/// The kind of a failed response, under which it is counted.
pub type Fault = &'static str;

/// A response that has been read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Bytes of the body, without chunks.
    pub bytes: u64,
    /// The last bytes of the body: as many as a check value has.
    pub tail: [u8; 8],
    /// Whether the server will not use the connection again.
    pub close: bool,
}

/// How the end of the body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    /// Chunks; see [`Chunks`].
    Chunked(Chunks),
    /// Until the server closes.
    UntilClosed,
}

/// Where in a chunked body the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunks {
    /// In a line with a size.
    Size,
    /// In a chunk with so many bytes to come.
    Data(u64),
    /// In the line end after a chunk.
    DataEnd,
    /// In the trailer.
    Trailer,
}

/// Reads the responses of one connection, one after another.
#[derive(Debug)]
pub struct Reader {
    head_end: Finder<'static>,
    /// Whether responses have no body, because they respond to HEAD.
    bodyless: bool,
    state: Option<(Response, Framing)>,
}

/// Result of a look at the buffer: how many bytes are used up, and the response if it is whole.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes that need not be shown again.
    pub consumed: usize,
    /// The response, when its end has been seen.
    pub response: Option<Response>,
}

impl Reader {
    /// A reader for responses to HEAD (`bodyless`) or to another method.
    pub fn new(bodyless: bool) -> Reader {
        Reader {
            head_end: Finder::new(b"\r\n\r\n"),
            bodyless,
            state: None,
        }
    }

    /// Takes what has arrived so far. Bytes that were not consumed must be shown again, with more behind them.
    ///
    /// # Errors
    /// `garbage` when it is not HTTP.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Step, Fault> {
        let mut consumed = 0;
        while self.state.is_none() {
            let Some(end) = self.head_end.find(&bytes[consumed..]) else {
                return Ok(Step {
                    consumed,
                    response: None,
                });
            };
            let head = &bytes[consumed..consumed + end + 2];
            consumed += end + 4;
            self.state = Some(self.read_head(head)?).filter(|(response, _)| !response.is_interim());
        }
        let Some((response, framing)) = &mut self.state else {
            unreachable!("set above")
        };
        let (used, whole) = match framing {
            Framing::Length(left) => response.take_up_to(&bytes[consumed..], left),
            Framing::Chunked(chunks) => take_chunks(response, &bytes[consumed..], chunks)?,
            Framing::UntilClosed => (response.take(&bytes[consumed..]), false),
        };
        consumed += used;
        let response = if whole {
            self.state.take().map(|(response, _)| response)
        } else {
            None
        };
        Ok(Step { consumed, response })
    }

    /// Notes that the server has closed. Returns the response that ends thereby, if one does.
    ///
    /// # Errors
    /// `closed` when a response was expected or is not whole.
    pub fn closed(&mut self) -> Result<Response, Fault> {
        match self.state.take() {
            Some((response, Framing::UntilClosed)) => Ok(response),
            _ => Err("closed"),
        }
    }

    fn read_head(&self, head: &[u8]) -> Result<(Response, Framing), Fault> {
        if head.len() < 12 || !head.starts_with(b"HTTP/1.") {
            return Err("garbage");
        }
        let status = digits(&head[9..12], 10).ok_or("garbage")? as u16;
        let fields = Fields::read(head)?;
        let framing = match fields.length {
            _ if self.bodyless || status == 204 || status == 304 => Framing::Length(0),
            _ if fields.chunked => Framing::Chunked(Chunks::Size),
            Some(length) => Framing::Length(length),
            None => Framing::UntilClosed,
        };
        let response = Response {
            status,
            bytes: 0,
            tail: [b'0'; 8],
            close: head[7] == b'0' || fields.close || framing == Framing::UntilClosed,
        };
        Ok((response, framing))
    }
}

/// The header fields of a response that describe its body and its connection.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    close: bool,
}

impl Fields {
    fn read(mut head: &[u8]) -> Result<Fields, Fault> {
        let mut fields = Fields::default();
        while let Some(end) = memchr(b'\n', head) {
            let line = &head[..end];
            match line.first() {
                Some(b'c' | b'C') => {
                    if let Some(value) = value_of(line, b"content-length:") {
                        fields.length = Some(digits(value, 10).ok_or("garbage")?);
                    } else if let Some(value) = value_of(line, b"connection:") {
                        fields.close |= value.eq_ignore_ascii_case(b"close");
                    }
                }
                Some(b't' | b'T') => {
                    fields.chunked |= value_of(line, b"transfer-encoding:")
                        .is_some_and(|value| value.to_ascii_lowercase().ends_with(b"chunked"));
                }
                _ => {}
            }
            head = &head[end + 1..];
        }
        Ok(fields)
    }
}

impl Response {
    /// Whether another response follows, which is the one to the request.
    fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }

    /// Takes all of these bytes of the body.
    fn take(&mut self, body: &[u8]) -> usize {
        self.bytes += body.len() as u64;
        if let Some(tail) = body.last_chunk() {
            self.tail = *tail;
        } else {
            self.tail.rotate_left(body.len());
            let remaining = self.tail.len() - body.len();
            self.tail[remaining..].copy_from_slice(body);
        }
        body.len()
    }

    /// Takes at most `left` bytes; returns how many, and whether none is left.
    fn take_up_to(&mut self, bytes: &[u8], left: &mut u64) -> (usize, bool) {
        let part = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
        self.take(&bytes[..part]);
        *left -= part as u64;
        (part, *left == 0)
    }
}

fn take_chunks(
    response: &mut Response,
    bytes: &[u8],
    chunks: &mut Chunks,
) -> Result<(usize, bool), Fault> {
    let mut at = 0;
    loop {
        if let Chunks::Data(left) = chunks {
            let (used, whole) = response.take_up_to(&bytes[at..], left);
            at += used;
            if !whole {
                return Ok((at, false));
            }
            *chunks = Chunks::DataEnd;
        }
        let Some(end) = memchr(b'\n', &bytes[at..]) else {
            return Ok((at, false));
        };
        let line = bytes[at..at + end].trim_ascii();
        at += end + 1;
        *chunks = match chunks {
            Chunks::Size => {
                let size = line
                    .split(|&byte| byte == b';')
                    .next()
                    .unwrap_or_default()
                    .trim_ascii();
                match digits(size, 16).ok_or("garbage")? {
                    0 => Chunks::Trailer,
                    size => Chunks::Data(size),
                }
            }
            Chunks::Trailer if line.is_empty() => return Ok((at, true)),
            Chunks::Trailer => Chunks::Trailer,
            Chunks::DataEnd | Chunks::Data(_) => Chunks::Size,
        };
    }
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

/// The number that these digits write, if they are digits.
pub fn digits(text: &[u8], base: u32) -> Option<u64> {
    if text.is_empty() || text.len() > 15 {
        return None;
    }
    text.iter().try_fold(0, |value, &byte| {
        Some(value * u64::from(base) + u64::from((byte as char).to_digit(base)?))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows the bytes in pieces of `size`, as a socket would.
    fn read(reader: &mut Reader, bytes: &[u8], size: usize) -> Result<Vec<Response>, Fault> {
        let (mut buffer, mut responses) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(size) {
            buffer.extend_from_slice(piece);
            loop {
                let step = reader.take(&buffer)?;
                buffer.drain(..step.consumed);
                match step.response {
                    Some(response) => responses.push(response),
                    None => break,
                }
            }
        }
        Ok(responses)
    }

    const LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nabc12345678";
    const INTERIM: &[u8] = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nabc12\r\n6;x=y\r\n345678\r\n0\r\nTrailer: t\r\n\r\n";

    proptest! {
        #[test]
        fn pieces_do_not_matter(size in 1usize..80) {
            let bytes = [LENGTH, CHUNKED, INTERIM, INTERIM, LENGTH].concat();
            let responses = read(&mut Reader::new(false), &bytes, size).unwrap();
            let expected = Response { status: 200, bytes: 11, tail: *b"12345678", close: false };
            prop_assert_eq!(responses, vec![expected; 3]);
        }

        #[test]
        fn rubbish_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), size in 1usize..50) {
            let _ = read(&mut Reader::new(false), &bytes, size);
            let _ = read(&mut Reader::new(false), &[b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n", &bytes[..]].concat(), size);
        }
    }

    #[test]
    fn heads_without_body_end_at_the_head() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n";
        assert_eq!(
            read(&mut Reader::new(true), &[&head[..], head].concat(), 7)
                .unwrap()
                .len(),
            2
        );
        let nothing = b"HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(
            read(&mut Reader::new(false), nothing, 99).unwrap()[0].status,
            204
        );
    }

    #[test]
    fn the_end_of_the_connection_may_be_the_end_of_the_body() {
        let mut reader = Reader::new(false);
        assert!(
            read(&mut reader, b"HTTP/1.0 500 Oops\r\n\r\nshort", 3)
                .unwrap()
                .is_empty()
        );
        let response = reader.closed().unwrap();
        assert_eq!(
            (
                response.status,
                response.bytes,
                &response.tail,
                response.close
            ),
            (500, 5, b"000short", true)
        );
        assert_eq!(reader.closed(), Err("closed"));
    }

    #[test]
    fn a_server_that_closes_says_so() {
        let response = read(
            &mut Reader::new(false),
            b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n",
            9,
        );
        assert!(response.unwrap()[0].close);
    }

    #[test]
    fn what_is_not_http_is_garbage() {
        assert_eq!(
            read(&mut Reader::new(false), b"SSH-2.0-OpenSSH_9.2\r\n\r\n", 99),
            Err("garbage")
        );
        assert_eq!(
            read(
                &mut Reader::new(false),
                b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
                99
            ),
            Err("garbage")
        );
    }
}
