//! The body of a response, found in what arrives piece by piece (RFC 9112 §6 and §7).

use bytes::{Buf, BytesMut};
use http::{HeaderName, HeaderValue};
use memchr::memchr;

use crate::config::Config;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::Trailers;
use crate::message::head::Framing;

/// Longest line of a chunk's size with its extensions.
const MOST_OVERHEAD: usize = 16 << 10;

/// Finds one body in what has arrived, until it says that it has all. Holds none of it.
#[derive(Debug)]
pub(crate) struct BodyFraming {
    state: State,
    trailers: Option<Box<Gathered>>,
}

/// Trailers, as far as they have come.
#[derive(Debug, Default)]
struct Gathered {
    fields: usize,
    block: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// So many bytes are to come, of the body or of a chunk.
    Data {
        left: u64,
        chunked: bool,
    },
    /// Everything up to the end of the connection.
    UntilClose,
    /// The line with the size of the next chunk.
    Size,
    /// The line end behind a chunk.
    AfterChunk,
    /// The fields behind the last chunk, up to an empty line.
    Trailers,
    Done,
}

/// What there is of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// So many bytes at the front of the input, at least one.
    Data(usize),
    /// Nothing until more has arrived.
    Wanting,
    /// Nothing more: the body is whole.
    End,
}

/// Why a body cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// It has more than the allowed bytes.
    TooLarge,
    /// Its chunks are not as they should be.
    Malformed(&'static str),
    /// The connection ended before the body did.
    CutShort,
}

impl BodyError {
    /// What a request fails with; `max_body` is the cap that was exceeded, if that is what happened.
    pub fn into_failure(self, max_body: usize) -> Failure {
        let detail = match self {
            BodyError::TooLarge => format!("the body is larger than the allowed {max_body} bytes"),
            BodyError::CutShort => {
                "the body was cut short: the connection ended before it did".into()
            }
            BodyError::Malformed(what) => format!("the body cannot be read: {what}"),
        };
        let failure = Failure::new(Kind::Body, Phase::Read, detail);
        match self {
            BodyError::CutShort => failure,
            BodyError::TooLarge | BodyError::Malformed(_) => failure.for_good(),
        }
    }
}

impl BodyFraming {
    /// A reader of a body that is framed like this.
    pub fn new(framing: Framing) -> BodyFraming {
        let state = match framing {
            Framing::Length(0) => State::Done,
            Framing::Length(left) => State::Data {
                left,
                chunked: false,
            },
            Framing::Chunked => State::Size,
            Framing::Close => State::UntilClose,
        };
        BodyFraming {
            state,
            trailers: None,
        }
    }

    /// The trailers of a body that is whole; once.
    pub fn take_trailers(&mut self) -> Trailers {
        let gathered = self.trailers.take()?;
        Some(Box::new(gathered.block))
    }

    /// How much is known to come, of a body with a length.
    pub fn expected(&self) -> u64 {
        match self.state {
            State::Data {
                left,
                chunked: false,
            } => left,
            _ => 0,
        }
    }

    /// What can be taken now. Removes what is around chunks from `input`; the bytes of the body stay
    /// until the caller takes them, and tells by [`BodyFraming::taken`]. Trailers have the limits of a head.
    pub fn ready(&mut self, input: &mut BytesMut, limits: &Config) -> Result<Ready, BodyError> {
        loop {
            let went_on = match self.state {
                State::Done => return Ok(Ready::End),
                State::UntilClose | State::Data { .. } if input.is_empty() => false,
                State::UntilClose => return Ok(Ready::Data(input.len())),
                State::Data { left, .. } => {
                    let left = usize::try_from(left).unwrap_or(usize::MAX);
                    return Ok(Ready::Data(input.len().min(left)));
                }
                State::Size => self.take_size(input)?,
                State::AfterChunk => self.take_line_end(input)?,
                State::Trailers => self.take_trailer(input, limits)?,
            };
            if !went_on {
                return Ok(Ready::Wanting);
            }
        }
    }

    /// So many of the bytes that are ready were taken off the input.
    pub fn taken(&mut self, count: usize) {
        if let State::Data { left, chunked } = self.state {
            self.state = match left - count as u64 {
                0 if chunked => State::AfterChunk,
                0 => State::Done,
                left => State::Data { left, chunked },
            };
        }
    }

    /// The connection has ended: fine only if that is how the body ends.
    pub fn end(&mut self) -> Result<(), BodyError> {
        match self.state {
            State::Done | State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            _ => Err(BodyError::CutShort),
        }
    }

    fn take_size(&mut self, input: &mut BytesMut) -> Result<bool, BodyError> {
        let Some(line) = line(input, MOST_OVERHEAD)? else {
            return Ok(false);
        };
        let left = parse_size(&input[..line])?;
        input.advance(line + 2);
        self.state = if left == 0 {
            State::Trailers
        } else {
            State::Data {
                left,
                chunked: true,
            }
        };
        Ok(true)
    }

