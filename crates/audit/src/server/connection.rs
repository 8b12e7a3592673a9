//! One connection: reads requests, and does the steps of the attempts that they are.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use socket2::SockRef;

use super::log::Event;
use super::play::{Attempt, Shared};
use super::request::Head;
use super::sleep;
use crate::case::{Deed, Step};

/// How often a thread that waits looks whether all is over.
const GLANCE: Duration = Duration::from_millis(20);

/// The connection is over, for whatever reason; the log says which.
struct Over;

struct Connection<'a> {
    stream: TcpStream,
    id: usize,
    shared: &'a Shared,
    /// Bytes that arrived and were not read.
    input: Vec<u8>,
    /// Requests until now.
    nth: usize,
    /// The attempt that is served. It ends after the stream, so that whoever waits for it finds the connection closed.
    rest: Rest<'a>,
}

/// Serves a connection until it ends.
pub(super) fn serve(stream: TcpStream, id: usize, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(GLANCE));
    let _ = stream.set_write_timeout(Some(GLANCE));
    let mut connection = Connection {
        stream,
        id,
        shared,
        input: Vec::new(),
        nth: 0,
        rest: Rest(None),
    };
    while connection.request().is_ok() {}
}

impl Connection<'_> {
    /// Serves one request.
    fn request(&mut self) -> Result<(), Over> {
        let head = loop {
            if let Some((head, length)) = Head::take(&self.input) {
                self.input.drain(..length);
                break head;
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
        let deaf = attempt
            .steps
            .first()
            .is_some_and(|step| step.deed == Deed::Deaf);
        if !deaf {
            self.body(&head)?;
        }
        for step in attempt.steps {
            self.step(step, &attempt, &head)?;
        }
        self.rest.now();
        Ok(())
    }

    /// Waits for more bytes.
    fn fill(&mut self) -> Result<(), Over> {
        let mut buffer = [0; 16 << 10];
        loop {
            if self.shared.is_over() {
                return Err(Over);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return self.over(Event::ClientClosed),
                Ok(count) => {
                    let bytes = buffer[..count].to_vec();
                    self.input.extend(&bytes);
                    self.shared.record(self.id, Event::Received { bytes });
                    return Ok(());
                }
                Err(error) if is_late(&error) => {}
                Err(_) => return self.over(Event::ClientReset),
            }
        }
    }

    fn over<T>(&self, event: Event) -> Result<T, Over> {
        self.shared.record(self.id, event);
        Err(Over)
    }

    /// Reads the body of a request.
    fn body(&mut self, head: &Head) -> Result<(), Over> {
        if head.expects_continue() {
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let needed = |input: &[u8]| match head.is_chunked() {
            // No test's small body contains this.
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
        let (shared, id) = (self.shared, self.id);
        let fault = || {
            if step.fault {
                let (case, call) = (attempt.case.id.clone(), attempt.call.clone());
                shared.record(id, Event::Fault { case, call });
            }
        };
        let fill = |text: &str| {
            let text = attempt.places.fill(text);
            text.replace("{n}", &attempt.n.to_string())
        };
        match &step.deed {
            // A pause, or an end, has happened when it begins; bytes when they are sent.
            Deed::Pause(_)
            | Deed::Hold
            | Deed::Close
            | Deed::HalfClose
            | Deed::Reset
            | Deed::Deaf
            | Deed::Read => {
                fault();
            }
            Deed::Fine(text) => {
                self.send(fine(&fill(text), head).as_bytes())?;
                fault();
            }
            Deed::Send(text) => {
                self.send(fill(text).as_bytes())?;
                fault();
            }
            Deed::Zeros(count) => {
                self.send(&zeros(*count))?;
                fault();
            }
            Deed::SendHex(bytes) => {
                self.send(bytes)?;
                fault();
            }
            Deed::Drip(pause, text) => {
                for (index, byte) in fill(text).bytes().enumerate() {
                    self.send(&[byte])?;
                    if index == 0 {
                        fault();
                    }
                    sleep(*pause, || self.shared.is_over());
                }
            }
            Deed::Flood(times, text) => {
                let text = fill(text);
                for index in 0..*times {
                    self.send(text.as_bytes())?;
                    if index == 0 {
                        fault();
                    }
                }
            }
        }
        self.rest_of(&step.deed)
    }

    /// The effects of a step other than sending.
    fn rest_of(&mut self, deed: &Deed) -> Result<(), Over> {
        match deed {
            Deed::Pause(time) => sleep(*time, || self.shared.is_over()),
            Deed::Hold => {
                self.rest.now();
                loop {
                    self.fill()?;
                }
            }
            Deed::HalfClose => {
                let _ = self.stream.shutdown(Shutdown::Write);
                self.shared.record(self.id, Event::ServerHalfClosed);
            }
            Deed::Close => {
                let _ = self.stream.shutdown(Shutdown::Write);
                return self.over(Event::ServerClosed);
            }
            Deed::Reset => {
                let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
                return self.over(Event::ServerReset);
            }
            _ => {}
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let mut sent = 0;
        while sent < bytes.len() {
            if self.shared.is_over() {
                return Err(Over);
            }
            match self.stream.write(&bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if is_late(&error) => {}
                Err(_) => return self.over(Event::ClientReset),
            }
        }
        self.shared.record(
            self.id,
            Event::Sent {
                bytes: bytes.to_vec(),
            },
        );
        Ok(())
    }
}

/// An attempt that is being served, until it is not.
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

fn is_late(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

/// So many zeros, as gzip.
fn zeros(count: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(&vec![0; count])
        .expect("memory can be written to");
    encoder.finish().expect("memory can be written to")
}

/// A whole response with this body.
fn fine(body: &str, head: &Head) -> String {
    let length = body.len();
    let body = if head.method() == "HEAD" { "" } else { body };
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
}
