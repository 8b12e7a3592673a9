//! One connection: receives, sends and ends, and records each of these.

use std::io::{ErrorKind, Read, Write};
use std::mem;
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use socket2::SockRef;

use super::link::Link;
use super::log::Event;
use super::play::{Attempt, Shared};
use crate::case::Deed;

/// How often a waiting thread checks whether the server is to stop.
pub(super) const GLANCE: Duration = Duration::from_millis(20);

/// The longest wait of a step for the client.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

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

impl Connection<'_> {
    /// A connection of HTTP/1.1 that was just accepted.
    pub(super) fn accepted<'a>(
        stream: TcpStream,
        id: usize,
        at: &'static str,
        shared: &'a Shared,
    ) -> Connection<'a> {
        let _ = stream.set_nodelay(true);
        let _ = stream.set_read_timeout(Some(GLANCE));
        let _ = stream.set_write_timeout(Some(GLANCE));
        Connection {
            link: Link::Plain(stream),
            id,
            at,
            shared,
            input: Vec::new(),
            downs: shared.downs(),
            nth: 0,
            rest: Rest(None),
        }
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

    /// Says that an attempt is being served, until [`Connection::rests`].
    pub(super) fn serve_attempt(&mut self) {
        self.rest = Rest::of(self.shared);
    }

    /// Says that the attempt is done, or only waits for the client.
    pub(super) fn rests(&mut self) {
        self.rest.now();
    }

    pub(super) fn fault(&self, attempt: &Attempt<'_>) {
        let (case, call) = (attempt.case.id.clone(), attempt.call.clone());
        self.shared.record(self.id, Event::Fault { case, call });
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

/// Counts an attempt as being served, until `now` is called or this value is dropped.
pub(super) struct Rest<'a>(Option<&'a Shared>);

impl<'a> Rest<'a> {
    pub(super) fn of(shared: &'a Shared) -> Rest<'a> {
        Rest(Some(shared))
    }

    pub(super) fn now(&mut self) {
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

/// Sleeps for `time` in slices, unless `stopped` says that it should not.
pub(super) fn sleep(time: Duration, stopped: impl Fn() -> bool) {
    let end = Instant::now() + time;
    while !stopped() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(10)));
    }
}
