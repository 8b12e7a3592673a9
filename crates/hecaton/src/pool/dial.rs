//! A new connection: opened by `transport`, numbered and counted here.

use super::Pool;
use super::connection::{Connection, Ticket};
use crate::message::attempt::Trace;
use crate::message::elapsed::Elapsed;
use crate::message::failure::Failure;
use crate::message::origin::Origin;
use crate::multiplex::open::{NewConnection, open};
use crate::transport::tls::Offer;
use crate::transport::{CloseIdle, Dial, Opened};

impl Pool {
    /// A new connection that may use only HTTP/1.1.
    pub(super) async fn open_http1(
        &self,
        origin: &Origin,
        trace: &mut Trace,
    ) -> Result<Box<Connection>, Failure> {
        self.make_room();
        let elapsed = Elapsed::default();
        let close_idle = || self.close_idle();
        let mut dial = self.new_dial(origin, &elapsed, &close_idle, trace);
        let Opened { pipe, forward } = self.connector.open(&mut dial).await?;
        let mut ticket = self.numbered(dial.trace);
        let wire = self.connector.secure(pipe, Offer::Http1, &mut dial).await?;
        ticket.facts = dial.trace.attempt().facts.clone();
        Ok(Box::new(Connection::new(ticket, wire, forward)))
    }

    /// A new connection that requests may share; `elapsed` counts against the limits.
    pub(super) async fn open_shared(
        &self,
        origin: &Origin,
        elapsed: &Elapsed,
        trace: &mut Trace,
    ) -> Result<(Ticket, NewConnection), Failure> {
        let close_idle = || self.close_idle();
        let mut dial = self.new_dial(origin, elapsed, &close_idle, trace);
        let number = |trace: &mut Trace| self.numbered(trace);
        let opened = open(&self.connector, &self.sessions.common, &mut dial, number).await;
        let (mut ticket, opened) = opened?;
        ticket.facts = dial.trace.attempt().facts.clone();
        Ok((ticket, opened))
    }

    fn new_dial<'a>(
        &'a self,
        origin: &'a Origin,
        elapsed: &'a Elapsed,
        close_idle: CloseIdle<'a>,
        trace: &'a mut Trace,
    ) -> Dial<'a> {
        Dial {
            origin,
            config: &self.config,
            elapsed,
            trace,
            close_idle,
        }
    }

    /// The ticket of a connection that has been opened, and is noted as that of the attempt.
    fn numbered(&self, trace: &mut Trace) -> Ticket {
        let ticket = self.ticket();
        trace.attempt().connection = ticket.id;
        ticket
    }
}
