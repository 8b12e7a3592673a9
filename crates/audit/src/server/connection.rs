//! One connection: reads requests, finds the attempt that each request is, and does the steps of that attempt.

use std::io::{ErrorKind, Read, Write};
use std::mem;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use socket2::SockRef;

use super::link::Link;
use super::log::Event;
use super::play::{Attempt, Shared};
use super::request::Head;
use super::{http2, secure, sleep};
use crate::case::{Deed, Step};

/// How often a waiting thread checks whether the server is to stop.
const GLANCE: Duration = Duration::from_millis(20);

/// The longest wait of a step for the client.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// The longest wait for other attempts of a call.
const TO_GATHER: Duration = Duration::from_secs(2);

/// Most bytes of a head.
const MOST: usize = 1 << 20;

/// Most bytes of a body.
const MOST_BODY: usize = 16 << 20;

/// The connection is over, for whatever reason; the log says which.
pub(super) struct Over;

pub(super) struct Connection<'a> {
    pub(super) link: Link,
    pub(super) id: usize,
    /// The name of the server's address that the client connected to.
    pub(super) at: &'static str,
    pub(super) shared: &'a Shared,
    /// Bytes that arrived and were not read.
    pub(super) input: Vec<u8>,
    /// How often the server had been down when the connection began.
    downs: usize,
    /// How many requests came until now.
    pub(super) nth: usize,
    /// The attempt that is served. It is dropped after `link`, so its end is seen only once the connection is closed.
    rest: Rest<'a>,
}

/// Serves a connection until it ends.
pub(super) fn serve(stream: TcpStream, id: usize, at: &'static str, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(GLANCE));
    let _ = stream.set_write_timeout(Some(GLANCE));
    let mut connection = Connection {
        link: Link::Plain(stream),
        id,
        at,
        shared,
        input: Vec::new(),
        downs: shared.downs(),
        nth: 0,
        rest: Rest(None),
    };
    while connection.next().is_ok() {}
}

