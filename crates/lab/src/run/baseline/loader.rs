//! The loader's loop: as many requests in flight as requested, on one thread.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use url::Url;

use super::alarm::{Alarm, is_alarm};
use super::connection::Connection;
use super::pace::Pace;
use super::response::Fault;
use super::tally::Tally;
use super::target::{Request, resolve};
use crate::run::{Claim, Go, Prepare, Verify};

/// How often requests are looked through for one that takes too long.
const GLANCE: Duration = Duration::from_millis(100);

/// Connections that stay open from one `go` to the next.
pub struct Loader {
    poll: Poll,
    alarm: Alarm,
    events: Events,
    connections: Vec<Connection>,
    address: SocketAddr,
    request: Request,
    timeout: Duration,
    verify: Verify,
    keepalive: bool,
    in_flight: usize,
}

impl Loader {
    /// Gets ready; nothing is opened or sent yet.
    ///
    /// # Errors
    /// A few words when the target cannot be served.
    pub fn new(prepare: &Prepare) -> Result<Loader, String> {
        let url: Url = prepare
            .url
            .parse()
            .map_err(|error| format!("url: {error}"))?;
        if url.scheme() != "http" {
            return Err(format!("url: {} is not supported", url.scheme()));
        }
        let bodyless = prepare.method == "HEAD";
        let poll = Poll::new().map_err(|error| error.to_string())?;
        Ok(Loader {
            alarm: Alarm::new(poll.registry()).map_err(|error| error.to_string())?,
            poll,
            events: Events::with_capacity(1024),
            connections: (0..prepare.concurrency)
                .map(|_| Connection::new(bodyless))
                .collect(),
            address: resolve(&url)?,
            request: Request::new(&prepare.method, &url, prepare.append_id)
                .with(prepare.fields.as_deref(), prepare.body.as_deref())?,
            timeout: Duration::from_millis(prepare.timeout_ms),
            verify: prepare.verify,
            keepalive: prepare.keepalive,
            in_flight: 0,
        })
    }

    /// Sends every request and returns what became of them.
    ///
    /// # Errors
    /// When the system's polling fails.
    pub fn go(&mut self, go: Go) -> io::Result<Claim> {
        let pace = Pace::of(&go)?;
        let mut tally = Tally::new(go, self.verify).paced(pace);
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(1));
        // Connections that the server has closed since the last round must not count as open.
        self.turn(&mut events, Duration::ZERO, &mut tally)?;
        self.send_on_idle(&mut tally);
        let mut last_glance = Instant::now();
        while self.in_flight > 0 || tally.is_left() {
            if let Some(due) = tally.next_due() {
                if due > Instant::now() {
                    self.alarm.set(due)?;
                }
                self.turn(&mut events, GLANCE, &mut tally)?;
                self.send_on_idle(&mut tally);
            } else {
                self.turn(&mut events, GLANCE, &mut tally)?;
            }
            if last_glance.elapsed() >= GLANCE {
                last_glance = Instant::now();
                self.give_up_on_late(last_glance, &mut tally);
            }
        }
        self.events = events;
        Ok(tally.into_claim())
    }

    /// Waits until something has happened, and advances every connection to which it has.
    fn turn(
        &mut self,
        events: &mut Events,
        timeout: Duration,
        tally: &mut Tally,
    ) -> io::Result<()> {
        match self.poll.poll(events, Some(timeout)) {
            Ok(()) => events
                .iter()
                .filter(|event| !is_alarm(event.token()))
                .for_each(|event| self.advance(event.token().0, tally)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Advances one connection as far as possible.
    fn advance(&mut self, index: usize, tally: &mut Tally) {
        let connection = &mut self.connections[index];
        let Some(sent) = connection.sent else {
            // Nothing is expected: the server closes an idle connection, or breaks the rules.
            if connection.receive().is_err() {
                connection.drop_stream();
            }
            return;
        };
        match connection.flush().and_then(|()| connection.receive()) {
            Ok(None) => {}
            Ok(Some(response)) => {
                let begun = connection.due.unwrap_or(sent);
                tally.responded(&response, connection.timed.then_some(begun));
                if response.close || !self.keepalive {
                    connection.drop_stream();
                }
                self.finished(index, tally);
            }
            Err(fault) => self.fail(index, fault, tally),
        }
    }

    fn fail(&mut self, index: usize, fault: Fault, tally: &mut Tally) {
        tally.failed(fault);
        self.connections[index].drop_stream();
        self.finished(index, tally);
    }

    fn finished(&mut self, index: usize, tally: &mut Tally) {
        self.connections[index].sent = None;
        self.in_flight -= 1;
        self.send_next(index, tally);
    }

    /// Sends on every connection that carries nothing, as far as there are requests that are due.
    fn send_on_idle(&mut self, tally: &mut Tally) {
        for index in 0..self.connections.len() {
            if self.connections[index].sent.is_none() {
                self.send_next(index, tally);
            }
        }
    }

    /// Sends the next request that can be sent; one that cannot is counted, and the next is tried.
    fn send_next(&mut self, index: usize, tally: &mut Tally) {
        loop {
            let due = tally.next_due();
            let Some((id, timed)) = tally.take() else {
                return;
            };
            let connection = &mut self.connections[index];
            self.request.write(id, connection.request_buffer());
            connection.timed = timed;
            connection.due = due;
            connection.sent = Some(Instant::now());
            match connection.send(self.address, self.poll.registry(), Token(index)) {
                Ok(()) => {
                    self.in_flight += 1;
                    return;
                }
                Err(fault) => {
                    connection.sent = None;
                    connection.drop_stream();
                    tally.failed(fault);
                }
            }
        }
    }

    fn give_up_on_late(&mut self, now: Instant, tally: &mut Tally) {
        for index in 0..self.connections.len() {
            if self.connections[index]
                .sent
                .is_some_and(|sent| now.duration_since(sent) > self.timeout)
            {
                self.fail(index, "timeout", tally);
            }
        }
    }
}
