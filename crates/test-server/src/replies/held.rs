//! A response that waits its turn: behind others of its connection, for its delay, or at the gate.

use std::rc::Rc;
use std::task::Waker;
use std::time::Instant;

use crate::hub::Hub;
use crate::ledger::Receipt;
use crate::replies::stream::Stream;
use crate::round::gate::Ticket;
use crate::round::script::{Item, Script};
use crate::wire::head::After;
use crate::wire::small::Small;

/// One response in the queue of a connection.
pub(crate) struct Held {
    /// None for responses to invalid requests and to `/ledger`.
    pub(crate) receipt: Option<Receipt>,
    pub(crate) hold: Hold,
    pub(crate) response: Response,
    pub(crate) after: After,
    /// Whether the hold will wake the connection's task.
    waits: bool,
}

/// The event that a response waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Nothing,
    Until(Instant),
    Gate(Ticket),
    /// The response goes out at once, except its last bytes, which wait until then.
    LastBytes(Instant),
}

pub(crate) enum Response {
    Item(Rc<Script>, Item),
    Small(Box<Small>),
    Stream(Box<Stream>),
    /// The last bytes of a response, and how long its body is.
    Rest(Vec<u8>, usize),
}

impl Held {
    pub(crate) fn new(
        receipt: Option<Receipt>,
        hold: Hold,
        response: Response,
        after: After,
    ) -> Held {
        Held {
            receipt,
            hold,
            response,
            after,
            waits: false,
        }
    }

    /// The response to bytes that are no valid request; the connection ends with it.
    pub(crate) fn refusal(status: u16, receipt: Option<Receipt>) -> Held {
        let receipt = receipt.map(|receipt| receipt.planned_at(None));
        let response = Response::Small(Box::new(Small::status(status, false)));
        Held::new(receipt, Hold::Nothing, response, After::Close)
    }

    pub(crate) fn is_ready(&self, hub: &Hub, now: Instant) -> bool {
        match self.hold {
            Hold::Nothing | Hold::LastBytes(_) => true,
            Hold::Until(at) => now >= at,
            Hold::Gate(ticket) => hub.gate.is_open(ticket),
        }
    }

    /// Arranges that `waker` is woken when the response is ready.
    pub(crate) fn wait(&mut self, hub: &Hub, waker: &Waker) {
        if std::mem::replace(&mut self.waits, true) {
            return;
        }
        match self.hold {
            Hold::Nothing | Hold::LastBytes(_) => {}
            Hold::Until(at) => hub.timer.wake_at(at, waker.clone()),
            Hold::Gate(_) => hub.gate.wake_on_release(waker.clone()),
        }
    }

    /// The stream and its receipt, if the response is streamed.
    pub(crate) fn into_stream(self) -> Option<(Stream, Option<Receipt>)> {
        match self.response {
            Response::Stream(stream) => Some((*stream, self.receipt)),
            _ => None,
        }
    }

    /// Whether it needs more than one write.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.response, Response::Stream(_))
    }
}
