//! An HTTP/1.1 connection in the pool: its number, its age, and since when it is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::h1::connection::Connection as Http1;
use crate::message::connection_facts::ConnectionFacts;
use crate::pool::connection_count::Counted;
use crate::pool::limits::Permit;
use crate::transport::proxy::Forward;
use crate::transport::wire::Wire;

pub(crate) struct Connection {
    /// Its number.
    pub ticket: Ticket,
    /// Since when it is open.
    pub opened: Instant,
    /// Since when it is idle.
    pub idle_since: Instant,
    /// Whether it was opened for a request that has not come yet.
    pub unused: bool,
    pub http1: Http1,
}

impl Connection {
    pub fn new(ticket: Ticket, wire: Wire, forward: Option<Arc<Forward>>) -> Connection {
        let now = Instant::now();
        Connection {
            ticket,
            opened: now,
            idle_since: now,
            unused: false,
            http1: Http1::new(wire, forward),
        }
    }
}

/// An HTTP/1.1 connection, with its permit if there is a limit. The permit is given back after the connection was put
/// back, or dropped.
pub(crate) struct Held {
    pub connection: Box<Connection>,
    pub permit: Option<Box<Permit>>,
}

/// Counts a connection as long as it lives.
pub(crate) struct Ticket {
    /// Number of the connection, from 1.
    pub id: u64,
    /// Connections that are open, idle or not.
    open: Arc<AtomicUsize>,
    /// The other end; none while the connection is being opened.
    pub facts: Option<Arc<ConnectionFacts>>,
    /// Counts it among the connections to its origin, if it is HTTP/1.1.
    pub counted: Option<Counted>,
}

impl Ticket {
    pub fn new(id: u64, open: Arc<AtomicUsize>) -> Ticket {
        open.fetch_add(1, Ordering::Relaxed);
        Ticket {
            id,
            open,
            facts: None,
            counted: None,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}
