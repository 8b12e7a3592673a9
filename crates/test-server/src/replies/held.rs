//! A response that waits its turn: behind others of its connection, for its delay, or at the gate.

use std::borrow::Cow;
use std::rc::Rc;
use std::task::Waker;
use std::time::Instant;

use crate::http1::stream::Stream;
use crate::hub::Hub;
use crate::ledger::Receipt;
use crate::request::After;
use crate::round::gate::Ticket;
use crate::round::script::{Item, Script};
use crate::wire::head::{Field, Head, Length, TEXT, is_bodiless, reason};

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

/// A short response, stored whole.
pub(crate) struct Small {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) fields: Vec<Field>,
    pub(crate) body: Cow<'static, [u8]>,
    pub(crate) is_head: bool,
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

impl Small {
    pub(crate) fn text(status: u16, body: impl Into<Cow<'static, str>>, is_head: bool) -> Small {
        let body = match body.into() {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
        Small {
            status,
            content_type: TEXT,
            fields: Vec::new(),
            body,
            is_head,
        }
    }

    /// A status with its reason as body.
    pub(crate) fn status(status: u16, is_head: bool) -> Small {
        Small::text(status, format!("{status} {}\n", reason(status)), is_head)
    }

    /// Appends the response; returns the bytes of its body.
    pub(crate) fn write(&self, out: &mut Vec<u8>, after: After, hub: &Hub, now: Instant) -> usize {
        let silent = is_bodiless(self.status);
        let length = if silent {
            Length::Silent
        } else {
            Length::Bytes(self.body.len() as u64)
        };
        let head = Head {
            status: self.status,
            content_type: self.content_type,
            fields: &self.fields,
            length,
            after,
        };
        head.write(out, hub.date.at(now).0);
        if silent || self.is_head {
            return 0;
        }
        out.extend_from_slice(&self.body);
        self.body.len()
    }
}