impl Connection<'_> {
    /// Serves what comes next: a handshake, a connection of HTTP/2, or a request.
    fn next(&mut self) -> Result<(), Over> {
        if self.input.is_empty() {
            self.fill()?;
        }
        // A ClientHello, also one in a tunnel.
        if self.input[0] == 0x16 && matches!(self.link, Link::Plain(_)) {
            return match secure::handshake(self)? {
                true => http2::serve(self),
                false => Ok(()),
            };
        }
        self.request()
    }

    /// Serves one request.
    fn request(&mut self) -> Result<(), Over> {
        let head = loop {
            if let Some((head, length)) = Head::take(&self.input) {
                self.input.drain(..length);
                break head;
            }
            if self.input.len() > MOST {
                return self.over(Event::ServerClosed);
            }
            self.fill()?;
        };
        self.nth += 1;
        let shared = self.shared;
        let Some(attempt) = shared.attempt(self.id, self.nth, &head) else {
            self.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(());
        };
        self.rest = Rest(Some(shared));
        let first = attempt.steps.first().map(|step| &step.deed);
        // The fault of `mute` is silence while the body should arrive, so it happens before the body is read.
        if first == Some(&Deed::Mute) && attempt.steps[0].fault {
            self.fault(&attempt);
        }
        if first != Some(&Deed::Deaf) {
            self.body(&head, first != Some(&Deed::Mute))?;
        }
        let (last, before) = match attempt.steps.split_last() {
            Some((last, before)) if matches!(last.deed, Deed::Fine(_)) => (Some(last), before),
            _ => (None, attempt.steps),
        };
        for step in before {
            self.step(step, &attempt, &head)?;
        }
        // A client may send its next request as soon as it has the response, so the log ends this one before.
        shared.record(self.id, Event::Done);
        if let Some(step) = last {
            self.step(step, &attempt, &head)?;
        }
        self.rest.now();
        Ok(())
    }

    /// Waits for more bytes.
    pub(super) fn fill(&mut self) -> Result<(), Over> {
        while !self.fill_until(None)? {}
        Ok(())
    }

    /// Waits for more bytes until a moment, and says whether some came.
    pub(super) fn fill_until(&mut self, end: Option<Instant>) -> Result<bool, Over> {
        let mut buffer = [0; 16 << 10];
        loop {
            if self.shared.is_over() {
                return Err(Over);
            }
            if self.shared.downs() != self.downs {
                self.link.say_end();
                return self.over(Event::ServerClosed);
            }
            match self.link.read(&mut buffer) {
                Ok(0) => return self.over(Event::ClientClosed),
                Ok(count) => {
                    let bytes = buffer[..count].to_vec();
                    self.input.extend(&bytes);
                    self.shared.record(self.id, Event::Received { bytes });
                    return Ok(true);
                }
                Err(error) if is_late(&error) => {}
                Err(_) => return self.over(Event::ClientReset),
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Ok(false);
            }
        }
    }

    pub(super) fn over<T>(&self, event: Event) -> Result<T, Over> {
        self.shared.record(self.id, event);
        Err(Over)
    }

    /// Reads the body of a request.
    fn body(&mut self, head: &Head, continues: bool) -> Result<(), Over> {
        if head.expects_continue() && continues {
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let needed = |input: &[u8]| match head.is_chunked() {
            // The bodies of the cases are small, and none contains this.
            true if input.starts_with(b"0\r\n\r\n") => Some(5),
            true => input
                .windows(7)
                .position(|end| end == b"\r\n0\r\n\r\n")
                .map(|at| at + 7),
            false => (input.len() >= head.length()).then(|| head.length()),
        };
        let (length, whole) = loop {
            if let Some(length) = needed(&self.input) {
                break (length, Ok(()));
            }
            if self.input.len() > MOST_BODY {
                break (self.input.len(), Err(Over));
            }
            if let Err(over) = self.fill() {
                break (self.input.len(), Err(over));
            }
        };
        let text: Vec<u8> = self.input.drain(..length).collect();
        let event = Event::Body {
            text: String::from_utf8_lossy(&text[..text.len().min(4096)]).into_owned(),
            whole: whole.is_ok(),
        };
        self.shared.record(self.id, event);
        whole
    }

    /// Says that an attempt is being served, until [`Connection::rests`].
    pub(super) fn serve_attempt(&mut self) {
        self.rest = Rest(Some(self.shared));
    }

    /// Says that the attempt is done, or only waits for the client.
    pub(super) fn rests(&mut self) {
        self.rest.now();
    }

    pub(super) fn fault(&self, attempt: &Attempt<'_>) {
        let (case, call) = (attempt.case.id.clone(), attempt.call.clone());
        self.shared.record(self.id, Event::Fault { case, call });
    }

    fn step(&mut self, step: &Step, attempt: &Attempt<'_>, head: &Head) -> Result<(), Over> {
        match &step.deed {
            // The client may never send it.
            Deed::Drain => {
                self.rest.now();
                self.body(head, false)?;
            }
            // Frames belong to HTTP/2, and this connection does not use it.
            Deed::Mute
            | Deed::Pinged
            | Deed::Head(..)
            | Deed::Data(..)
            | Deed::Frame(..)
            | Deed::FineAll => {}
            Deed::Gather(count) => {
                let shared = self.shared;
                shared.gather(&attempt.case.id, &attempt.call, *count, TO_GATHER);
                self.fault_of(step, attempt);
            }
            deed => match Sending::of(deed, attempt, head) {
                Some(sending) => self.send_all(&sending, step, attempt)?,
                // A fault without bytes happens when its step begins.
                None => self.fault_of(step, attempt),
            },
        }
        self.rest_of(&step.deed)
    }

    /// Sends the bytes of a step, whose fault happens when the first of them are sent.
    fn send_all(
        &mut self,
        sending: &Sending,
        step: &Step,
        attempt: &Attempt<'_>,
    ) -> Result<(), Over> {
        let pieces = (0..sending.times).flat_map(|_| &sending.pieces);
        for (index, piece) in pieces.enumerate() {
            self.send(piece)?;
            if index == 0 {
                self.fault_of(step, attempt);
            }
            sleep(sending.pause, || self.shared.is_over());
        }
        Ok(())
    }

    /// Records the fault of an attempt, if this step is the fault.
    fn fault_of(&self, step: &Step, attempt: &Attempt<'_>) {
        if step.fault {
            self.fault(attempt);
        }
    }

    /// The effects of a step other than sending.
    pub(super) fn rest_of(&mut self, deed: &Deed) -> Result<(), Over> {
        match deed {
            Deed::Pause(time) => sleep(*time, || self.shared.is_over()),
            Deed::Returned => self.shared.wait_for_return(PATIENCE),
            Deed::Hold => {
                self.rest.now();
                loop {
                    self.fill()?;
                }
            }
            Deed::Stuck => {
                self.rest.now();
                while !self.shared.is_over() {
                    std::thread::sleep(GLANCE);
                }
                return Err(Over);
            }
            Deed::HalfClose => {
                self.link.say_end();
                self.end_writing();
                self.shared.record(self.id, Event::ServerHalfClosed);
            }
            Deed::Close | Deed::Cut => {
                if *deed == Deed::Close {
                    self.link.say_end();
                }
                self.end_writing();
                return self.over(Event::ServerClosed);
            }
            Deed::Reset => {
                if let Some(socket) = self.link.socket() {
                    let _ = SockRef::from(socket).set_linger(Some(Duration::ZERO));
                }
                return self.over(Event::ServerReset);
            }
            _ => {}
        }
        Ok(())
    }

    fn end_writing(&self) {
        if let Some(socket) = self.link.socket() {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Gives the socket away, to make a connection of TLS from it.
    pub(super) fn take_socket(&mut self) -> Result<TcpStream, Over> {
        match mem::replace(&mut self.link, Link::None) {
            Link::Plain(socket) => Ok(socket),
            _ => Err(Over),
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Over> {
        // The client may have the last byte before the log has it, so the log says when the first one left.
        let (began, mut sent) = (Instant::now(), 0);
        while sent < bytes.len() {
            if self.shared.is_over() {
                return Err(Over);
            }
            match self.link.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if is_late(&error) => {}
                Err(_) => return self.over(Event::ClientReset),
            }
        }
        while let Err(error) = self.link.flush() {
            if self.shared.is_over() {
                return Err(Over);
            }
            if !is_late(&error) {
                return self.over(Event::ClientReset);
            }
        }
        let bytes = bytes.to_vec();
        self.shared.record_at(began, self.id, Event::Sent { bytes });
        Ok(())
    }
}

/// The bytes that a step sends.
struct Sending {
    pieces: Vec<Vec<u8>>,
    /// How often all pieces are sent.
    times: usize,
    /// How long the server waits after each piece.
    pause: Duration,
}

impl Sending {
    /// Those of a step; none if it sends none.
    fn of(deed: &Deed, attempt: &Attempt<'_>, head: &Head) -> Option<Sending> {
        let fill = |text: &str| {
            let text = attempt.addresses.fill(text);
            text.replace("{n}", &attempt.n.to_string())
        };
        let (pieces, times, pause) = match deed {
            Deed::Fine(text) => (vec![fine(&fill(text), head).into()], 1, Duration::ZERO),
            Deed::Send(text) => (vec![fill(text).into()], 1, Duration::ZERO),
            Deed::Zeros(count) => (vec![zeros(*count)], 1, Duration::ZERO),
            Deed::SendHex(bytes) => (vec![bytes.clone()], 1, Duration::ZERO),
            Deed::Flood(times, text) => (vec![fill(text).into()], *times, Duration::ZERO),
            Deed::Drip(pause, text) => {
                let pieces = fill(text).bytes().map(|byte| vec![byte]).collect();
                (pieces, 1, *pause)
            }
            _ => return None,
        };
        Some(Sending {
            pieces,
            times,
            pause,
        })
    }
}

/// Counts an attempt as being served, until `now` is called or this value is dropped.
struct Rest<'a>(Option<&'a Shared>);

impl Rest<'_> {
    fn now(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.rests();
        }
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.now();
    }
}

pub(super) fn is_late(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// `count` zeros, compressed with gzip.
fn zeros(count: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(&vec![0; count])
        .expect("memory can be written to");
    encoder.finish().expect("memory can be written to")
}

/// A whole response with this body.
fn fine(body: &str, head: &Head) -> String {
    if head.method() == "CONNECT" {
        return "HTTP/1.1 200 OK\r\n\r\n".into();
    }
    let length = body.len();
    let body = if head.method() == "HEAD" { "" } else { body };
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
}