    fn take_line_end(&mut self, input: &mut BytesMut) -> Result<bool, BodyError> {
        if input.len() < 2 {
            return Ok(false);
        }
        if &input[..2] != b"\r\n" {
            return Err(BodyError::Malformed("a chunk is longer than its size"));
        }
        input.advance(2);
        self.state = State::Size;
        Ok(true)
    }

    fn take_trailer(&mut self, input: &mut BytesMut, limits: &Config) -> Result<bool, BodyError> {
        let held = self.trailers.as_ref().map_or(0, |held| held.block.len());
        let room = limits.max_header_bytes.saturating_sub(held);
        let end = memchr(b'\n', input);
        if end.unwrap_or(input.len()) > room.saturating_add(1) {
            let why = "its trailers have more bytes than max_header_bytes allows";
            return Err(BodyError::Malformed(why));
        }
        let Some(end) = end else {
            return Ok(false);
        };
        let line = input[..end].strip_suffix(b"\r").ok_or(UNENDED)?;
        if line.is_empty() {
            self.state = State::Done;
        } else {
            let trailers = self.trailers.get_or_insert_default();
            trailers.fields += 1;
            if trailers.fields > limits.max_header_fields {
                let why = "its trailers have more fields than max_header_fields allows";
                return Err(BodyError::Malformed(why));
            }
            add_field(line, &mut trailers.block)
                .ok_or(BodyError::Malformed("a trailer is not a header field"))?;
        }
        input.advance(end + 1);
        Ok(true)
    }
}

/// Adds a line as `name: value`, the name in lower case; none if it is no field.
fn add_field(line: &[u8], block: &mut Vec<u8>) -> Option<()> {
    let (name, value) = line.split_at(memchr(b':', line)?);
    let name = HeaderName::from_bytes(name).ok()?;
    let value = value[1..].trim_ascii();
    HeaderValue::from_bytes(value).ok()?;
    for part in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
        block.extend_from_slice(part);
    }
    Some(())
}

/// Said at once: the server may think that this was the end, and wait for the next request.
const UNENDED: BodyError = BodyError::Malformed("a line around a chunk does not end as it should");

/// Length of the first line of `input` without its end, none if the end has not come.
fn line(input: &[u8], most: usize) -> Result<Option<usize>, BodyError> {
    let end = input.iter().position(|byte| *byte == b'\n');
    match end.map(|end| input[..end].strip_suffix(b"\r")) {
        Some(Some(line)) if line.len() <= most => Ok(Some(line.len())),
        Some(None) => Err(UNENDED),
        // One byte more may be the first half of the line's end.
        None if input.len() <= most + 1 => Ok(None),
        _ => Err(BodyError::Malformed("a line around a chunk is too long")),
    }
}

