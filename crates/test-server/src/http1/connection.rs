//! One connection: reads requests, sends the responses in order, and reports to the ledger.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::AsyncWriteExt;

use crate::http1::outbox::Outbox;
use crate::http1::reader::{Event, Reader};
use crate::http1::stream::End;
use crate::http2;
use crate::hub::Hub;
use crate::ledger::ConnectionEntry;
use crate::replies::held::Held;
use crate::replies::reply::{Known, Reply};
use crate::request::Request;
use crate::request::body::Received;
use crate::wire::deadline::{IDLE, LIFE, LINGER, TO_BEGIN, within};
use crate::wire::head::After;
use crate::wire::socket::{Socket, until_end};
use crate::wire::tls::Secure;

/// How long a closing connection waits when nothing announced its end to the client. Clients look at idle connections
/// only now and then.
const LATE: Duration = Duration::from_secs(30);

/// A connection and all that is under way on it.
pub(crate) struct Connection {
    hub: Rc<Hub>,
    socket: Socket,
    /// The parameters of TLS; none without TLS.
    secure: Option<Box<Secure>>,
    entry: ConnectionEntry,
    reader: Reader,
    /// A request whose body is still being read.
    upload: Option<Box<Upload>>,
    /// Bytes of the next request came before the response to the last one was out.
    early: bool,
    /// If other machines may connect: whether a request has begun, and until when its bytes are waited for.
    allowed: Option<(bool, Instant)>,
    outbox: Outbox,
    /// The last response has been decided: nothing more is read as a request.
    last: bool,
    /// The last response does not announce that it is the last.
    silent: bool,
    /// The client uses HTTP/2 from its first byte on.
    http2: bool,
    /// The client has ended its side.
    ended: bool,
}

struct Upload {
    known: Known,
    /// The client waits for `100 Continue`.
    expecting: bool,
}

impl Connection {
    /// `entry` is what the ledger noted when it was accepted.
    pub(crate) fn new(
        hub: Rc<Hub>,
        socket: Socket,
        entry: ConnectionEntry,
        secure: Option<Box<Secure>>,
    ) -> Connection {
        Connection {
            secure,
            outbox: Outbox::new(hub.clone()),
            hub,
            socket,
            entry,
            reader: Reader::new(),
            upload: None,
            early: false,
            allowed: None,
            last: false,
            silent: false,
            http2: false,
            ended: false,
        }
    }

    /// Serves until the connection ends; what is then unanswered counts as aborted.
    pub(crate) async fn run(mut self) {
        // An error only says that the client has gone, which the ledger learns here.
        let hub = self.hub.clone();
        let _ = within(&hub.timer, hub.deadline(LIFE), self.serve()).await;
        if self.http2 {
            self.hub.ages.ended(self.entry.number);
            let read = Bytes::copy_from_slice(self.reader.input.bytes());
            let connection = http2::serve(self.hub, self.socket, read, self.entry, self.secure);
            return Box::pin(connection).await;
        }
        self.outbox.abandon();
        self.hub.ages.ended(self.entry.number);
        let mut ledger = self.hub.ledger.borrow_mut();
        let lost = self.upload.take().and_then(|upload| upload.known.receipt);
        lost.into_iter().for_each(|receipt| ledger.aborted(receipt));
        ledger.disconnected(&self.entry);
    }

    async fn serve(&mut self) -> io::Result<()> {
        loop {
            let now = Instant::now();
            self.hub.timer.fire(now);
            while self.may_read() && !self.reader.is_hungry() {
                self.read(now);
            }
            if self.http2 {
                return Ok(());
            }
            self.outbox.release(&self.socket, now);
            self.outbox.flush(&mut self.socket, self.ended).await?;
            if self.outbox.has_stream(now) {
                match self.outbox.play(&mut self.socket).await? {
                    End::Keep => continue,
                    End::Close => return self.finish().await,
                    End::Drop => return Ok(()),
                }
            }
            if self.outbox.is_empty() && self.last {
                return self.finish().await;
            }
            if self.outbox.is_empty() && self.ended {
                return Ok(());
            }
            if self.reader.is_hungry() || !self.may_read() {
                self.wait().await?;
            }
        }
    }

    /// Whether another request may be read now, if its bytes are there.
    fn may_read(&self) -> bool {
        // `100 Continue` may not overtake the responses before it.
        let must_continue = self.upload.as_ref().is_some_and(|upload| upload.expecting);
        !self.last && self.outbox.has_room() && (self.outbox.is_empty() || !must_continue)
    }

