//! A connection of HTTP/1.1: reads requests, finds the attempt that each request is, and does the steps of that attempt.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::connection::{Connection, Over, sleep};
use super::link::Link;
use super::log::Event;
use super::play::{Attempt, Shared};
use super::request::Head;
use super::{http2, secure};
use crate::case::{Deed, Step};

/// The longest wait for other attempts of a call.
const TO_GATHER: Duration = Duration::from_secs(2);

/// Most bytes of a head.
const MOST: usize = 1 << 20;

/// Most bytes of a body.
const MOST_BODY: usize = 16 << 20;

/// Serves a connection until it ends.
pub(super) fn serve(stream: TcpStream, id: usize, at: &'static str, shared: &Shared) {
    let mut connection = Connection::accepted(stream, id, at, shared);
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
        self.serve_attempt();
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
        self.rests();
        Ok(())
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

    fn step(&mut self, step: &Step, attempt: &Attempt<'_>, head: &Head) -> Result<(), Over> {
        match &step.deed {
            // The client may never send it.
            Deed::Drain => {
                self.rests();
                self.body(head, false)?;
            }
            // Frames belong to HTTP/2 and 3, and this connection does not use them.
            Deed::Mute
            | Deed::Pinged
            | Deed::ResetStream(_)
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
