//! A new connection: opened by `transport`, numbered and counted here.

use std::sync::Arc;

use super::Pool;
use super::connection::{Connection, Ticket};
use crate::message::attempt::Trace;
use crate::message::elapsed::Elapsed;
use crate::message::failure::Failure;
use crate::message::origin::Origin;
use crate::transport::proxy::Forward;
use crate::transport::tls::Offer;
use crate::transport::wire::Wire;
use crate::transport::{Dial, Opened};

impl Pool {
    /// A new connection that may use only HTTP/1.1.
    pub(super) async fn open_http1(
        &self,
        origin: &Origin,
        trace: &mut Trace,
    ) -> Result<Box<Connection>, Failure> {
        self.make_room();
        let elapsed = Elapsed::default();
        let dialed = self.dial(origin, Offer::Http1, &elapsed, trace).await;
        let (ticket, wire, forward) = dialed?;
        Ok(Box::new(Connection::new(ticket, wire, forward)))
    }

    /// `offer` matters only to TLS; `elapsed` counts against the limits.
    pub(super) async fn dial(
        &self,
        origin: &Origin,
        offer: Offer,
        elapsed: &Elapsed,
        trace: &mut Trace,
    ) -> Result<(Ticket, Wire, Option<Arc<Forward>>), Failure> {
        let close_idle = || self.close_idle();
        let mut dial = Dial {
            origin,
            config: &self.config,
            elapsed,
            trace,
            close_idle: &close_idle,
        };
        let Opened { pipe, forward } = self.connector.open(&mut dial).await?;
        let mut ticket = self.ticket();
        dial.trace.attempt().connection = ticket.id;
        let wire = self.connector.secure(pipe, offer, &mut dial).await?;
        ticket.facts = dial.trace.attempt().facts.clone();
        Ok((ticket, wire, forward))
    }
}
