//! The body of a response on its way in, and the unsent rest of the request.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf, Bytes};

use super::body::{BodyError, BodyFraming, Ready};
use super::connection::Connection;
use super::outgoing::{Outgoing, Stopped};
use crate::config::Config;
use crate::content::buffered::Share;
use crate::content::growing::{Growing, grown, too_large};
use crate::message::failure::{Failure, Kind, Phase, came_of};
use crate::message::fields::Trailers;
use crate::message::framing::Framing;
use crate::message::head::Head;
use crate::message::reason::Reason;
use crate::runtime::timer::PhaseTimer;
use crate::runtime::yield_now::{PIECES_PER_TURN, yield_now};

/// From this length on, a body of known length stays in the buffer that it was read to. Splitting a buffer costs as
/// much as copying some kilobytes.
const LEFT_IN_PLACE: u64 = 4 << 10;

/// At most this much memory is allocated ahead of a body whose length is known.
const MOST_AHEAD: u64 = 64 << 10;

/// The rest of an exchange after the head of the response.
pub(crate) struct Incoming {
    reader: BodyFraming,
    /// The request, which a server may respond to before it has read it. The rest is written meanwhile, because a
    /// server that responds while it reads (an echo, a filter) would otherwise wait for it for ever.
    outgoing: Outgoing,
    /// Whether the server does not need the rest of the request.
    unwanted: bool,
    /// Whether the connection may carry another request once the body is whole.
    keep_alive: bool,
    /// How long the server says that it keeps the connection.
    keep_alive_timeout: Option<u16>,
    /// Whether the connection ended before the body did.
    cut: bool,
}

impl Incoming {
    pub fn new(head: &Head, outgoing: Outgoing, closes: bool) -> Incoming {
        Incoming {
            reader: BodyFraming::new(head.framing),
            // A server that reports an error and hangs up does not read the rest (RFC 9112 §9.5). Sending it
            // could only cause a reset that destroys the response. So does a server that responds instead of
            // sending `100 Continue`.
            unwanted: (head.status >= 400 && !head.keep_alive) || outgoing.is_held(),
            // A response that came before the whole request was sent may leave the rest unsent.
            keep_alive: head.keep_alive && !closes && outgoing.is_done(),
            keep_alive_timeout: head.keep_alive_timeout,
            cut: false,
            outgoing,
        }
    }

    /// Reads the whole body, of at most `max_body` bytes.
    pub async fn whole(
        &mut self,
        connection: &mut Connection,
        config: &Config,
    ) -> Result<Bytes, Failure> {
        let mut body = self.room(std::mem::take(&mut connection.share), config)?;
        let mut timer = PhaseTimer::new(config);
        let mut pieces = 0_u32;
        // The steps are outside of the future, which stays small.
        loop {
            if let Some(whole) = self.take_ready(connection, &mut body, config)? {
                return Ok(whole);
            }
            pieces = pieces.wrapping_add(1);
            if pieces.is_multiple_of(PIECES_PER_TURN) {
                yield_now().await;
            }
            self.fill(connection, &mut timer).await?;
        }
    }

    /// A buffer for the whole body, or an error if its length is too large. A length is only a promise, so memory
    /// beyond the usual is allocated as the bytes come.
    fn room(&self, share: Share, config: &Config) -> Result<Growing, Failure> {
        let most = config.max_body;
        match self.reader.expected() {
            expected if expected > most as u64 => Err(too_large(most)),
            LEFT_IN_PLACE.. => Ok(Growing::new(share, most, 0)),
            expected => Ok(Growing::new(share, most, expected as usize)),
        }
    }

    /// Takes the bytes that have come; returns the body once it is whole.
    fn take_ready(
        &mut self,
        connection: &mut Connection,
        body: &mut Growing,
        config: &Config,
    ) -> Result<Option<Bytes>, Failure> {
        loop {
            let expected = self.reader.expected();
            let ready = self.reader.ready(&mut connection.input, config);
            match ready.map_err(BodyError::into_failure)? {
                // `room` has refused a length that is too large.
                Ready::Data(count) if body.len() == 0 && expected >= LEFT_IN_PLACE => {
                    if (count as u64) < expected {
                        make_room(connection, body, count, expected)?;
                        return Ok(None);
                    }
                    body.count(count)?;
                    self.reader.taken(count);
                    return Ok(Some(connection.take_input(count).freeze()));
                }
                Ready::Data(count) => {
                    body.add(&connection.input[..count], config.max_body, 0)?;
                    connection.input.advance(count);
                    self.reader.taken(count);
                }
                Ready::Wanting => return Ok(None),
                Ready::End => return Ok(Some(body.take())),
            }
        }
    }

