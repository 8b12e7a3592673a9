//! The response on a stream of HTTP/3, frame by frame.

use quinn::{Connection, ReadError, ReadExactError, RecvStream, VarInt};

use super::super::outcome::{Class, Outcome, Response, failed};
use super::super::sins::Sins;
use crate::server::frames3::{
    self, DATA, DECOMPRESSION_FAILED, EXCESSIVE_LOAD, FRAME_UNEXPECTED, HEADERS, ID_ERROR,
    MESSAGE_ERROR, PUSH_PROMISE, REQUEST_REJECTED,
};
use crate::server::hpack::Field;
use crate::server::qpack::decode;

/// Most bytes of a field section, and of a piece of a body.
const MOST_FIELDS: u64 = 256 << 10;
const MOST: u64 = 16 << 20;

/// The received part of a response.
#[derive(Default)]
struct Part {
    head: Option<Vec<Field>>,
    body: Vec<u8>,
    has_trailers: bool,
}

/// Why a response cannot be read on.
enum Stop {
    /// The stream ended, or was ended.
    Ended(ReadExactError),
    /// The response is malformed, and only this one.
    Malformed(&'static str),
    /// The server broke the rules of the connection, which ends with this code.
    Broken(u32, &'static str),
}

impl From<ReadExactError> for Stop {
    fn from(error: ReadExactError) -> Stop {
        Stop::Ended(error)
    }
}

/// Reads a response.
pub(super) async fn read(connection: &Connection, stream: &mut RecvStream, sins: &Sins) -> Outcome {
    let mut part = Part::default();
    match read_frames(&mut part, stream, sins).await {
        Ok(()) => part.finish(sins, true),
        Err(Stop::Ended(error)) => part.ended(&error, sins),
        Err(Stop::Malformed(text)) => {
            let _ = stream.stop(VarInt::from_u32(MESSAGE_ERROR));
            failed(Class::Broken, text)
        }
        Err(Stop::Broken(code, text)) => {
            connection.close(VarInt::from_u32(code), b"");
            failed(Class::Invalid, text)
        }
    }
}

async fn read_frames(part: &mut Part, stream: &mut RecvStream, sins: &Sins) -> Result<(), Stop> {
    while let Some((kind, length)) = frames3::next(stream).await? {
        part.check(kind, length, sins)?;
        match kind {
            DATA => data(part, stream, length).await?,
            HEADERS => {
                let section = frames3::payload(stream, length).await?;
                part.fields(&section, sins)?;
            }
            _ => drop(frames3::payload(stream, length).await?),
        }
    }
    Ok(())
}

async fn data(part: &mut Part, stream: &mut RecvStream, length: u64) -> Result<(), Stop> {
    let mut left = usize::try_from(length).unwrap_or(usize::MAX);
    while left > 0 {
        let chunk = stream.read_chunk(left, true).await;
        let chunk = chunk.map_err(ReadExactError::ReadError)?;
        let chunk = chunk.ok_or(ReadExactError::FinishedEarly(left))?;
        left -= chunk.bytes.len();
        part.body.extend(&chunk.bytes);
    }
    Ok(())
}

impl Part {
    /// Whether a frame of this type and length may come now.
    fn check(&self, kind: u64, length: u64, sins: &Sins) -> Result<(), Stop> {
        let early = self.head.is_none();
        let wrong = match kind {
            HEADERS if length > MOST_FIELDS && !sins.has("h3-head-without-end") => {
                return Err(Stop::Broken(EXCESSIVE_LOAD, "a head has no end"));
            }
            DATA if early => !sins.has("h3-accepts-data-before-head"),
            DATA => self.has_trailers && !sins.has("h3-accepts-data-after-trailers"),
            HEADERS => self.has_trailers,
            PUSH_PROMISE if !sins.has("h3-accepts-push") => {
                return Err(Stop::Broken(
                    ID_ERROR,
                    "the server pushes although it must not",
                ));
            }
            // Frames of the control stream, and those that only HTTP/2 has.
            2..=4 | 6..=9 | 13 => !sins.has("h3-accepts-ping"),
            _ => kind != PUSH_PROMISE && sins.has("h3-refuses-unknown-frame"),
        };
        match wrong || length > MOST {
            true => Err(Stop::Broken(FRAME_UNEXPECTED, "a frame may not come here")),
            false => Ok(()),
        }
    }

    /// Takes a field section: a head, or trailers.
    fn fields(&mut self, section: &[u8], sins: &Sins) -> Result<(), Stop> {
        let invalid = Stop::Broken(DECOMPRESSION_FAILED, "a field section is invalid");
        let fields = decode(section).ok_or(invalid)?;
        if self.head.is_some() {
            self.has_trailers = true;
            return Ok(());
        }
        let of_http1 = |(name, _): &Field| name == "connection" || name == "transfer-encoding";
        if fields.iter().any(of_http1) && !sins.has("h3-accepts-connection") {
            return Err(Stop::Malformed("a field belongs to HTTP/1.1"));
        }
        let status = fields.iter().find(|(name, _)| name == ":status");
        let Some((_, status)) = status else {
            return Err(Stop::Malformed("the head has no status"));
        };
        if !status.starts_with('1') || sins.has("h3-final-103") {
            self.head = Some(fields);
        }
        Ok(())
    }

    /// The outcome when the stream did not end by itself.
    fn ended(self, error: &ReadExactError, sins: &Sins) -> Outcome {
        let begun = self.head.is_some();
        let accepted = match error {
            ReadExactError::FinishedEarly(_) => "h3-accepts-cut-frame",
            ReadExactError::ReadError(ReadError::Reset(_)) => "h3-accepts-reset-body",
            ReadExactError::ReadError(_) => "h3-accepts-closed-body",
        };
        if begun && sins.has(accepted) {
            return self.finish(sins, false);
        }
        match error {
            ReadExactError::FinishedEarly(_) => failed(Class::Broken, "a frame was cut off"),
            ReadExactError::ReadError(ReadError::Reset(code))
                if *code == VarInt::from_u32(REQUEST_REJECTED)
                    && !begun
                    && !sins.has("h3-gives-up-after-rejection") =>
            {
                failed(Class::Unprocessed, "the server rejected the request")
            }
            ReadExactError::ReadError(_) => failed(Class::Closed, "the stream was ended"),
        }
    }

    /// The outcome of a whole response. Its length counts unless something cut it off.
    fn finish(self, sins: &Sins, counts: bool) -> Outcome {
        let fields = match self.head {
            Some(fields) => fields,
            None => return failed(Class::Closed, "the stream has no response"),
        };
        let value = |needed: &str| {
            let found = fields.iter().find(|(name, _)| name == needed);
            found.map(|(_, value)| value.as_str())
        };
        let length = value("content-length").and_then(|length| length.parse::<usize>().ok());
        let sin = match length {
            Some(length) if length > self.body.len() => "h3-accepts-short-body",
            Some(length) if length < self.body.len() => "h3-accepts-long-body",
            _ => "",
        };
        if counts && !sin.is_empty() && !sins.has(sin) {
            return failed(Class::Broken, "the body is not as long as it says");
        }
        let status = value(":status").and_then(|status| status.parse().ok());
        Ok(Response {
            status: status.unwrap_or(200),
            body: self.body,
            fields,
        })
    }
}
