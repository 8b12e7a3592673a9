//! The responses of one connection: queued in the order of their requests, written when they are ready.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use crate::http1::stream::End;
use crate::http1::wire::Wire;
use crate::hub::Hub;
use crate::ledger::Receipt;
use crate::replies::held::{Held, Hold, Response};
use crate::replies::stream::Stream;
use crate::round::check_value::LENGTH;
use crate::round::script::{Item, Script};
use crate::wire::head::After;
use crate::wire::socket::Socket;

/// Most responses that one connection may have waiting; further requests stay unread.
const MOST_HELD: usize = 1024;
/// More bytes than this are written before further requests are read.
const MUCH_OUTPUT: usize = 256 * 1024;

/// The responses that one connection still owes its client.
pub(crate) struct Outbox {
    hub: Rc<Hub>,
    /// Responses that are not ready, and the responses behind them.
    queue: VecDeque<Held>,
    output: Vec<u8>,
    /// How many bytes of `output` were written.
    sent: usize,
    /// The responses that are in `output`, or are being streamed.
    unwritten: Vec<Unwritten>,
}

/// A response that is not written whole.
struct Unwritten {
    receipt: Receipt,
    /// Bytes of its body; none for a stream, which counts them itself.
    body: usize,
    /// Where it ends in the output.
    end: usize,
}

impl Unwritten {
    /// Bytes of its body that were written, when `sent` bytes of the output were.
    fn written(&self, sent: usize) -> usize {
        self.body.saturating_sub(self.end.saturating_sub(sent))
    }
}

impl Outbox {
    pub(crate) fn new(hub: Rc<Hub>) -> Outbox {
        Outbox {
            hub,
            queue: VecDeque::new(),
            output: Vec::new(),
            sent: 0,
            unwritten: Vec::new(),
        }
    }

    /// Whether no response waits; what is written already may still be on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the response to some request has not been written whole.
    pub(crate) fn owes(&self) -> bool {
        !self.queue.is_empty() || !self.output.is_empty()
    }

