//! One request on one connection: the request is sent, the head of the response is read, then its body.
//!
//! The request that owns the connection drives it, and nothing else does. No task is spawned. So a request that is
//! dropped stops at once and closes its connection.

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
use crate::message::reason::Reason;
use crate::message::request::Request;
use crate::runtime::timer::PhaseTimer;
use crate::runtime::yield_now::PIECES_PER_TURN;
use crate::transport::tls::explain::explain;
use crate::transport::wire::Waiting;

/// Sends `request` over `connection` and reads the head of the response; the body is still to come.
pub(crate) async fn exchange(
    connection: &mut Connection,
    request: &Request,
    config: &Config,
    trace: &mut Trace,
) -> Result<(Head, Incoming), Broken> {
    trace.attempt().phase = Phase::Send;
    trace.attempt().version = Some(Version::Http1);
    // The pool has just looked at a reused connection.
    let early = !trace.attempt().reused && has_sent_early(connection)?;
    connection.received = false;
    let mut exchange = Exchange {
        outgoing: Outgoing::new(connection, request, config),
        connection,
        rules: head_rules(request, config),
        reader: HeadReader::default(),
        timer: PhaseTimer::new(config),
    };
    let head = poll_fn(|cx| exchange.poll(cx, trace)).await?;
    trace.attempt().first_byte_time = trace.lap();
    trace.attempt().phase = Phase::Read;
    let closes = request.flags.closes || early;
    let incoming = Incoming::new(&head, exchange.outgoing, closes);
    Ok((head, incoming))
}

/// Whether the server has sent something on a new connection before the request. It may be the response of a server
/// that is too busy to read. The connection then carries no other request, because the server may also respond to this
/// one.
fn has_sent_early(connection: &mut Connection) -> Result<bool, Broken> {
    match connection.waiting() {
        Waiting::Nothing => Ok(false),
        Waiting::Data => Ok(true),
        Waiting::End(None) => Err(Broken::Unsent),
        Waiting::End(Some(why)) => Err(Broken::Failed(why.failure(Phase::Send).for_good())),
    }
}

/// Why there is no head, and whether the connection ended. The caller sets the phase.
struct Lost {
    failure: Failure,
    ended: bool,
}

fn head_rules<'a>(request: &'a Request, config: &Config) -> HeadRules<'a> {
    HeadRules {
        method: &request.method,
        upgrades: request.flags.upgrades,
        most_fields: config.max_header_fields,
        most_bytes: config.max_header_bytes,
        lenient: config.lenient,
    }
}

/// A request under way, until the head of its response is there.
struct Exchange<'a> {
    connection: &'a mut Connection,
    rules: HeadRules<'a>,
    outgoing: Outgoing,
    reader: HeadReader,
    timer: PhaseTimer<'a>,
}

impl Exchange<'_> {
    /// Writes and reads as far as the socket allows.
    fn poll(&mut self, cx: &mut Context<'_>, trace: &mut Trace) -> Poll<Result<Head, Broken>> {
        let write_error = match self.poll_write(cx, trace) {
            Err(Stopped::Body(failure)) => return Poll::Ready(Err(Broken::Failed(failure))),
            Err(_) if !trace.attempt().sent && trace.attempt().reused => {
                return Poll::Ready(Err(Broken::Unsent));
            }
            // Bytes on a new connection may be a response, or TLS refusing the client.
            Err(Stopped::Socket(error)) => Some(error),
            Ok(()) => None,
        };
        match self.poll_head(cx, write_error) {
            Poll::Pending if self.reader.continued && self.outgoing.is_held() => {
                self.outgoing.release();
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => {
                self.timer.follow(trace.attempt().phase);
                self.timer.poll(cx).map(|late| Err(Broken::Failed(late)))
            }
            Poll::Ready(head) => Poll::Ready(head.map_err(|lost| self.broken(lost, trace))),
        }
    }

    /// Writes what the socket takes, and notes the moment when the request was out.
    fn poll_write(&mut self, cx: &mut Context<'_>, trace: &mut Trace) -> Result<(), Stopped> {
        if self.outgoing.is_done() {
            return Ok(());
        }
        let result = self.outgoing.poll_write(cx, self.connection);
        trace.attempt().sent |= self.outgoing.has_begun();
        if self.outgoing.is_done() {
            trace.attempt().send_time = trace.lap();
            trace.attempt().phase = Phase::FirstByte;
            self.outgoing.drop_written();
        }
        result
    }

    /// Reads until the head is there, which may be before the request is out.
    fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        write_error: Option<io::Error>,
    ) -> Poll<Result<Head, Lost>> {
        let mut pieces = 0;
        loop {
            match self.reader.take(self.rules, &mut self.connection.input) {
                Err(why) => {
                    let failure = Failure::new(Kind::Protocol, Phase::FirstByte, why.to_string());
                    return Poll::Ready(Err(Lost {
                        failure: failure.for_reason(why.reason()).for_good(),
                        ended: false,
                    }));
                }
                Ok(Some(head)) => return Poll::Ready(Ok(head)),
                Ok(None) => {}
            }
            match self.connection.poll_fill(cx) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ended(write_error))),
                // Endless interim responses must not delay deadlines and other requests.
                Poll::Ready(Ok(_)) if pieces == PIECES_PER_TURN => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Poll::Ready(Ok(_)) => pieces += 1,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(ended(Some(error)))),
                // The request cannot be finished. A server that responded early and hung up sends nothing more. The
                // kernel has its response, though the reactor may not have seen it yet.
                Poll::Pending if write_error.is_some() => {
                    if !self.connection.rescue() {
                        return Poll::Ready(Err(ended(write_error)));
                    }
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// How the attempt ends without a head.
    fn broken(&self, mut lost: Lost, trace: &mut Trace) -> Broken {
        lost.failure.phase = trace.attempt().phase;
        match lost.ended && !self.connection.received {
            true if !trace.attempt().sent && !self.connection.is_tls() => Broken::Unsent,
            true => Broken::Ended(lost.failure),
            false => Broken::Failed(lost.failure),
        }
    }
}

