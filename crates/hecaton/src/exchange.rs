//! One request on one connection, from the first byte out to the last byte of the body in.
//!
//! The connection is driven here, by the request that owns it, and by nothing else: no task is
//! spawned, so a request that is dropped stops at once and takes its connection with it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use hyper::body::{Body, Incoming};

use crate::attempt::Trace;
use crate::error::{Failure, Kind, Phase};
use crate::pool::Connection;
use crate::request::Wire;

/// How many pieces of one body are read before others have their turn; a piece is what one read
/// brings, some 8 to 400 KiB.
const PIECES_PER_TURN: u32 = 8;

pub(crate) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether the connection may carry another request.
    pub reusable: bool,
}

/// Why there is no answer.
pub(crate) enum Broken {
    /// The connection was closed before a byte of the request was written; the request comes back.
    Unsent(Box<Wire>),
    Failed(Failure),
}

impl Broken {
    pub fn into_failure(self) -> Failure {
        match self {
            Broken::Failed(failure) => failure,
            Broken::Unsent(_) => {
                let detail = "the connection was closed before the request could be written";
                Failure::new(Kind::Protocol, Phase::Send, detail)
            }
        }
    }
}

/// Sends `request` over `connection` and reads the answer whole, at most `max_body` bytes of body.
pub(crate) async fn exchange(
    connection: &mut Connection,
    request: Box<Wire>,
    max_body: usize,
    trace: &mut Trace,
) -> Result<Answer, Broken> {
    trace.attempt().phase = Phase::Send;
    let (head, body) = head(connection, request, trace).await?.into_parts();
    trace.attempt().phase = Phase::Read;
    let body = read(connection, body, max_body)
        .await
        .map_err(Broken::Failed)?;
    let reusable = poll_fn(|cx| Poll::Ready(connection.is_ready(cx))).await;
    trace.attempt().read = trace.lap();
    Ok(Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
        reusable,
    })
}

/// Writes the request and waits for the head of the response.
async fn head(
    connection: &mut Connection,
    request: Box<Wire>,
    trace: &mut Trace,
) -> Result<http::Response<Incoming>, Broken> {
    let before = connection.watch.written();
    let mut response = pin!(connection.sender.try_send_request(*request));
    let result = poll_fn(|cx| {
        connection.drive(cx);
        if !trace.attempt().sent && connection.watch.written() > before {
            let send = trace.lap();
            let attempt = trace.attempt();
            (attempt.sent, attempt.send, attempt.phase) = (true, send, Phase::FirstByte);
        }
        response.as_mut().poll(cx)
    })
    .await;
    let waited = trace.lap();
    let attempt = trace.attempt();
    if attempt.sent {
        attempt.first_byte = waited;
    }
    result.map_err(|mut error| match error.take_message() {
        Some(request) if !attempt.sent => Broken::Unsent(Box::new(request)),
        _ => {
            let detail = no_answer(&error.into_error());
            Broken::Failed(Failure::new(Kind::Protocol, attempt.phase, detail))
        }
    })
}

/// Reads the body to its end.
async fn read(
    connection: &mut Connection,
    mut body: Incoming,
    max_body: usize,
) -> Result<Bytes, Failure> {
    if body.size_hint().lower() > max_body as u64 {
        return Err(too_large(max_body));
    }
    let mut gathered = Gathered::default();
    let mut pieces = 0_u32;
    loop {
        pieces = pieces.wrapping_add(1);
        if pieces % PIECES_PER_TURN == 0 {
            give_way().await;
        }
        let frame = poll_fn(|cx| {
            // First the socket, then what it brought: the body only passes on what the driver read.
            if let Poll::Ready(frame) = Pin::new(&mut body).poll_frame(cx) {
                return Poll::Ready(frame);
            }
            connection.drive(cx);
            Pin::new(&mut body).poll_frame(cx)
        })
        .await;
        match frame {
            None => return Ok(gathered.whole()),
            Some(Err(error)) => {
                return Err(Failure::new(Kind::Body, Phase::Read, cut_short(&error)));
            }
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    gathered.add(data);
                }
            }
        }
        if gathered.len() > max_body {
            return Err(too_large(max_body));
        }
    }
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

/// The pieces of a body; the usual single piece is passed on without a copy.
#[derive(Default)]
struct Gathered {
    first: Bytes,
    more: BytesMut,
}

impl Gathered {
    fn add(&mut self, data: Bytes) {
        if self.len() == 0 {
            self.first = data;
        } else {
            if self.more.is_empty() {
                self.more
                    .extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.more.extend_from_slice(&data);
        }
    }

    fn len(&self) -> usize {
        self.first.len() + self.more.len()
    }

    fn whole(self) -> Bytes {
        if self.more.is_empty() {
            self.first
        } else {
            self.more.freeze()
        }
    }
}

fn no_answer(error: &hyper::Error) -> String {
    if error.is_parse() {
        format!("what came is not an HTTP response: {}", reasons(error))
    } else {
        format!("the connection ended before a response: {}", reasons(error))
    }
}

fn cut_short(error: &hyper::Error) -> String {
    format!("the body was cut short: {}", reasons(error))
}

fn too_large(max_body: usize) -> Failure {
    let detail = format!("the body is larger than the allowed {max_body} bytes");
    Failure::new(Kind::Body, Phase::Read, detail)
}

/// An error and its causes in one line.
fn reasons(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