    /// Whether another request may be read.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < MOST_HELD && self.output.len() < MUCH_OUTPUT
    }

    /// Whether the next response is a stream whose turn has come.
    pub(crate) fn has_stream(&self, now: Instant) -> bool {
        let ready = |held: &Held| held.is_stream() && held.is_ready(&self.hub, now);
        self.queue.front().is_some_and(ready)
    }

    /// Writes bytes that are no response. Must not be called while responses wait.
    pub(crate) fn interim(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
    }

    /// Takes a response, and writes it at once when nothing holds it.
    pub(crate) fn push(&mut self, held: Held, socket: &Socket, now: Instant) {
        if self.queue.is_empty() && self.may_go(&held, now) {
            self.emit(held, socket, now);
        } else {
            self.queue.push_back(held);
        }
    }

    /// Moves ready responses from the queue to the output, up to the first stream.
    pub(crate) fn release(&mut self, socket: &Socket, now: Instant) {
        while self.output.len() < MUCH_OUTPUT {
            let ready = self
                .queue
                .front()
                .is_some_and(|held| self.may_go(held, now));
            let next = if ready { self.queue.pop_front() } else { None };
            match next {
                Some(held) => self.emit(held, socket, now),
                None => return,
            }
        }
    }

    fn may_go(&self, held: &Held, now: Instant) -> bool {
        held.is_ready(&self.hub, now) && !held.is_stream()
    }

    fn emit(&mut self, held: Held, socket: &Socket, now: Instant) {
        let body = match &held.response {
            Response::Item(script, item) if matches!(held.hold, Hold::LastBytes(_)) => {
                let (script, item) = (script.clone(), *item);
                return self.begin(held, &script, item, now);
            }
            Response::Item(script, item) => self.item(script, *item, held.after, socket, now),
            Response::Small(small) => {
                small.write(&mut self.output, held.after, &self.hub.date, now)
            }
            Response::Rest(rest, body) => {
                self.output.extend_from_slice(rest);
                *body
            }
            Response::Stream(_) => 0,
        };
        let Some(receipt) = held.receipt else {
            return;
        };
        let mut ledger = self.hub.ledger.borrow_mut();
        ledger.released(receipt, now);
        if self.output.is_empty() {
            ledger.wrote_body_of(receipt, body);
            ledger.responded(receipt, Instant::now());
        } else {
            self.unwritten.push(Unwritten {
                receipt,
                body,
                end: self.output.len(),
            });
        }
    }

    /// Writes a response except its last bytes, which stay in front of the queue.
    fn begin(&mut self, held: Held, script: &Script, item: Item, now: Instant) {
        let begun = self.output.len();
        let body = script.write(&mut self.output, item, held.after, &self.hub.date, now);
        let rest = self.output.len().saturating_sub(LENGTH).max(begun);
        let response = Response::Rest(self.output.split_off(rest), body);
        let hold = match held.hold {
            Hold::LastBytes(until) => Hold::Until(until),
            hold => hold,
        };
        self.queue
            .push_front(Held::new(held.receipt, hold, response, held.after));
    }

    /// The hot path: a plain response goes from the prepared bytes straight to the socket, and only what
    /// the socket does not take is copied.
    fn item(
        &mut self,
        script: &Script,
        item: Item,
        after: After,
        socket: &Socket,
        now: Instant,
    ) -> usize {
        if !self.output.is_empty() || after != After::Keep || !item.is_plain() {
            return script.write(&mut self.output, item, after, &self.hub.date, now);
        }
        let plain = script.plain(item.check_value(), &self.hub.date, now);
        let bytes = plain.whole();
        // An error comes again when the rest is flushed.
        let sent = socket.try_write(bytes).unwrap_or(0);
        self.hub.ledger.borrow_mut().wrote(sent);
        self.output.extend_from_slice(&bytes[sent..]);
        script.body_bytes()
    }

    /// Writes the output. `ended`: the client has ended its side; it may still read, or be gone, and then a reset
    /// follows the write.
    pub(crate) async fn flush(&mut self, socket: &mut Socket, ended: bool) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        Wire {
            stream: socket,
            hub: &self.hub,
            stray: false,
            sent: &mut self.sent,
        }
        .send(&self.output)
        .await?;
        self.output.clear();
        self.output.shrink_to(MUCH_OUTPUT);
        if ended {
            socket.take_error()?.map_or(Ok(()), Err)?;
        }
        self.written();
        Ok(())
    }

    /// Plays the stream at the front; must only be called when there is one.
    pub(crate) async fn play(&mut self, socket: &mut Socket) -> io::Result<End> {
        let Some((stream, receipt)) = self.queue.pop_front().and_then(Held::into_stream) else {
            return Ok(End::Keep);
        };
        let stray = receipt.is_some_and(|receipt| receipt.stray);
        self.unwritten.extend(receipt.map(|receipt| Unwritten {
            receipt,
            body: 0,
            end: 0,
        }));
        let end = Stream::play(
            stream,
            &mut Wire {
                stream: socket,
                hub: &self.hub,
                stray,
                sent: &mut self.sent,
            },
        )
        .await?;
        self.written();
        Ok(end)
    }

    fn written(&mut self) {
        let now = Instant::now();
        let mut ledger = self.hub.ledger.borrow_mut();
        self.sent = 0;
        for response in self.unwritten.drain(..) {
            ledger.wrote_body_of(response.receipt, response.body);
            ledger.responded(response.receipt, now);
        }
    }

    /// Ready when the first response is; pending for ever when none waits.
    pub(crate) fn poll_front(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self.queue.front_mut() {
            Some(held) if held.is_ready(&self.hub, Instant::now()) => Poll::Ready(()),
            Some(held) => {
                held.wait(&self.hub, context.waker());
                Poll::Pending
            }
            None => Poll::Pending,
        }
    }

    /// The connection has ended: requests without a response count as aborted.
    pub(crate) fn abandon(&mut self) {
        let mut ledger = self.hub.ledger.borrow_mut();
        let unsent = self.output.len().saturating_sub(self.sent);
        for held in self.queue.drain(..) {
            if let Hold::Gate(ticket) = held.hold {
                self.hub.gate.leave(ticket);
            }
            let Some(receipt) = held.receipt else {
                continue;
            };
            if let Response::Rest(rest, body) = held.response {
                ledger.wrote_body_of(receipt, body.saturating_sub(rest.len() + unsent));
            }
            ledger.aborted(receipt);
        }
        for response in self.unwritten.drain(..) {
            ledger.wrote_body_of(response.receipt, response.written(self.sent));
            ledger.aborted(response.receipt);
        }
    }
}
