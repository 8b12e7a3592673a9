//! HTTP/3 to an origin that announced it, and TCP beside it if it does not respond soon: the first connection wins.
//!
//! Only connections race, and a request is sent on the winner alone, so none is sent twice. An origin that TCP reaches
//! first is left alone over HTTP/3 for a while, because UDP is probably blocked on the way.

use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::time::sleep;

use super::alternatives::Alternatives;
use super::open::{NewConnection, open_tcp};
use super::{Common, Session};
use crate::h3::link::Link;
use crate::h3::permit::Session as Http3;
use crate::message::attempt::Trace;
use crate::message::failure::Failure;
use crate::transport::quic::Quic;
use crate::transport::{Connector, Dial};

/// How long QUIC is tried alone, as one address of several is (RFC 8305 §5).
const HEAD_START: Duration = Duration::from_millis(250);

/// The connection that was open first.
enum Winner<T> {
    Quic(Quic),
    Tcp(Result<(T, NewConnection), Failure>),
}

/// Opens a connection to an origin that announced HTTP/3 on this port.
pub(super) async fn race<T>(
    connector: &Connector,
    common: &Common,
    alternatives: &Alternatives,
    port: u16,
    dial: &mut Dial<'_>,
    number: impl Fn(&mut Trace) -> T,
) -> Result<(T, NewConnection), Failure> {
    let mut beside = Trace::new(dial.trace.deadline.limit);
    beside.begin();
    let winner = {
        let mut other = Dial {
            trace: &mut beside,
            ..*dial
        };
        let mut quic = pin!(connector.open_quic(&mut other, port));
        let early = select! {
            biased;
            opened = &mut quic => Some(opened),
            () = sleep(HEAD_START) => None,
        };
        let tcp = open_tcp(connector, common, dial, &number);
        match early {
            Some(Ok(quic)) => Winner::Quic(quic),
            Some(Err(_)) => Winner::Tcp(tcp.await),
            None => both(quic, tcp).await,
        }
    };
    match winner {
        Winner::Quic(quic) => {
            alternatives.worked(dial.origin);
            take_over(dial.trace, &mut beside);
            begin(quic, dial, number)
        }
        Winner::Tcp(opened) => {
            alternatives.failed(dial.origin, Instant::now());
            opened
        }
    }
}

/// Notes in a request's trace what the connection over QUIC took, in place of that over TCP.
fn take_over(trace: &mut Trace, quic: &mut Trace) {
    let known = quic.attempt().clone();
    trace.lap();
    let attempt = trace.attempt();
    attempt.facts = known.facts;
    attempt.resolve_time = known.resolve_time;
    attempt.connect_time = known.connect_time;
    attempt.tls_time = None;
}

/// The first of both that succeeds. If both fail, TCP says why.
async fn both<T>(
    mut quic: impl Future<Output = Result<Quic, Failure>> + Unpin,
    tcp: impl Future<Output = Result<(T, NewConnection), Failure>>,
) -> Winner<T> {
    let mut tcp = pin!(tcp);
    select! {
        biased;
        opened = &mut quic => match opened {
            Ok(quic) => Winner::Quic(quic),
            Err(_) => Winner::Tcp(tcp.await),
        },
        opened = &mut tcp => match opened {
            Ok(opened) => Winner::Tcp(Ok(opened)),
            Err(failure) => match quic.await {
                Ok(quic) => Winner::Quic(quic),
                Err(_) => Winner::Tcp(Err(failure)),
            },
        },
    }
}

/// Begins HTTP/3 on a connection.
pub(super) fn begin<T>(
    quic: Quic,
    dial: &mut Dial<'_>,
    number: impl Fn(&mut Trace) -> T,
) -> Result<(T, NewConnection), Failure> {
    let ticket = number(dial.trace);
    let link = Link::open(quic, dial.config)?;
    let session = Session::Http3(Http3::new(link));
    Ok((ticket, NewConnection::Shared(session)))
}