/// Hexadecimal digits, then perhaps extensions, which nobody uses and everybody may ignore.
fn parse_size(line: &[u8]) -> Result<u64, BodyError> {
    // Other readers may end the line here, and would see other chunks than this one does.
    if line.contains(&b'\r') {
        return Err(BodyError::Malformed("a line break in the size of a chunk"));
    }
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let text = std::str::from_utf8(digits.trim_ascii_end()).unwrap_or_default();
    if text.is_empty() || text.len() > 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(BodyError::Malformed(
            "the size of a chunk is not a hexadecimal number",
        ));
    }
    u64::from_str_radix(text, 16)
        .map_err(|_| BodyError::Malformed("the size of a chunk is too large"))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn config() -> Config {
        let mut config = Config::new(std::time::Duration::from_secs(1));
        config.max_header_bytes = 16 << 10;
        config.max_header_fields = 100;
        config
    }

    /// Takes what is ready of a body of at most `most` bytes; true when it is whole.
    fn take(
        reader: &mut BodyFraming,
        input: &mut BytesMut,
        body: &mut Vec<u8>,
        most: usize,
    ) -> Result<bool, BodyError> {
        loop {
            match reader.ready(input, &config())? {
                Ready::Data(count) if body.len() + count > most => return Err(BodyError::TooLarge),
                Ready::Data(count) => {
                    assert!(count > 0);
                    body.extend_from_slice(&input.split_to(count));
                    reader.taken(count);
                }
                ready => return Ok(ready == Ready::End),
            }
        }
    }

    /// Reads a body that comes in these pieces and then ends; also what is left over.
    fn read(framing: Framing, most: usize, pieces: &[&[u8]]) -> Result<(Bytes, Bytes), BodyError> {
        let mut reader = BodyFraming::new(framing);
        let (mut input, mut body) = (BytesMut::new(), Vec::new());
        for piece in pieces {
            input.extend_from_slice(piece);
            take(&mut reader, &mut input, &mut body, most)?;
        }
        if !take(&mut reader, &mut input, &mut body, most)? {
            reader.end()?;
        }
        Ok((body.into(), input.freeze()))
    }

    fn chunked(text: &str) -> Result<(Bytes, Bytes), BodyError> {
        read(Framing::Chunked, 100, &[text.as_bytes()])
    }

    #[test]
    fn by_length() {
        let (body, rest) = read(Framing::Length(5), 5, &[b"he", b"llo!"]).unwrap();
        assert_eq!((&body[..], &rest[..]), (&b"hello"[..], &b"!"[..]));
        assert_eq!(
            read(Framing::Length(5), 5, &[b"hell"]),
            Err(BodyError::CutShort)
        );
        assert!(read(Framing::Length(0), 0, &[]).unwrap().0.is_empty());
    }

    #[test]
    fn until_the_end() {
        assert_eq!(
            read(Framing::Close, 5, &[b"he", b"llo"]).unwrap().0,
            "hello"
        );
        assert_eq!(
            read(Framing::Close, 5, &[b"hello", b"!"]),
            Err(BodyError::TooLarge)
        );
    }

    #[test]
    fn in_chunks() {
        let (body, rest) =
            chunked("5;x=\"y\"\r\nhello\r\n00A \r\n, world...\r\n0\r\nT: 1\r\n\r\nnext").unwrap();
        assert_eq!(
            (&body[..], &rest[..]),
            (&b"hello, world..."[..], &b"next"[..])
        );
        for text in [
            "5\r\nhell",
            "5\r\nhello",
            "5\r\nhello\r\n",
            "0\r\n",
            "0\r\nT: 1\r\n",
            "",
        ] {
            assert_eq!(chunked(text), Err(BodyError::CutShort), "{text:?}");
        }
        for text in [
            "x\r\n",
            "-1\r\n",
            "+5\r\nhello",
            "\r\n",
            "5 5\r\n",
            "5\n\r\nhello\r\n0\r\n\r\n",
            "5\r\r\nhello\r\n0\r\n\r\n",
            "5\nhello\n0\n\n",
            "0\r\nT: 1\n",
            "\n",
            "5;a\nb\r\nhello\r\n0\r\n\r\n",
            "1\r\nhello",
            "11111111111111111\r\n",
            " 5\r\nhello",
        ] {
            assert!(
                matches!(chunked(text), Err(BodyError::Malformed(_))),
                "{text:?}"
            );
        }
        assert_eq!(
            chunked("ffffffffffffffff\r\nhello"),
            Err(BodyError::CutShort)
        );
        let long = "x".repeat(MOST_OVERHEAD);
        assert!(chunked(&format!("5;{long}\r\nhello\r\n0\r\n\r\n")).is_err());
        assert!(chunked(&format!("0\r\n{}\r\n", format!("a: {long}\r\n").repeat(2))).is_err());
    }

    #[test]
    fn the_longest_line_reads_alike_when_its_end_is_cut() {
        let line = format!("0;{}\r", "x".repeat(MOST_OVERHEAD - 2));
        let pieces: [&[u8]; 2] = [line.as_bytes(), b"\n\r\n"];
        assert!(read(Framing::Chunked, 0, &[&pieces.concat()]).is_ok());
        assert!(read(Framing::Chunked, 0, &pieces).is_ok());
    }

    proptest::proptest! {
        /// However the bytes are cut into pieces, the body is the same, and so is what is left.
        #[test]
        fn every_split_reads_alike(chunks in proptest::collection::vec("[a-z]{1,40}", 0..6), cuts in proptest::collection::vec(0usize..400, 0..8)) {
            let mut wire: String = chunks.iter().map(|c| format!("{:x}\r\n{c}\r\n", c.len())).collect();
            wire.push_str("0\r\n\r\nrest");
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % wire.len()).chain([0, wire.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &wire.as_bytes()[cut[0]..cut[1]]).collect();
            let (body, rest) = read(Framing::Chunked, 1000, &pieces).unwrap();
            proptest::prop_assert_eq!(body, chunks.concat());
            proptest::prop_assert_eq!(&rest[..], b"rest");
        }

        /// Any bytes end in a body or an error, never in more than is allowed.
        #[test]
        fn nothing_panics_and_nothing_grows(bytes in "([0-9a-f]{1,3}[;\r \n]{0,3}[a-z\r\n]{0,20}){0,9}", most in 0usize..50) {
            for framing in [Framing::Chunked, Framing::Close, Framing::Length(20)] {
                if let Ok((body, _)) = read(framing, most, &[bytes.as_bytes()]) {
                    proptest::prop_assert!(body.len() <= most);
                }
            }
        }
    }
}
