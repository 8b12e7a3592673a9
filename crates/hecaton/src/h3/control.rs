//! The streams of the server that carry no response: its control stream, and those of QPACK (RFC 9114 §6.2).

use std::collections::HashSet;
use std::future::pending;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use quinn::{ConnectionError, RecvStream};

use super::frames::{
    CLOSED_CRITICAL_STREAM, ENCODER_STREAM_ERROR, EXCESSIVE_LOAD, FRAME_ERROR, FRAME_UNEXPECTED,
    GOAWAY, ID_ERROR, MISSING_SETTINGS, Part, Reader, Role, SETTINGS, SETTINGS_ERROR,
    STREAM_CREATION_ERROR, Violation, take_integer,
};
use super::link::poll_bytes;

/// The longest SETTINGS or GOAWAY that is read.
const LONGEST: usize = 4096;

/// Settings of HTTP/2 that HTTP/3 does not have (§7.2.4.1).
const OF_HTTP2: [u64; 4] = [0x2, 0x3, 0x4, 0x5];

/// The most streams of unknown types. They carry nothing that is read.
const MOST_UNKNOWN: u32 = 10_000;

/// How much is read in one turn.
const PIECES_PER_TURN: u32 = 32;

type Accepting = BoxFuture<'static, Result<RecvStream, ConnectionError>>;

pub(super) struct Control {
    connection: quinn::Connection,
    accepting: Accepting,
    /// Streams whose type has not come.
    new: Vec<(RecvStream, Vec<u8>)>,
    frames: Option<(RecvStream, Frames)>,
    encoder: Option<RecvStream>,
    decoder: Option<RecvStream>,
    unknown: u32,
}

/// The frames that have arrived on the control stream.
struct Frames {
    reader: Reader,
    input: Bytes,
    has_settings: bool,
    goaway: Option<u64>,
}

impl Control {
    pub fn new(connection: &quinn::Connection) -> Control {
        Control {
            connection: connection.clone(),
            accepting: accept(connection),
            new: Vec::new(),
            frames: None,
            encoder: None,
            decoder: None,
            unknown: 0,
        }
    }

