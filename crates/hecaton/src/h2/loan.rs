//! A loan: the right of one request to one stream of a shared connection (HTTP/2 or HTTP/3), until it is dropped.

use std::sync::Arc;

use crate::message::connection_facts::ConnectionFacts;
use crate::message::origin::Origin;

/// The pool, to which a loan is returned.
pub(crate) trait Lender: Send + Sync {
    /// The stream has ended; `retires` means that no further request may use its connection.
    fn take_back(self: Arc<Self>, origin: &Arc<Origin>, connection: u64, retires: bool);

    /// The peer requires HTTP/1.1. Returns whether the settings allow it; if so, it is used from now on.
    fn use_http1(self: Arc<Self>, origin: &Arc<Origin>) -> bool;
}

pub(crate) struct Loan {
    /// Number of the connection, unique within the client.
    pub connection: u64,
    /// The other end of the connection.
    pub facts: Option<Arc<ConnectionFacts>>,
    /// Whether another request opened the connection.
    pub reused: bool,
    pub origin: Arc<Origin>,
    pub lender: Arc<dyn Lender>,
    /// Whether no further request may use the connection.
    pub retires: bool,
}

impl Loan {
    /// The peer requires HTTP/1.1. Returns whether requests to its origin use it from now on.
    pub fn use_http1(&self) -> bool {
        self.lender.clone().use_http1(&self.origin)
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let lender = self.lender.clone();
        lender.take_back(&self.origin, self.connection, self.retires);
    }
}
