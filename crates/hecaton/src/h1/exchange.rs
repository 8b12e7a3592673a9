//! One request on one connection: the request out, the head of the answer in, then its body.
//!
//! The connection is driven here, by the request that owns it, and by nothing else: no task is
//! spawned, so a request that is dropped stops at once and takes its connection with it.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use super::connection::Connection;
use super::incoming::Incoming;
use super::outgoing::{Outgoing, Stopped};
use crate::config::Config;
use crate::message::attempt::{Trace, Version};
use crate::message::broken::Broken;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::head::{Head, HeadReader, HeadRules};
use crate::message::request::Request;
use crate::runtime::timer::PhaseTimer;
use crate::runtime::yield_now::PIECES_PER_TURN;
use crate::transport::tls::explain::explain;

/// Sends `request` over `connection` and reads the head of the answer; the body is still to come.
pub(crate) async fn exchange(
    connection: &mut Connection,
    request: &Request,
    config: &Config,
    trace: &mut Trace,
) -> Result<(Head, Incoming), Broken> {
    trace.attempt().phase = Phase::Send;
    trace.attempt().version = Some(Version::Http1);
    if let Err(reason) = connection.seems_quiet() {
        return Err(match reason {
            Some(why) if !trace.attempt().reused => {
                Broken::Failed(Failure::new(Kind::Tls, Phase::Send, why).for_good())
            }
            _ => Broken::Unsent,
        });
    }
    connection.heard = false;
    let mut outgoing = Outgoing::new(connection, request, config);
    let mut reader = HeadReader::default();
    let mut timer = PhaseTimer::new(config);
    let head = poll_fn(|cx| {
        let write_error = match poll_write(cx, connection, &mut outgoing, trace) {
            Err(Stopped::Body(failure)) => return Poll::Ready(Err(Broken::Failed(failure))),
            // TLS may yet say why, be it that the server demands a certificate.
            Err(_) if !trace.attempt().sent && (trace.attempt().reused || !connection.is_tls()) => {
                return Poll::Ready(Err(Broken::Unsent));
            }
            Err(Stopped::Socket(error)) => Some(error),
            Ok(()) => None,
        };
        match poll_head(cx, connection, &mut reader, (request, config), write_error) {
            Poll::Pending if reader.continued && outgoing.is_held() => {
                outgoing.release();
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => {
                timer.follow(trace.attempt().phase);
                timer.poll(cx).map(|late| Err(Broken::Failed(late)))
            }
            Poll::Ready(head) => Poll::Ready(head.map_err(|mut lost| {
                lost.failure.phase = trace.attempt().phase;
                match lost.ended && !connection.heard {
                    true if trace.attempt().reused => Broken::Stale(lost.failure),
                    true => Broken::opening(lost.failure),
                    false => Broken::Failed(lost.failure),
                }
            })),
        }
    })
    .await?;
    trace.attempt().first_byte = trace.lap();
    trace.attempt().phase = Phase::Read;
    let incoming = Incoming::new(&head, outgoing, request.asks.closes);
    Ok((head, incoming))
}

/// Writes what the socket takes, and notes the moment when the request was out.
fn poll_write(
    cx: &mut Context<'_>,
    connection: &mut Connection,
    outgoing: &mut Outgoing,
    trace: &mut Trace,
) -> Result<(), Stopped> {
    if outgoing.is_done() {
        return Ok(());
    }
    let result = outgoing.poll_write(cx, connection);
    trace.attempt().sent |= outgoing.has_begun();
    if outgoing.is_done() {
        trace.attempt().send = trace.lap();
        trace.attempt().phase = Phase::FirstByte;
    }
    result
}

/// Why there is no head, and whether that is because the connection ended. The phase is the caller's to set.
struct Lost {
    failure: Failure,
    ended: bool,
}

/// Reads until the head is there, which may be before the request is out.
fn poll_head(
    cx: &mut Context<'_>,
    connection: &mut Connection,
    reader: &mut HeadReader,
    (request, config): (&Request, &Config),
    write_error: Option<io::Error>,
) -> Poll<Result<Head, Lost>> {
    let rules = HeadRules {
        method: &request.method,
        upgrades: request.asks.upgrades,
        most_fields: config.max_header_fields,
        most_bytes: config.max_header_bytes,
    };
    let mut pieces = 0;
    loop {
        match reader.take(rules, &mut connection.input) {
            Err(why) => {
                let failure = Failure::new(Kind::Protocol, Phase::FirstByte, why.to_string());
                return Poll::Ready(Err(Lost {
                    failure: failure.for_good(),
                    ended: false,
                }));
            }
            Ok(Some(head)) => return Poll::Ready(Ok(head)),
            Ok(None) => {}
        }
        match connection.poll_fill(cx) {
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(ended(write_error))),
            // Interim answers without end must not keep deadlines and others from their turn.
            Poll::Ready(Ok(_)) if pieces == PIECES_PER_TURN => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(Ok(_)) => pieces += 1,
            Poll::Ready(Err(error)) => return Poll::Ready(Err(ended(Some(error)))),
            // The request cannot be finished. A server that answered early and hung up has said all that it
            // will, and the kernel has it, though the reactor may not have heard of it yet.
            Poll::Pending if write_error.is_some() => {
                if !connection.rescue() {
                    return Poll::Ready(Err(ended(write_error)));
                }
            }
            Poll::Pending => return Poll::Pending,
        }
    }
}

/// Why there will be no response. TLS 1.3 lets a server refuse the client after the handshake.
fn ended(error: Option<io::Error>) -> Lost {
    let failure = |kind, detail: String| Failure::new(kind, Phase::FirstByte, detail);
    let what = "the connection ended before a response";
    let (failure, ended) = match error.as_ref().map(|error| (error, explain(error))) {
        None => (failure(Kind::Protocol, what.into()), true),
        Some((_, Some(why))) => (failure(Kind::Tls, why).for_good(), false),
        Some((error, None)) => {
            let failure = failure(Kind::Protocol, format!("{what}: {error}"));
            (failure.because(error), true)
        }
    };
    Lost { failure, ended }
}
