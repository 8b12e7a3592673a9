//! The body of a response, found in what arrives piece by piece (RFC 9112 §6 and §7).

use bytes::{Buf, BytesMut};
use http::{HeaderName, HeaderValue};
use memchr::memchr;

use crate::config::Config;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::{Trailers, trim_blanks_end};
use crate::message::framing::Framing;
use crate::message::head::lenient::put_trailer;
use crate::message::reason::Reason;

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
    /// Whether a line around a chunk was accepted although it is malformed. Another reader might have seen another end.
    /// It stands here because few bodies have trailers.
    loose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The bytes that are still to come, of the body or of a chunk.
    Data {
        left: u64,
        chunked: bool,
    },
    /// Everything up to the end of the connection.
    UntilClose,
    /// The line with the size of the next chunk.
    Size,
    /// The line end after a chunk.
    AfterChunk,
    /// The fields after the last chunk, up to an empty line.
    Trailers,
    Done,
}

/// The next part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// This many bytes at the front of the input, at least one.
    Data(usize),
    /// Nothing until more has arrived.
    Wanting,
    /// The body is whole.
    End,
}

/// Why a body cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// Its chunks are malformed.
    Malformed(&'static str),
    /// The connection ended before the body did.
    CutShort,
}

impl BodyError {
    /// The failure of the request.
    pub fn into_failure(self) -> Failure {
        let failure = |detail| Failure::new(Kind::Body, Phase::Read, detail);
        match self {
            BodyError::CutShort => {
                failure("the body was cut short: the connection ended before it did".to_owned())
                    .for_reason(Reason::BodyCutShort)
            }
            BodyError::Malformed(what) => failure(format!("the body cannot be read: {what}"))
                .for_reason(Reason::BodyMalformed)
                .for_good(),
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
        let gathered = self.trailers.as_mut()?;
        let any = std::mem::take(&mut gathered.fields) > 0;
        any.then(|| Box::new(std::mem::take(&mut gathered.block)))
    }

    /// Whether no line around a chunk was malformed.
    pub fn is_strict(&self) -> bool {
        self.trailers.as_ref().is_none_or(|held| !held.loose)
    }

    /// How many bytes are still to come of a body with a length.
    pub fn expected(&self) -> u64 {
        match self.state {
            State::Data {
                left,
                chunked: false,
            } => left,
            _ => 0,
        }
    }

    /// The next part of the body. Removes chunk framing from `input`; the bytes of the body stay until the caller takes
    /// them and calls [`BodyFraming::taken`]. Trailers have the limits of a head.
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
                State::Size => self.take_size(input, limits.lenient)?,
                State::AfterChunk => self.take_line_end(input, limits.lenient)?,
                State::Trailers => self.take_trailer(input, limits)?,
            };
            if !went_on {
                return Ok(Ready::Wanting);
            }
        }
    }

    /// The caller took this many ready bytes off the input.
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

    fn note_loose(&mut self) {
        self.trailers.get_or_insert_default().loose = true;
    }

    fn take_size(&mut self, input: &mut BytesMut, lenient: bool) -> Result<bool, BodyError> {
        let Some((line, end)) = line(input, MOST_OVERHEAD, lenient)? else {
            return Ok(false);
        };
        let text = trim_blanks_end(&input[..line]);
        let size = match lenient {
            true => without_remark(text),
            false => text,
        };
        let left = parse_size(size)?;
        if end == 1 || size.len() < text.len() {
            self.note_loose();
        }
        input.advance(line + end);
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

    fn take_line_end(&mut self, input: &mut BytesMut, lenient: bool) -> Result<bool, BodyError> {
        if lenient && input.first() == Some(&b'\n') {
            input.advance(1);
            self.note_loose();
            self.state = State::Size;
            return Ok(true);
        }
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
        let line = match (input[..end].strip_suffix(b"\r"), limits.lenient) {
            (Some(line), false) => line,
            (None, false) => return Err(UNENDED),
            (_, true) => &input[..end - ends(&input[..end])],
        };
        let loose = !input[..end].ends_with(b"\r") || (line.is_empty() && end > 1);
        if line.is_empty() {
            self.state = State::Done;
        } else {
            let trailers = self.trailers.get_or_insert_default();
            trailers.fields += 1;
            if trailers.fields > limits.max_header_fields {
                let why = "its trailers have more fields than max_header_fields allows";
                return Err(BodyError::Malformed(why));
            }
            let added = add_field(line, &mut trailers.block).or_else(|| {
                limits.lenient.then_some(())?;
                put_trailer(line, &mut trailers.block)
            });
            added.ok_or(BodyError::Malformed("a trailer is not a header field"))?;
        }
        if loose {
            self.note_loose();
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

/// Reported at once: the server may think that this was the end, and wait for the next request.
const UNENDED: BodyError = BodyError::Malformed(
    "a line around a chunk does not end as it should (the setting lenient accepts some such lines)",
);

/// How many carriage returns this ends in.
fn ends(line: &[u8]) -> usize {
    let returns = line.iter().rev().take_while(|byte| **byte == b'\r');
    returns.count()
}

/// Length of the first line of `input` without its end, and of the end; none if the end has not come. Other readers
/// look for the end of an extension elsewhere, so a line with an extension must end in CRLF.
fn line(input: &[u8], most: usize, lenient: bool) -> Result<Option<(usize, usize)>, BodyError> {
    let end = input.iter().position(|byte| *byte == b'\n');
    match end.map(|end| (end, input[..end].strip_suffix(b"\r"))) {
        Some((_, Some(line))) if line.len() <= most => Ok(Some((line.len(), 2))),
        Some((end, None)) if lenient && !input[..end].contains(&b';') => Ok(Some((end, 1))),
        Some((_, None)) => Err(UNENDED),
        // One byte more may be the first half of the line's end.
        None if input.len() <= most + 1 => Ok(None),
        _ => Err(BodyError::Malformed("a line around a chunk is too long")),
    }
}

/// Without text after a space that follows the digits of a size: all readers that accept it end the size there.
fn without_remark(line: &[u8]) -> &[u8] {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let digits = digits.count();
    let clean = !line.contains(&b'\r') && !line.contains(&b';');
    match line.get(digits) {
        Some(b' ' | b'\t') if clean && digits > 0 => &line[..digits],
        _ => line,
    }
}

/// Hexadecimal digits, then perhaps extensions, which every reader may ignore.
fn parse_size(line: &[u8]) -> Result<u64, BodyError> {
    // Other readers may end the line here, and would see other chunks.
    if line.contains(&b'\r') {
        return Err(BodyError::Malformed("a line break in the size of a chunk"));
    }
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let text = std::str::from_utf8(trim_blanks_end(digits)).unwrap_or_default();
    if text.is_empty() || text.len() > 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(BodyError::Malformed(
            "the size of a chunk is not a hexadecimal number",
        ));
    }
    u64::from_str_radix(text, 16)
        .map_err(|_| BodyError::Malformed("the size of a chunk is too large"))
}

#[cfg(test)]
mod tests;