    /// Reads one request, or some of its body, out of the input.
    fn read(&mut self, now: Instant) {
        if let Some(upload) = self.upload.as_mut().filter(|upload| upload.expecting) {
            upload.expecting = false;
            self.outbox.interim(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        match self.reader.next() {
            Event::Hungry => {}
            Event::Head(request, length) => self.begin(request, length, now),
            Event::Part(length) => self.hub.ledger.borrow_mut().read(length),
            Event::Body(body, length) => {
                self.hub.ledger.borrow_mut().read(length);
                self.early = self.has_more();
                if let Some(upload) = self.upload.take() {
                    self.respond(upload.known, body, now);
                }
            }
            Event::Refused(status) => self.refuse(status, now),
        }
    }

    /// Whether bytes of another request came together with the last. An empty line does not count (RFC 9112 §2.2).
    fn has_more(&self) -> bool {
        let mut bytes = self.reader.input.bytes().iter();
        bytes.any(|byte| !b"\r\n".contains(byte))
    }

    /// A head has been read: from here on the request is in flight.
    fn begin(&mut self, request: Request, length: usize, now: Instant) {
        self.allowed = None;
        let behind = self.early;
        self.early = self.has_more();
        let (receipt, hash) = self
            .hub
            .witness(&request, &mut self.entry, length, behind, now);
        let known = Known {
            fault: self.hub.deal(&request),
            request,
            receipt,
            hash,
        };
        if !known.request.reads_body(known.fault) {
            self.respond(known, Received::default(), now);
        } else {
            let expecting = known.request.expects_continue && self.reader.input.is_empty();
            self.upload = Some(Box::new(Upload { known, expecting }));
        }
    }

    /// Decides the response to a complete request. It goes out at once if nothing holds it.
    fn respond(&mut self, known: Known, body: Received, now: Instant) {
        let reply = Reply {
            hub: &self.hub,
            connection: self.entry.number,
            carried: self.entry.carried,
            secure: self.secure.as_deref(),
        };
        let held = reply.held(known, &body, now);
        let close_after = u64::from(self.hub.options.close_after);
        self.silent = close_after > 0 && close_after == self.entry.carried;
        self.last = self.silent || held.after == After::Close;
        self.outbox.push(held, &self.socket, now);
    }

    /// Responds to bytes that are no valid request, and reads no further.
    fn refuse(&mut self, status: u16, now: Instant) {
        let first = self.entry.carried == 0 && self.hub.options.http2.is_some();
        let input = self.reader.input.bytes();
        if first && input.starts_with(http2::PREFACE) {
            self.http2 = true;
            self.last = true;
            return;
        }
        if first && http2::PREFACE.starts_with(input) {
            return self.reader.wait_for_more(); // A version that is not whole yet.
        }
        self.hub.ledger.borrow_mut().refused();
        let receipt = self.upload.take().and_then(|upload| upload.known.receipt);
        self.last = true;
        self.outbox
            .push(Held::refusal(status, receipt), &self.socket, now);
    }

    /// Waits for bytes, the client's end, or the first response that is held. The wait has a deadline if other machines
    /// may connect.
    async fn wait(&mut self) -> io::Result<()> {
        let hub = self.hub.clone();
        let begun = !self.reader.input.is_empty() || self.upload.is_some();
        if !self.outbox.is_empty() {
            self.allowed = None;
        } else if self.allowed.is_none_or(|(for_head, _)| for_head != begun) {
            let allowed = if begun { TO_BEGIN } else { IDLE };
            self.allowed = hub.deadline(allowed).map(|deadline| (begun, deadline));
        }
        let deadline = self.allowed.map(|(_, deadline)| deadline);
        let late = || Err(io::ErrorKind::TimedOut.into());
        within(&hub.timer, deadline, self.wait_for_bytes())
            .await
            .unwrap_or_else(late)
    }

    async fn wait_for_bytes(&mut self) -> io::Result<()> {
        poll_fn(|context| {
            if self.outbox.poll_front(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            if self.ended || self.reader.input.is_full() {
                return Poll::Pending;
            }
            if self.is_too_old(context) {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            self.reader
                .input
                .poll_read(&mut self.socket, context)
                .map_ok(|count| {
                    self.ended = count == 0;
                    self.early |= count > 0 && self.outbox.owes();
                    self.reader.fed();
                    if self.last && !self.silent {
                        self.reader.input.clear();
                    }
                })
        })
        .await
    }

    /// Whether nothing is under way on it, and a round has begun whose connections must be newer.
    fn is_too_old(&mut self, context: &Context<'_>) -> bool {
        let entry = &mut self.entry;
        let too_old = self
            .hub
            .ages
            .is_too_old(entry.number, &mut entry.age, context);
        too_old && self.outbox.is_empty() && self.upload.is_none()
    }

    /// Ends the test server's side, and waits a while for the client to end its own.
    async fn finish(&mut self) -> io::Result<()> {
        self.socket.shutdown().await?;
        let (hub, now) = (self.hub.clone(), Instant::now());
        if self.silent {
            let late = within(&hub.timer, Some(now + LATE), self.read_late());
            return late.await.unwrap_or(Ok(()));
        }
        let rest = until_end(&mut self.socket);
        within(&hub.timer, Some(now + LINGER), rest).await;
        Ok(())
    }

    /// Reads and counts what a client still sends because it has not seen the end yet. Stops when the client ends its
    /// side, so that every byte sent is counted.
    async fn read_late(&mut self) -> io::Result<()> {
        loop {
            match self.reader.next() {
                Event::Head(request, _) => self.hub.unprocessed(request.route),
                Event::Part(_) | Event::Body(..) => {}
                Event::Refused(_) => return Ok(()),
                Event::Hungry if self.reader.input.is_full() => return Ok(()),
                Event::Hungry => {
                    let (input, socket) = (&mut self.reader.input, &mut self.socket);
                    if poll_fn(|context| input.poll_read(socket, context)).await? == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }
}
