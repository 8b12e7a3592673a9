//! One connection: reads requests, answers them in order, and tells the ledger.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::body::Body;
use crate::held::{Answer, Held, Hold, Small};
use crate::hub::Hub;
use crate::input::Input;
use crate::ledger::{Marks, Receipt};
use crate::parse::{self, Framing, Parsed};
use crate::reply::{self, Reply};
use crate::request::{After, Request};
use crate::stream::End;
use crate::wire::Wire;

/// Most answers that one connection may have waiting; further requests stay unread.
const MOST_HELD: usize = 1024;
/// More bytes than this are written before further requests are read.
const MUCH_OUTPUT: usize = 256 * 1024;
/// How long a closing connection waits for the client's end, so that the last answer is not lost
/// to a reset.
const LINGER: Duration = Duration::from_secs(1);

/// A connection and all that is under way on it.
pub(crate) struct Connection {
    hub: Rc<Hub>,
    stream: TcpStream,
    number: u64,
    marks: Marks,
    input: Input,
    /// A request whose body is still being read.
    upload: Option<Box<Upload>>,
    /// Answers that are not ready, in the order of their requests.
    queue: VecDeque<Held>,
    output: Vec<u8>,
    /// The requests whose answers are in `output`.
    unwritten: Vec<Receipt>,
    /// No request can be read before more bytes come.
    hungry: bool,
    /// The last answer has been decided: nothing more is read as a request.
    last: bool,
    /// The client has ended its side.
    ended: bool,
}

struct Upload {
    request: Request,
    receipt: Option<Receipt>,
    id_hash: u64,
    body: Body,
    /// The client waits for `100 Continue`.
    expecting: bool,
}

impl Connection {
    pub(crate) fn new(hub: Rc<Hub>, stream: TcpStream) -> Connection {
        let number = hub.connected();
        Connection {
            hub,
            stream,
            number,
            marks: Marks::default(),
            input: Input::new(),
            upload: None,
            queue: VecDeque::new(),
            output: Vec::new(),
            unwritten: Vec::new(),
            hungry: false,
            last: false,
            ended: false,
        }
    }

    /// Serves until the connection ends; what is then unanswered counts as aborted.
    pub(crate) async fn run(mut self) {
        // An error only says that the client has gone, which the ledger learns below.
        let _ = self.serve().await;
        let held = self.queue.drain(..).map(|held| {
            if let Hold::Gate(ticket) = held.hold {
                self.hub.gate.leave(ticket);
            }
            held.receipt
        });
        let upload = self.upload.take().map(|upload| upload.receipt);
        let lost = held.chain(upload).flatten().chain(self.unwritten.drain(..));
        let mut ledger = self.hub.ledger.borrow_mut();
        lost.for_each(|receipt| ledger.aborted(receipt));
        ledger.disconnected();
    }

    async fn serve(&mut self) -> io::Result<()> {
        loop {
            let now = Instant::now();
            self.hub.timer.fire(now);
            while !self.hungry && self.may_digest() {
                self.digest(now);
            }
            self.release(now);
            if !self.output.is_empty() {
                self.flush().await?;
            }
            let ready = self
                .queue
                .front()
                .is_some_and(|held| held.is_ready(&self.hub, now));
            if ready {
                if self.queue.front().is_some_and(Held::is_stream) && self.play().await? {
                    return Ok(());
                }
                continue;
            }
            if self.queue.is_empty() && self.last {
                return self.finish().await;
            }
            if self.queue.is_empty() && self.ended {
                return Ok(());
            }
            if self.hungry || !self.may_digest() {
                self.wait().await?;
            }
        }
    }

    /// Whether another request may be read now, if its bytes are there.
    fn may_digest(&self) -> bool {
        let must_ask = self.upload.as_ref().is_some_and(|upload| upload.expecting);
        !self.last
            && self.queue.len() < MOST_HELD
            && self.output.len() < MUCH_OUTPUT
            && (self.queue.is_empty() || !must_ask)
    }

    /// Reads one request, or a part of its body, out of the input.
    fn digest(&mut self, now: Instant) {
        if let Some(upload) = self.upload.take() {
            return self.digest_body(upload, now);
        }
        if self.input.is_empty() {
            self.hungry = true;
            return;
        }
        match parse::head(self.input.bytes()) {
            Parsed::Partial => self.hungry = true,
            Parsed::Refused(status) => self.refuse(status, None),
            Parsed::Whole(head) => {
                let request = Request::new(&head, &self.input.bytes()[..head.length]);
                let length = head.length;
                self.input.used(length);
                self.begin(request, length, now);
            }
        }
    }

    /// A head has been read: from here on the request is in flight.
    fn begin(&mut self, request: Request, length: usize, now: Instant) {
        let (receipt, id_hash) = reply::witness(&self.hub, &request, &mut self.marks, length, now);
        if request.framing == Framing::None {
            return self.answer(request, receipt, id_hash, Vec::new(), now);
        }
        match Body::new(request.framing, request.echo.is_some()) {
            Err(status) => self.refuse(status, receipt),
            Ok(body) => {
                let expecting = request.expects_continue && self.input.is_empty();
                self.upload = Some(Box::new(Upload {
                    request,
                    receipt,
                    id_hash,
                    body,
                    expecting,
                }));
            }
        }
    }

