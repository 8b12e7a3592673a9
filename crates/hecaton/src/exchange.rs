//! One request on one connection, from the first byte out to the last byte of the body in.
//!
//! The connection is driven here, by the request that owns it, and by nothing else: no task is
//! spawned, so a request that is dropped stops at once and takes its connection with it.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;

use crate::attempt::Trace;
use crate::config::Config;
use crate::connection::Connection;
use crate::error::{Failure, Kind, Phase};
use crate::h1::{BodyError, BodyReader, Head, HeadReader, encode};
use crate::request::Request;
use crate::timer::PhaseTimer;

/// How many pieces of one answer are read before others have their turn; a piece is what one read
/// brings, at most 64 KiB.
const PIECES_PER_TURN: u32 = 8;

pub(crate) struct Answer {
    pub status: u16,
    pub fields: Vec<u8>,
    pub body: Bytes,
    /// Whether the connection may carry another request.
    pub reusable: bool,
}

/// Why there is no answer.
pub(crate) enum Broken {
    /// The connection was closed before a byte of the request was written.
    Unsent,
    Failed(Failure),
}

impl Broken {
    pub fn into_failure(self) -> Failure {
        match self {
            Broken::Failed(failure) => failure,
            Broken::Unsent => {
                let detail = "the connection was closed before the request could be written";
                Failure::new(Kind::Protocol, Phase::Send, detail)
            }
        }
    }
}

/// Sends `request` over `connection` and reads the answer whole.
pub(crate) async fn exchange(
    connection: &mut Connection,
    request: &Request,
    config: &Config,
    trace: &mut Trace,
) -> Result<Answer, Broken> {
    trace.attempt().phase = Phase::Send;
    if connection.seems_readable() {
        return Err(Broken::Unsent);
    }
    let mut writer = Writer::new(connection, request, &config.user_agent);
    let mut timer = PhaseTimer::new(config);
    let head = poll_fn(|cx| match writer.poll(cx, connection, request, trace) {
        Poll::Pending => {
            timer.follow(trace.attempt().phase);
            timer.poll(cx).map(|late| Err(Broken::Failed(late)))
        }
        ready => ready,
    })
    .await?;
    let sent_whole = writer.is_done(request);
    trace.attempt().phase = Phase::Read;
    let body = body(connection, &head, config, &mut timer, &mut writer, request)
        .await
        .map_err(Broken::Failed)?;
    connection.output = writer.output;
    trace.attempt().read = trace.lap();
    // An answer that came before the whole request was out may leave the rest of it unsent, and
    // bytes behind the answer belong to nothing: neither connection is used again.
    let reusable = head.keep_alive && !request.closes && sent_whole && connection.input.is_empty();
    Ok(Answer {
        status: head.status,
        fields: head.fields,
        body,
        reusable,
    })
}

/// Writes a request while it waits for the head of the response, which may come before the end.
struct Writer {
    output: Vec<u8>,
    written: usize,
    /// Whether the body is part of the output.
    whole: bool,
    reader: HeadReader,
}

impl Writer {
    fn new(connection: &mut Connection, request: &Request, user_agent: &str) -> Writer {
        let mut output = std::mem::take(&mut connection.output);
        output.clear();
        let whole = encode(request, user_agent, &mut output);
        Writer {
            output,
            written: 0,
            whole,
            reader: HeadReader::default(),
        }
    }

    fn is_done(&self, request: &Request) -> bool {
        self.remaining(request).is_empty()
    }