/// Why there will be no response. TLS 1.3 lets a server refuse the client after the handshake.
fn ended(error: Option<io::Error>) -> Lost {
    if let Some(why) = error.as_ref().and_then(explain) {
        return Lost {
            failure: why.failure(Phase::FirstByte).for_good(),
            ended: false,
        };
    }
    let failure = |detail: String| Failure::new(Kind::Protocol, Phase::FirstByte, detail);
    let what = "the connection ended before a response";
    let failure = match &error {
        None => failure(what.into()),
        Some(error) => failure(format!("{what}: {error}")).because(error),
    };
    Lost {
        failure: failure.for_reason(Reason::ConnectionClosed),
        ended: true,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream as Peer;
    use std::time::Duration;

    use tokio::net::UnixStream;

    use super::*;
    use crate::Reactor;
    use crate::runtime::descriptors::Noted;
    use crate::transport::pipe::Pipe;
    use crate::transport::wire::{Socket, Wire};

    /// The result of a request on a new connection on which these bytes came first: the status and whether the
    /// connection may be reused. `seen` is whether the reactor has seen the bytes.
    fn after(come: &[u8], ends: bool, seen: bool) -> Result<(u16, bool), Failure> {
        let config = Config::new(Duration::from_secs(10));
        Reactor::new().unwrap().block_on(async {
            let (own, mut peer) = Peer::pair().unwrap();
            own.set_nonblocking(true).unwrap();
            let own = UnixStream::from_std(own).unwrap();
            peer.write_all(come).unwrap();
            let _open = (!ends).then_some(peer);
            if seen {
                own.readable().await.unwrap();
            }
            let wire = Wire::Plain(Socket::new(Pipe::Unix(Noted::new(own))));
            let mut connection = Connection::new(wire, None);
            let mut trace = Trace::new(Duration::from_secs(10));
            trace.begin();
            let request = Request::get("http://localhost/").unwrap();
            let result = exchange(&mut connection, &request, &config, &mut trace).await;
            let (head, mut incoming) = result.map_err(Broken::into_failure)?;
            incoming.whole(&mut connection, &config).await?;
            Ok((head.status, incoming.finish(&mut connection)))
        })
    }

    #[test]
    fn bytes_on_a_new_connection_are_its_first_and_last_response() {
        const BUSY: &[u8] = b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy";
        for seen in [false, true] {
            for ends in [false, true] {
                assert_eq!(after(BUSY, ends, seen).unwrap(), (503, false));
            }
            let failure = after(b"", true, seen).unwrap_err();
            assert_eq!(failure.phase, Phase::Send);
            assert!(
                failure
                    .detail
                    .contains("before the request could be written")
            );
            let failure = after(b"HTTP/1.1 2", true, seen).unwrap_err();
            assert!(failure.detail.contains("ended before a response"));
        }
    }
}
