//! The streams of an exchange: what is sent on them, and what each frame of the server means for them.

use super::super::connection::Clock;
use super::super::outcome::{Class, Failure, Outcome, Response, failed};
use super::super::sins::Sins;
use super::{CANCEL, Exchange, MOST, MOST_FRAMES, REFUSED_STREAM, Stream, WIDEST};
use crate::server::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, PING, PUSH_PROMISE,
    RST_STREAM, SETTINGS, WINDOW_UPDATE,
};
use crate::server::hpack::{Field, encode};

impl Exchange<'_> {
    pub(super) fn run(&mut self, clock: &Clock) -> Result<(), Failure> {
        loop {
            self.begin_streams(clock)?;
            self.upload(clock)?;
            if self.open.is_empty() && self.waiting.is_empty() {
                return Ok(());
            }
            if self.open.is_empty() && self.state.last.is_some() {
                return failed(Class::Ended, "the server goes away");
            }
            self.read(clock)?;
        }
    }

    /// Resets all open streams.
    pub(super) fn cancel(&mut self) {
        for stream in &self.open {
            let cancel = Frame::bytes(RST_STREAM, 0, stream.id, &CANCEL.to_be_bytes());
            let _ = self.connection.write(&cancel, &Clock::brief());
        }
    }

    fn begin_streams(&mut self, clock: &Clock) -> Result<(), Failure> {
        let most = match self.sins.has("ignores-max-streams") {
            true => usize::MAX,
            false => self.state.streams,
        };
        while self.open.len() < most && self.state.last.is_none() {
            let Some((place, message)) = self.waiting.pop_front() else {
                return Ok(());
            };
            let id = self.state.next;
            self.state.next += 2;
            let fields: Vec<(&str, &str)> = message
                .fields
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let end = if message.body.is_empty() {
                END_STREAM
            } else {
                0
            };
            let head = Frame::bytes(HEADERS, END_HEADERS | end, id, &encode(&fields));
            self.open.push(Stream {
                place,
                id,
                left: message.body,
                window: self.state.window,
                head: None,
                body: Vec::new(),
            });
            self.connection.write(&head, clock)?;
        }
        Ok(())
    }

    fn upload(&mut self, clock: &Clock) -> Result<(), Failure> {
        for stream in &mut self.open {
            let free = match self.sins.has("ignores-window") {
                true => WIDEST,
                false => stream.window.min(self.state.shared),
            };
            let count = stream
                .left
                .len()
                .min(usize::try_from(free).unwrap_or_default());
            if count == 0 {
                continue;
            }
            let part: Vec<u8> = stream.left.drain(..count).collect();
            let sent = i64::try_from(count).unwrap_or(WIDEST);
            stream.window -= sent;
            self.state.shared -= sent;
            let end = if stream.left.is_empty() {
                END_STREAM
            } else {
                0
            };
            self.connection
                .write(&Frame::bytes(DATA, end, stream.id, &part), clock)?;
        }
        Ok(())
    }

    /// Reads a frame, and returns its type.
    pub(super) fn read(&mut self, clock: &Clock) -> Result<u8, Failure> {
        loop {
            if let Some(frame) = Frame::take(&mut self.connection.input) {
                self.received = true;
                self.take(&frame, clock)?;
                return Ok(frame.kind);
            }
            if self.connection.fill(clock)? == 0 {
                return failed(Class::Ended, "the connection ended");
            }
        }
    }

    fn take(&mut self, frame: &Frame, clock: &Clock) -> Result<(), Failure> {
        let (kind, flags, id) = (frame.kind, frame.flags, frame.stream);
        let payload = &frame.payload[..];
        let number = |at: usize| {
            let four = payload
                .get(at..at + 4)
                .and_then(|four| four.try_into().ok());
            four.map_or(0, u32::from_be_bytes)
        };
        if self.state.block.is_some() && kind != CONTINUATION {
            return failed(Class::Invalid, "a header block is interrupted");
        }
        match kind {
            SETTINGS if flags & ACK == 0 => return self.settings(payload, clock),
            PING if flags & ACK == 0 && !self.sins.has("no-ping-ack") => {
                let pong = Frame::bytes(PING, ACK, 0, payload);
                return self.connection.write(&pong, clock);
            }
            GOAWAY => return self.go_away(number(0) & 0x7fff_ffff),
            RST_STREAM => self.reset(id, number(0)),
            WINDOW_UPDATE => return self.widen(id, i64::from(number(0))),
            PUSH_PROMISE if !self.sins.has("accepts-push") => {
                return failed(Class::Invalid, "the server pushes although it must not");
            }
            HEADERS => {
                self.state.block = Some((id, flags, 1, payload.to_vec()));
                return self.block(flags);
            }
            CONTINUATION => return self.more_of_block(flags, payload),
            DATA => return self.data(id, flags, payload, clock),
            _ => {}
        }
        Ok(())
    }

    fn settings(&mut self, payload: &[u8], clock: &Clock) -> Result<(), Failure> {
        for pair in payload.chunks_exact(6) {
            let value = u32::from_be_bytes([pair[2], pair[3], pair[4], pair[5]]);
            match pair[1] {
                3 => self.state.streams = value as usize,
                4 => self.state.window = i64::from(value),
                _ => {}
            }
        }
        match self.sins.has("no-settings-ack") {
            true => Ok(()),
            false => self
                .connection
                .write(&Frame::bytes(SETTINGS, ACK, 0, b""), clock),
        }
    }

    fn go_away(&mut self, last: u32) -> Result<(), Failure> {
        self.state.last = Some(last);
        let outcome = match self.sins.has("gives-up-after-goaway") {
            true => failed(Class::Gone, "the server goes away"),
            false => unprocessed(),
        };
        let lost: Vec<u32> = self
            .open
            .iter()
            .map(|open| open.id)
            .filter(|id| *id > last)
            .collect();
        for id in lost {
            self.end(id, outcome.clone());
        }
        Ok(())
    }

    fn reset(&mut self, id: u32, code: u32) {
        let neighbours = self.sins.has("loses-neighbour-of-reset") && self.open.len() > 1;
        let ids: Vec<u32> = match neighbours {
            true => self.open.iter().map(|open| open.id).collect(),
            false => vec![id],
        };
        let begun = self.open.iter().find(|open| open.id == id);
        let begun = begun.is_some_and(|open| open.head.is_some());
        for id in ids {
            match code {
                REFUSED_STREAM if !begun && !self.sins.has("gives-up-after-refusal") => {
                    self.end(id, unprocessed())
                }
                _ if begun && self.sins.has("accepts-reset-body") => self.finish(id, false),
                _ => self.end(id, failed(Class::Gone, "the server reset the stream")),
            }
        }
    }

    fn widen(&mut self, id: u32, by: i64) -> Result<(), Failure> {
        let stream = self.open.iter_mut().find(|open| open.id == id);
        let window = match (id, stream) {
            (0, _) => &mut self.state.shared,
            (_, Some(stream)) => &mut stream.window,
            _ => return Ok(()),
        };
        *window += by;
        match *window > WIDEST && !self.sins.has("accepts-endless-window") {
            true => failed(Class::Invalid, "a window is too large"),
            false => Ok(()),
        }
    }

    fn more_of_block(&mut self, flags: u8, payload: &[u8]) -> Result<(), Failure> {
        let Some((_, _, count, block)) = &mut self.state.block else {
            return failed(Class::Invalid, "a header block has no beginning");
        };
        *count += 1;
        block.extend(payload);
        self.block(flags)
    }

    fn block(&mut self, flags: u8) -> Result<(), Failure> {
        let Some((_, _, count, block)) = &self.state.block else {
            return Ok(());
        };
        if block.len() > MOST && !self.sins.has("h2-head-without-end") {
            return failed(Class::Invalid, "a head has no end");
        }
        if *count > MOST_FRAMES
            && block.len() <= MOST
            && !self.sins.has("continuations-without-end")
        {
            return failed(Class::Invalid, "a head has too many frames");
        }
        if flags & END_HEADERS == 0 {
            return Ok(());
        }
        let Some((id, first, _, block)) = self.state.block.take() else {
            return Ok(());
        };
        let Some(fields) = self.state.decoder.decode(&block) else {
            return failed(Class::Invalid, "a header block is invalid");
        };
        if id % 2 == 0 && !self.sins.has("accepts-unknown-stream") {
            return failed(
                Class::Invalid,
                "a response comes on a stream that is not open",
            );
        }
        self.head(id, first & END_STREAM != 0, fields);
        Ok(())
    }

    fn head(&mut self, id: u32, end: bool, fields: Vec<Field>) {
        if let Some(wrong) = malformed(&fields, self.sins) {
            if self
                .open
                .iter()
                .any(|open| open.id == id && open.head.is_none())
            {
                return self.end(id, failed(Class::Broken, wrong));
            }
        }
        let status = fields.iter().find(|(name, _)| name == ":status");
        let interim = status.is_some_and(|(_, status)| status.starts_with('1'));
        let interim = interim && !self.sins.has("h2-final-103");
        if let Some(open) = self.open.iter_mut().find(|open| open.id == id) {
            if open.head.is_none() && !interim {
                open.head = Some(fields);
            }
        }
        if end {
            self.finish(id, true);
        }
    }

    fn data(&mut self, id: u32, flags: u8, payload: &[u8], clock: &Clock) -> Result<(), Failure> {
        if id == 0 && !self.sins.has("accepts-data-on-stream-0") {
            return failed(Class::Invalid, "data comes on stream 0");
        }
        let known = self.open.iter_mut().find(|open| open.id == id);
        if let Some(open) = known {
            open.body.extend(payload);
            if !payload.is_empty() {
                let more = u32::try_from(payload.len())
                    .unwrap_or_default()
                    .to_be_bytes();
                let both = [
                    Frame::bytes(WINDOW_UPDATE, 0, 0, &more),
                    Frame::bytes(WINDOW_UPDATE, 0, id, &more),
                ];
                self.connection.write(&both.concat(), clock)?;
            }
        }
        if flags & END_STREAM != 0 {
            self.finish(id, true);
        }
        Ok(())
    }

    /// The response is whole. Its length counts unless a reset ended it.
    fn finish(&mut self, id: u32, counts: bool) {
        let Some(open) = self.open.iter().find(|open| open.id == id) else {
            return;
        };
        let fields = open.head.clone().unwrap_or_default();
        let value = |needed: &str| {
            let found = fields.iter().find(|(name, _)| name == needed);
            found.map(|(_, value)| value.as_str())
        };
        let length = value("content-length").and_then(|length| length.parse::<usize>().ok());
        let differs = |sin: &str| counts && !self.sins.has(sin);
        let wrong = match length {
            Some(length) if length > open.body.len() => differs("h2-accepts-short-body"),
            Some(length) if length < open.body.len() => differs("h2-accepts-long-body"),
            _ => false,
        };
        let early = !open.left.is_empty() && self.sins.has("drops-early-response");
        let outcome = match (wrong, early) {
            (true, _) => failed(Class::Broken, "the body is not as long as it says"),
            (_, true) => failed(Class::Broken, "the request was not sent to its end"),
            _ => Ok(Response {
                status: value(":status")
                    .and_then(|status| status.parse().ok())
                    .unwrap_or(200),
                body: open.body.clone(),
                fields,
            }),
        };
        self.end(id, outcome);
    }

    fn end(&mut self, id: u32, outcome: Outcome) {
        if let Some(at) = self.open.iter().position(|open| open.id == id) {
            let stream = self.open.remove(at);
            self.done[stream.place] = Some(outcome);
        }
    }
}

fn unprocessed<T>() -> Result<T, Failure> {
    failed(Class::Unprocessed, "the server did not process the request")
}

/// Why a head is malformed.
fn malformed(fields: &[Field], sins: &Sins) -> Option<&'static str> {
    let upper = |(name, _): &Field| name.bytes().any(|byte| byte.is_ascii_uppercase());
    if fields.iter().any(upper) && !sins.has("h2-accepts-upper-case") {
        return Some("the name of a field has a capital letter");
    }
    let connection = |(name, _): &Field| name == "connection" || name == "transfer-encoding";
    if fields.iter().any(connection) && !sins.has("h2-accepts-connection") {
        return Some("a field belongs to HTTP/1.1");
    }
    let status = fields.iter().any(|(name, _)| name == ":status");
    (!status && !sins.has("h2-accepts-no-status")).then_some("the head has no status")
}
