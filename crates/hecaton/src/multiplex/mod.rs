//! Connections that many requests share: HTTP/2 and HTTP/3 behind one interface, so that `pool` and `client` know no
//! protocol.
//!
//! A [`Session`] gives streams, a [`Stream`] runs one request, and [`Incoming`] is the rest of its response. `open`
//! decides what a new connection supports. They are enums and not trait objects, so that a request over HTTP/2 pays a
//! comparison and no allocation.

#[cfg(feature = "http3")]
pub(crate) mod alternatives;
pub(crate) mod incoming;
pub(crate) mod open;
#[cfg(feature = "http3")]
mod race;

use std::sync::Arc;
use std::task::{Context, Poll};
#[cfg(feature = "http3")]
use std::time::Instant;

#[cfg(feature = "http3")]
use self::alternatives::Alternatives;
use self::incoming::Incoming;
use crate::config::Config;
#[cfg(feature = "http3")]
use crate::config::Protocol;
use crate::h2;
pub(crate) use crate::h2::exchange::Head;
pub(crate) use crate::h2::loan::{Lender, Loan};
pub(crate) use crate::h2::session::Room;
use crate::h2::window::Streams;
#[cfg(feature = "http3")]
use crate::h3;
use crate::message::attempt::Trace;
use crate::message::broken::Broken;
use crate::message::origin::Origin;
use crate::message::request::Request;

/// The parts that the shared connections of a client have in common.
pub(crate) struct Common {
    /// The bound for the windows of all streams together.
    streams: Arc<Streams>,
    /// Which origins respond over another protocol.
    #[cfg(feature = "http3")]
    alternatives: Option<Alternatives>,
}

impl Common {
    pub fn new(config: &Config) -> Common {
        Common {
            streams: Streams::new(config.max_buffered),
            #[cfg(feature = "http3")]
            alternatives: (config.http == Protocol::Any).then(Alternatives::default),
        }
    }

    /// The port of HTTP/3, if the origin has announced it and is to be tried over it.
    #[cfg(feature = "http3")]
    fn alternative(&self, origin: &Origin) -> Option<(&Alternatives, u16)> {
        let alternatives = self.alternatives.as_ref()?;
        let port = alternatives.port(origin, Instant::now())?;
        Some((alternatives, port))
    }

    /// Notes the `Alt-Svc` in the head of a response. Returns whether a new connection to the origin may be better than
    /// those that there are.
    #[cfg_attr(not(feature = "http3"), expect(unused_variables))]
    pub fn note_alt_svc(&self, origin: &Arc<Origin>, fields: &[u8]) -> bool {
        #[cfg(feature = "http3")]
        if let Some(alternatives) = &self.alternatives {
            return alternatives.note(origin, fields, Instant::now());
        }
        false
    }
}

/// A connection. Dropping it closes the connection.
pub(crate) enum Session {
    Http2(h2::session::Session),
    #[cfg(feature = "http3")]
    Http3(h3::permit::Session),
}

/// The task of a connection. It holds no handle that sends requests.
pub(crate) enum Driver {
    Http2(Arc<h2::link::Link>),
    #[cfg(feature = "http3")]
    Http3(Arc<h3::link::Link>),
}

/// The right of one request to one stream.
pub(crate) enum Stream {
    Http2(h2::permit::StreamPermit),
    #[cfg(feature = "http3")]
    Http3(h3::permit::StreamPermit),
}

/// The same for each protocol.
macro_rules! each {
    ($type:ident, $this:expr, $inner:ident => $result:expr) => {
        match $this {
            $type::Http2($inner) => $result,
            #[cfg(feature = "http3")]
            $type::Http3($inner) => $result,
        }
    };
}
pub(crate) use each;

impl Session {
    pub fn driver(&self) -> Driver {
        match self {
            Session::Http2(session) => Driver::Http2(session.link().clone()),
            #[cfg(feature = "http3")]
            Session::Http3(session) => Driver::Http3(session.link().clone()),
        }
    }

    /// Whether the connection takes a request beside as many as are `active`.
    pub fn room(&mut self, active: usize) -> Room {
        each!(Session, self, session => session.room(active))
    }

    /// A stream on it, if its room is not `Full` or `Closed`.
    pub fn stream(&mut self, loan: Loan) -> Stream {
        match self {
            Session::Http2(session) => Stream::Http2(session.stream(loan)),
            #[cfg(feature = "http3")]
            Session::Http3(session) => Stream::Http3(session.stream(loan)),
        }
    }
}

impl Driver {
    /// Lets the connection read and write; ready when it has ended.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        each!(Driver, self, link => link.poll_drive(cx))
    }
}

impl Stream {
    pub fn loan(&self) -> &Loan {
        each!(Stream, self, permit => &permit.loan)
    }

    /// No further request may use this connection.
    pub fn retire(&mut self) {
        each!(Stream, self, permit => permit.loan.retires = true);
    }

    /// Notices an end of the connection that came while nobody drove it.
    pub async fn refresh(&self) {
        each!(Stream, self, permit => permit.link.refresh().await)
    }

    /// Whether the connection must still show that it is alive.
    pub fn is_doubted(&self) -> bool {
        each!(Stream, self, permit => permit.link.is_doubted())
    }

    /// Whether a doubted connection shows in time that it is alive.
    pub async fn lives(&self) -> bool {
        each!(Stream, self, permit => permit.link.lives().await)
    }

    /// Whether the connection is still good: it has not ended and is not about to, as far as is known, and still allows
    /// streams. A new connection may not allow any yet.
    pub fn is_usable(&mut self) -> bool {
        each!(Stream, self, permit => permit.is_usable())
    }

    /// Sends `request` on the stream and reads the head of the response; the body is still to come.
    pub async fn exchange(
        self,
        request: &Request,
        config: &Config,
        trace: &mut Trace,
    ) -> Result<(Head, Incoming), Broken> {
        match self {
            Stream::Http2(permit) => {
                let (head, incoming) =
                    h2::exchange::exchange(permit, request, config, trace).await?;
                Ok((head, Incoming::Http2(incoming)))
            }
            #[cfg(feature = "http3")]
            Stream::Http3(permit) => {
                // Boxed, so that requests over HTTP/2 do not carry its state along.
                let exchange = Box::pin(h3::exchange::exchange(permit, request, config, trace));
                let (head, incoming) = exchange.await?;
                Ok((head, Incoming::Http3(Box::new(incoming))))
            }
        }
    }
}