    /// Reads the next piece of the body, none at its end. Nothing is lost when the future is dropped.
    pub async fn piece(
        &mut self,
        connection: &mut Connection,
        config: &Config,
    ) -> Result<Option<Bytes>, Failure> {
        let mut timer = PhaseTimer::new(config);
        loop {
            let ready = self.reader.ready(&mut connection.input, config);
            match ready.map_err(BodyError::into_failure)? {
                Ready::Data(count) => {
                    self.reader.taken(count);
                    return Ok(Some(connection.split_input(count).freeze()));
                }
                Ready::Wanting => self.fill(connection, &mut timer).await?,
                Ready::End => return Ok(None),
            }
        }
    }

    /// Whether all of the body has been taken. The next `piece` reports an invalid end.
    pub fn is_whole(&mut self, connection: &mut Connection, config: &Config) -> bool {
        self.reader.ready(&mut connection.input, config) == Ok(Ready::End)
    }

    /// The trailers of a body that is whole. Only the first call returns them.
    pub fn take_trailers(&mut self) -> Trailers {
        self.reader.take_trailers()
    }

    /// Makes the connection ready for another request; false if it cannot carry one.
    pub fn finish(&mut self, connection: &mut Connection) -> bool {
        self.outgoing.give_back(connection);
        connection.keep_alive_timeout = self
            .keep_alive_timeout
            .map(|s| Duration::from_secs(s.into()));
        // Bytes after the response belong to no request.
        let usable = self.keep_alive && self.reader.is_strict() && connection.input.is_empty();
        connection.release_input();
        usable
    }

    /// Adds to the failure of a body that was cut short how many bytes came. The caller passes the framing, so that
    /// this struct stays small.
    pub fn with_received(
        &self,
        mut failure: Failure,
        framing: Framing,
        connection: &Connection,
    ) -> Failure {
        if let (true, Framing::Length(length)) = (self.cut, framing) {
            let received = length - self.reader.expected() + connection.input.len() as u64;
            failure.detail = format!("the body was cut short: {}", came_of(received, length));
        }
        failure
    }

    /// Waits until more has arrived, or the body has ended with its connection.
    async fn fill(
        &mut self,
        connection: &mut Connection,
        timer: &mut PhaseTimer<'_>,
    ) -> Result<(), Failure> {
        timer.restart(Phase::Read);
        let filled = poll_fn(|cx| {
            if !self.unwanted {
                // Errors of the socket do not matter any more: the response decides.
                if let Err(Stopped::Body(failure)) = self.outgoing.poll_write(cx, connection) {
                    return Poll::Ready(Err(failure));
                }
            }
            match connection.poll_fill(cx) {
                Poll::Pending => timer.poll(cx).map(Err),
                ready => ready.map(Ok),
            }
        });
        match filled.await? {
            Ok(0) => {
                let ended = self.reader.end();
                self.cut = ended.is_err();
                ended.map_err(BodyError::into_failure)
            }
            Ok(_) => Ok(()),
            Err(error) => {
                let detail = format!("the body was cut short: {error}");
                let failure = Failure::new(Kind::Body, Phase::Read, detail);
                Err(failure.because(&error).for_reason(Reason::BodyCutShort))
            }
        }
    }
}

/// Makes room in the input for the rest of a body that stays there. The buffer of the first reads is as large for every
/// response, so only the bytes in it count.
fn make_room(
    connection: &mut Connection,
    body: &mut Growing,
    count: usize,
    expected: u64,
) -> Result<(), Failure> {
    let ahead = (expected - count as u64).min(MOST_AHEAD) as usize;
    let capacity = connection.input.capacity();
    let needed = count + ahead;
    if needed <= capacity {
        return body.count(count);
    }
    let memory = grown(capacity, needed, expected as usize);
    body.count(memory)?;
    connection.grow_input(memory);
    Ok(())
}