    /// What is to be written next.
    fn remaining<'a>(&'a self, request: &'a Request) -> &'a [u8] {
        match self.written.checked_sub(self.output.len()) {
            None => &self.output[self.written..],
            Some(_) if self.whole => &[],
            Some(written) => &request.body[written..],
        }
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        request: &Request,
        trace: &mut Trace,
    ) -> Poll<Result<Head, Broken>> {
        let failed = |trace: &mut Trace, detail: String| {
            let phase = trace.attempt().phase;
            Poll::Ready(Err(Broken::Failed(Failure::new(
                Kind::Protocol,
                phase,
                detail,
            ))))
        };
        let write_error = match self.poll_write(cx, connection, request, trace) {
            Err(_) if !trace.attempt().sent => return Poll::Ready(Err(Broken::Unsent)),
            result => result.err(),
        };
        let mut pieces = 0;
        loop {
            match self.reader.take(&request.method, &mut connection.input) {
                Err(detail) => {
                    return failed(
                        trace,
                        format!("what came is not an HTTP response: {detail}"),
                    );
                }
                Ok(Some(head)) => {
                    trace.attempt().first_byte = trace.lap();
                    return Poll::Ready(Ok(head));
                }
                Ok(None) => {}
            }
            match connection.poll_fill(cx) {
                Poll::Ready(Ok(0)) => return failed(trace, ended(write_error)),
                // Interim answers without end must not keep deadlines and others from their turn.
                Poll::Ready(Ok(_)) if pieces == PIECES_PER_TURN => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(Ok(_)) => pieces += 1,
                Poll::Ready(Err(error)) => return failed(trace, ended(Some(error))),
                // Nothing came, and nothing will if the request can not be finished.
                Poll::Pending => match write_error {
                    Some(error) => return failed(trace, ended(Some(error))),
                    None => return Poll::Pending,
                },
            }
        }
    }

    /// Writes what the socket takes.
    fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        connection: &mut Connection,
        request: &Request,
        trace: &mut Trace,
    ) -> io::Result<()> {
        while !self.is_done(request) {
            match connection.poll_write(cx, self.remaining(request)) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => self.written += count,
                Poll::Ready(Err(error)) => return Err(error),
            }
            trace.attempt().sent = true;
            if self.is_done(request) {
                trace.attempt().send = trace.lap();
                trace.attempt().phase = Phase::FirstByte;
            }
        }
        Ok(())
    }

    /// Writes on when the head of the answer is there already. Errors do not matter any more: the
    /// answer decides.
    fn poll_rest(&mut self, cx: &mut Context<'_>, connection: &mut Connection, request: &Request) {
        while !self.is_done(request) {
            match connection.poll_write(cx, self.remaining(request)) {
                Poll::Ready(Ok(count)) if count > 0 => self.written += count,
                _ => return,
            }
        }
    }
}

/// Reads the body to its end, and writes what is left of the request meanwhile: a server that
/// answers while it reads (an echo, a filter) would wait for it for ever.
async fn body(
    connection: &mut Connection,
    head: &Head,
    config: &Config,
    timer: &mut PhaseTimer<'_>,
    writer: &mut Writer,
    request: &Request,
) -> Result<Bytes, Failure> {
    let max_body = config.max_body;
    let failed = |error| failure(error, max_body);
    let mut reader = BodyReader::new(head.framing, max_body).map_err(failed)?;
    // A server that reports an error and hangs up does not want the rest (RFC 9112 §9.5); sending it
    // could only bring a reset that swallows the answer.
    let unwanted = head.status >= 400 && !head.keep_alive;
    let mut pieces = 0_u32;
    while !reader.take(&mut connection.input).map_err(failed)? {
        pieces = pieces.wrapping_add(1);
        if pieces % PIECES_PER_TURN == 0 {
            give_way().await;
        }
        timer.restart(Phase::Read);
        let filled = poll_fn(|cx| {
            if !unwanted {
                writer.poll_rest(cx, connection, request);
            }
            match connection.poll_fill(cx) {
                Poll::Pending => timer.poll(cx).map(Err),
                ready => ready.map(Ok),
            }
        });
        match filled.await? {
            Ok(0) => {
                reader.end().map_err(failed)?;
                break;
            }
            Ok(_) => {}
            Err(error) => {
                let detail = format!("the body was cut short: {error}");
                return Err(Failure::new(Kind::Body, Phase::Read, detail));
            }
        }
    }
    Ok(reader.into_body())
}

/// Lets the other requests have a turn.
async fn give_way() {
    let mut given = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

fn ended(error: Option<io::Error>) -> String {
    match error {
        Some(error) => format!("the connection ended before a response: {error}"),
        None => "the connection ended before a response".into(),
    }
}

fn failure(error: BodyError, max_body: usize) -> Failure {
    let detail = match error {
        BodyError::TooLarge => format!("the body is larger than the allowed {max_body} bytes"),
        BodyError::CutShort => "the body was cut short: the connection ended before it did".into(),
        BodyError::Malformed(what) => format!("the body can not be read: {what}"),
    };
    Failure::new(Kind::Body, Phase::Read, detail)
}