    fn digest_body(&mut self, mut upload: Box<Upload>, now: Instant) {
        if std::mem::take(&mut upload.expecting) {
            self.output
                .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        let used = match upload.body.feed(self.input.bytes()) {
            Ok(used) => used,
            Err(status) => return self.refuse(status, upload.receipt),
        };
        self.input.used(used);
        if upload.receipt.is_some() {
            self.hub.ledger.borrow_mut().read(used);
        }
        if upload.body.is_done() {
            let Upload {
                request,
                receipt,
                id_hash,
                body,
                ..
            } = *upload;
            self.answer(request, receipt, id_hash, body.into_bytes(), now);
        } else {
            self.hungry = true;
            self.upload = Some(upload);
        }
    }

    /// A request is complete: its answer is decided, and goes out at once when nothing holds it.
    fn answer(
        &mut self,
        request: Request,
        receipt: Option<Receipt>,
        id_hash: u64,
        body: Vec<u8>,
        now: Instant,
    ) {
        let context = Reply {
            hub: &self.hub,
            connection: self.number,
            carried: self.marks.carried,
        };
        let held = context.held(request, receipt, id_hash, body, now);
        self.last = held.after == After::Close;
        if self.queue.is_empty() && held.is_ready(&self.hub, now) && !held.is_stream() {
            self.emit(held, now);
        } else {
            self.queue.push_back(held);
        }
    }

    /// Answers what cannot be read as a request, and reads no further.
    fn refuse(&mut self, status: u16, receipt: Option<Receipt>) {
        self.hub.ledger.borrow_mut().refused();
        let answer = Answer::Small(Small::refusal(status));
        let receipt = receipt.map(|receipt| receipt.planned_at(None));
        self.queue
            .push_back(Held::new(receipt, Hold::Nothing, answer, After::Close));
        self.last = true;
    }

    /// Moves what is ready from the queue to the output, up to the first stream.
    fn release(&mut self, now: Instant) {
        let ready = |held: &Held| held.is_ready(&self.hub, now) && !held.is_stream();
        let count = self.queue.iter().take_while(|held| ready(held)).count();
        for _ in 0..count {
            if self.output.len() >= MUCH_OUTPUT {
                return;
            }
            if let Some(held) = self.queue.pop_front() {
                self.emit(held, now);
            }
        }
    }

    fn emit(&mut self, held: Held, now: Instant) {
        let body = match &held.answer {
            Answer::Item(script, item) => {
                if self.output.is_empty() && held.after == After::Keep && item.is_plain() {
                    let bytes = script.plain(item.token(), &self.hub.date, now);
                    let sent = self.stream.try_write(&bytes).unwrap_or(0);
                    self.hub.ledger.borrow_mut().wrote(sent);
                    self.output.extend_from_slice(&bytes[sent..]);
                    script.body_bytes()
                } else {
                    script.write(&mut self.output, *item, held.after, &self.hub.date, now)
                }
            }
            Answer::Small(small) => small.write(&mut self.output, held.after, &self.hub, now),
            Answer::Stream(_) => 0,
        };
        let Some(receipt) = held.receipt else {
            return;
        };
        self.hub.ledger.borrow_mut().wrote_body(body);
        if self.output.is_empty() {
            self.hub
                .ledger
                .borrow_mut()
                .answered(receipt, Instant::now());
        } else {
            self.unwritten.push(receipt);
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let mut wire = Wire {
            stream: &mut self.stream,
            hub: &self.hub,
        };
        wire.send(&self.output).await?;
        self.output.clear();
        self.output.shrink_to(MUCH_OUTPUT);
        // A client that has ended its side may still read, or be gone: then the write was answered
        // by a reset.
        if self.ended {
            self.stream.take_error()?.map_or(Ok(()), Err)?;
        }
        self.written();
        Ok(())
    }

    /// Plays the stream at the head of the queue; true when the connection is over.
    async fn play(&mut self) -> io::Result<bool> {
        let stream = match self.queue.pop_front() {
            Some(Held {
                answer: Answer::Stream(stream),
                receipt,
                ..
            }) => {
                self.unwritten.extend(receipt);
                stream
            }
            _ => return Ok(false),
        };
        let mut wire = Wire {
            stream: &mut self.stream,
            hub: &self.hub,
        };
        let end = stream.play(&mut wire).await?;
        self.written();
        match end {
            End::Keep => Ok(false),
            End::Close => self.finish().await.map(|()| true),
            End::Drop => Ok(true),
        }
    }

    /// The answers of the output are out.
    fn written(&mut self) {
        let now = Instant::now();
        let mut ledger = self.hub.ledger.borrow_mut();
        self.unwritten
            .drain(..)
            .for_each(|receipt| ledger.answered(receipt, now));
    }

    /// Waits for bytes, the client's end, or the first answer of the queue.
    async fn wait(&mut self) -> io::Result<()> {
        let Connection {
            hub,
            stream,
            input,
            queue,
            hungry,
            ended,
            last,
            ..
        } = self;
        poll_fn(|context| {
            if let Some(held) = queue.front_mut() {
                if held.is_ready(hub, Instant::now()) {
                    return Poll::Ready(Ok(()));
                }
                held.wait(hub, context.waker());
            }
            if *ended || input.is_full() {
                return Poll::Pending;
            }
            input.poll_read(stream, context).map_ok(|count| {
                *ended = count == 0;
                *hungry = false;
                if *last {
                    input.used(count);
                }
            })
        })
        .await
    }

    /// Ends the origin's side, and waits a while for the client to end its own.
    async fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        let mut wire = Wire {
            stream: &mut self.stream,
            hub: &self.hub,
        };
        // Whether the client ends in time or not, the connection is dropped next.
        let _ = tokio::time::timeout(LINGER, wire.until_end()).await;
        Ok(())
    }
}
