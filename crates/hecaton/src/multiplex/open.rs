//! A new connection for the requests to an origin: one that they share, or one of HTTP/1.1 if the server supports only
//! that.

use std::sync::Arc;

use super::{Common, Session};
use crate::config::Protocol;
use crate::h2::link::Link;
use crate::h2::session::Session as Http2;
use crate::message::attempt::Trace;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::origin::Scheme;
use crate::transport::proxy::Forward;
use crate::transport::tls::Offer;
use crate::transport::wire::Wire;
use crate::transport::{Connector, Dial, Opened};

/// What was opened.
pub(crate) enum NewConnection {
    Shared(Session),
    Http1(Wire, Option<Arc<Forward>>),
}

/// Opens a connection, and begins the protocol on it. `number` is called once a connection is open; TLS may still fail,
/// and another connection be quicker.
pub(crate) async fn open<T>(
    connector: &Connector,
    common: &Common,
    dial: &mut Dial<'_>,
    number: impl Fn(&mut Trace) -> T,
) -> Result<(T, NewConnection), Failure> {
    #[cfg(feature = "http3")]
    if dial.config.http == Protocol::Http3 {
        let quic = connector.open_quic(dial, dial.origin.port).await?;
        return super::race::begin(quic, dial, number);
    }
    #[cfg(feature = "http3")]
    if let Some((alternatives, port)) = common.alternative(dial.origin) {
        let racing = super::race::race(connector, common, alternatives, port, dial, number);
        return Box::pin(racing).await;
    }
    open_tcp(connector, common, dial, number).await
}

/// Opens a connection over TCP.
pub(super) async fn open_tcp<T>(
    connector: &Connector,
    common: &Common,
    dial: &mut Dial<'_>,
    number: impl Fn(&mut Trace) -> T,
) -> Result<(T, NewConnection), Failure> {
    let only = dial.config.http == Protocol::Http2;
    let offer = if only { Offer::Http2 } else { Offer::Both };
    let Opened { pipe, forward } = connector.open(dial).await?;
    let ticket = number(dial.trace);
    let wire = connector.secure(pipe, offer, dial).await?;
    if dial.origin.scheme == Scheme::Https && !wire.chose_http2() {
        if only {
            let host = &dial.origin.host;
            let detail = format!("{host} does not support HTTP/2: it did not choose it (ALPN)");
            return Err(Failure::new(Kind::Tls, Phase::Tls, detail).for_good());
        }
        return Ok((ticket, NewConnection::Http1(wire, forward)));
    }
    let (send, link) = Link::open(wire, dial.config, common.streams.clone()).await?;
    let session = Session::Http2(Http2::new(send, link));
    Ok((ticket, NewConnection::Shared(session)))
}