    /// Reads what has come; the first stream that a new GOAWAY leaves out.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Result<Option<u64>, Violation> {
        while let Poll::Ready(accepted) = self.accepting.poll_unpin(cx) {
            // If the connection has ended, no stream comes any more.
            self.accepting = match accepted {
                Ok(stream) => {
                    self.new.push((stream, Vec::new()));
                    accept(&self.connection)
                }
                Err(_) => pending().boxed(),
            };
        }
        let mut index = 0;
        while index < self.new.len() {
            let (stream, head) = &mut self.new[index];
            match poll_type(stream, head, cx) {
                Poll::Pending => index += 1,
                Poll::Ready(None) => drop(self.new.swap_remove(index)),
                Poll::Ready(Some((kind, rest))) => {
                    let (stream, _) = self.new.swap_remove(index);
                    self.begin(stream, kind, rest)?;
                }
            }
        }
        self.poll_encoder(cx)?;
        self.poll_decoder(cx)?;
        match &mut self.frames {
            Some((stream, frames)) => frames.poll(stream, cx),
            None => Ok(None),
        }
    }

    /// The type of a stream has come.
    fn begin(&mut self, mut stream: RecvStream, kind: u64, rest: Bytes) -> Result<(), Violation> {
        let place = match kind {
            0 if self.frames.is_none() => {
                self.frames = Some((stream, Frames::new(rest)));
                return Ok(());
            }
            1 => {
                let why = "it pushes a response, which was not allowed";
                return Err(Violation::new(ID_ERROR, why));
            }
            2 if self.encoder.is_none() => {
                check_encoder(&rest)?;
                &mut self.encoder
            }
            3 if self.decoder.is_none() => &mut self.decoder,
            0 | 2 | 3 => {
                let why = "it opened a stream twice that it may open once";
                return Err(Violation::new(STREAM_CREATION_ERROR, why));
            }
            _ => {
                let _ = stream.stop(STREAM_CREATION_ERROR.into());
                self.unknown += 1;
                let why = "too many streams of unknown types came";
                return match self.unknown > MOST_UNKNOWN {
                    true => Err(Violation::new(EXCESSIVE_LOAD, why)),
                    false => Ok(()),
                };
            }
        };
        *place = Some(stream);
        Ok(())
    }

    fn poll_encoder(&mut self, cx: &mut Context<'_>) -> Result<(), Violation> {
        for _ in 0..PIECES_PER_TURN {
            let Some(stream) = &mut self.encoder else {
                return Ok(());
            };
            match poll_critical(stream, cx)? {
                Some(bytes) => check_encoder(&bytes)?,
                None => return Ok(()),
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Passes over the server's messages about a table that the client does not use.
    fn poll_decoder(&mut self, cx: &mut Context<'_>) -> Result<(), Violation> {
        for _ in 0..PIECES_PER_TURN {
            let Some(stream) = &mut self.decoder else {
                return Ok(());
            };
            if poll_critical(stream, cx)?.is_none() {
                return Ok(());
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }
}

impl Frames {
    fn new(input: Bytes) -> Frames {
        Frames {
            reader: Reader::new(Role::Control, LONGEST),
            input,
            has_settings: false,
            goaway: None,
        }
    }

    fn poll(
        &mut self,
        stream: &mut RecvStream,
        cx: &mut Context<'_>,
    ) -> Result<Option<u64>, Violation> {
        let before = self.goaway;
        for _ in 0..PIECES_PER_TURN {
            self.take()?;
            match poll_critical(stream, cx)? {
                Some(bytes) => self.input = bytes,
                None => return Ok(self.goaway.filter(|_| self.goaway != before)),
            }
        }
        cx.waker().wake_by_ref();
        self.take()?;
        Ok(self.goaway.filter(|_| self.goaway != before))
    }

    /// Reads the frames of the input.
    fn take(&mut self) -> Result<(), Violation> {
        while let Some(part) = self.reader.next(&mut self.input)? {
            match part {
                Part::Frame(SETTINGS, frame) if !self.has_settings => {
                    check_settings(&frame)?;
                    self.has_settings = true;
                }
                _ if !self.has_settings => {
                    let why = "its control stream does not begin with its settings";
                    return Err(Violation::new(MISSING_SETTINGS, why));
                }
                Part::Frame(GOAWAY, frame) => self.heed_goaway(&frame)?,
                Part::Frame(..) => {
                    let why = "it sent its settings twice";
                    return Err(Violation::new(FRAME_UNEXPECTED, why));
                }
                Part::TooLong(_) | Part::Data(_) => {
                    let why = "a frame on its control stream is too long";
                    return Err(Violation::new(EXCESSIVE_LOAD, why));
                }
            }
        }
        Ok(())
    }

    fn heed_goaway(&mut self, mut frame: &[u8]) -> Result<(), Violation> {
        let stream = take_integer(&mut frame).filter(|_| frame.is_empty());
        let Some(stream) = stream else {
            return Err(Violation::new(FRAME_ERROR, "its GOAWAY is malformed"));
        };
        if stream % 4 != 0 || self.goaway.is_some_and(|before| stream > before) {
            let why = "its GOAWAY names a stream that it cannot name";
            return Err(Violation::new(ID_ERROR, why));
        }
        self.goaway = Some(stream);
        Ok(())
    }
}

fn accept(connection: &quinn::Connection) -> Accepting {
    let connection = connection.clone();
    async move { connection.accept_uni().await }.boxed()
}

/// The type of a stream, and the bytes behind it; none if the stream ended before.
fn poll_type(
    stream: &mut RecvStream,
    head: &mut Vec<u8>,
    cx: &mut Context<'_>,
) -> Poll<Option<(u64, Bytes)>> {
    loop {
        match poll_bytes(stream, cx) {
            Poll::Ready(Ok(Some(bytes))) => head.extend_from_slice(&bytes),
            Poll::Ready(_) => return Poll::Ready(None),
            Poll::Pending => return Poll::Pending,
        }
        let mut rest = &head[..];
        if let Some(kind) = take_integer(&mut rest) {
            return Poll::Ready(Some((kind, Bytes::copy_from_slice(rest))));
        }
    }
}

/// The next bytes of a stream that must not end; none if nothing has come.
fn poll_critical(
    stream: &mut RecvStream,
    cx: &mut Context<'_>,
) -> Result<Option<Bytes>, Violation> {
    match poll_bytes(stream, cx) {
        Poll::Ready(Ok(Some(bytes))) => Ok(Some(bytes)),
        Poll::Ready(Ok(None) | Err(quinn::ReadError::Reset(_))) => Err(Violation::new(
            CLOSED_CRITICAL_STREAM,
            "it ended a stream that must stay open",
        )),
        // The connection has ended.
        Poll::Ready(Err(_)) | Poll::Pending => Ok(None),
    }
}

/// The only instruction that is allowed without a table: its capacity is 0 (RFC 9204 §4.3.1).
fn check_encoder(mut bytes: &[u8]) -> Result<(), Violation> {
    while bytes.has_remaining() {
        if bytes.get_u8() != 0x20 {
            let why = "it fills a table of fields that was not allowed";
            return Err(Violation::new(ENCODER_STREAM_ERROR, why));
        }
    }
    Ok(())
}

fn check_settings(mut frame: &[u8]) -> Result<(), Violation> {
    let mut seen = HashSet::new();
    while !frame.is_empty() {
        let (name, value) = (take_integer(&mut frame), take_integer(&mut frame));
        let (Some(name), Some(_)) = (name, value) else {
            return Err(Violation::new(FRAME_ERROR, "its settings are malformed"));
        };
        if OF_HTTP2.contains(&name) || !seen.insert(name) {
            let why = "its settings have one twice, or one of HTTP/2";
            return Err(Violation::new(SETTINGS_ERROR, why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<u64>, u32> {
        let mut frames = Frames::new(Bytes::copy_from_slice(bytes));
        let read = frames.take().map_err(|violation| violation.code);
        read.map(|()| frames.goaway)
    }

    #[test]
    fn goaway_is_heeded_after_settings() {
        assert_eq!(read(b"\x04\x00"), Ok(None));
        assert_eq!(read(b"\x04\x02\x06\x01\x21\x00\x07\x01\x08"), Ok(Some(8)));
        assert_eq!(read(b"\x04\x00\x07\x01\x08\x07\x01\x04"), Ok(Some(4)));
    }

    #[test]
    fn violations_on_the_control_stream_are_named() {
        for (bytes, code) in [
            (&b"\x07\x01\x08"[..], MISSING_SETTINGS),
            (b"\x04\x00\x04\x00", FRAME_UNEXPECTED),
            (b"\x04\x00\x00\x00", FRAME_UNEXPECTED),
            (b"\x04\x00\x07\x01\x03", ID_ERROR),
            (b"\x04\x00\x07\x01\x04\x07\x01\x08", ID_ERROR),
            (b"\x04\x00\x07\x02\x04\x04", FRAME_ERROR),
            (b"\x04\x01\x06", FRAME_ERROR),
            (b"\x04\x02\x04\x01", SETTINGS_ERROR),
            (b"\x04\x04\x06\x01\x06\x01", SETTINGS_ERROR),
            (b"\x04\x80\x00\x10\x01", MISSING_SETTINGS),
            (b"\x04\x00\x07\x80\x00\x10\x01", EXCESSIVE_LOAD),
        ] {
            assert_eq!(read(bytes), Err(code), "{bytes:x?}");
        }
    }

    #[test]
    fn an_encoder_may_say_only_that_its_table_is_empty() {
        assert!(check_encoder(b"\x20\x20").is_ok());
        assert!(check_encoder(b"\x3f").is_err() && check_encoder(b"\xc0\x00").is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_input_ends(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
