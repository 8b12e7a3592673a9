//! A connection of the saint and the sinner, and the clock of a call.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::{Class, Failure, Sins, failed};

/// The time that is left to a call.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub(super) deadline: Instant,
    limit: Duration,
    /// Whether each read has the whole limit.
    pub(super) per_read: bool,
}

impl Clock {
    pub(super) fn new(deadline: Instant) -> Clock {
        Clock {
            deadline,
            limit: deadline.saturating_duration_since(Instant::now()),
            per_read: false,
        }
    }

    /// Begins again.
    pub(super) fn reset(&mut self) {
        self.deadline = Instant::now() + self.limit;
    }

    pub(super) fn left(&self) -> Result<Duration, Failure> {
        let left = match self.per_read {
            true => self.limit,
            false => self.deadline.saturating_duration_since(Instant::now()),
        };
        match left.is_zero() {
            true => failed(Class::Late, "the time is over"),
            false => Ok(left),
        }
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// Host and port.
    pub(super) authority: String,
    /// Bytes that were received and not used yet.
    pub(super) input: Vec<u8>,
    /// Whether the last response on it did not come in time.
    pub(super) gave_up: bool,
}

impl Connection {
    pub(super) fn open(authority: &str, clock: &Clock) -> Result<Connection, Failure> {
        let Ok(address) = authority.parse::<SocketAddr>() else {
            return failed(Class::Refused, "the host is no address");
        };
        let stream = TcpStream::connect_timeout(&address, clock.left()?);
        let Ok(stream) = stream else {
            return failed(Class::Ended, "the connection could not be opened");
        };
        let _ = stream.set_nodelay(true);
        Ok(Connection {
            stream,
            authority: authority.to_owned(),
            input: Vec::new(),
            gave_up: false,
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8], clock: &Clock) -> Result<(), Failure> {
        let _ = self.stream.set_write_timeout(Some(clock.left()?));
        self.stream.write_all(bytes).map_err(failure)
    }

    /// Receives more bytes; none at the end.
    pub(super) fn fill(&mut self, clock: &Clock) -> Result<usize, Failure> {
        let mut buffer = [0; 64 << 10];
        loop {
            let _ = self.stream.set_read_timeout(Some(clock.left()?));
            match self.stream.read(&mut buffer) {
                Ok(count) => {
                    self.input.extend(&buffer[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(error)),
            }
        }
    }

    /// Whether a request can be sent: nothing has arrived, and nobody has closed it.
    pub(super) fn is_usable(&self, sins: &Sins) -> bool {
        if !self.input.is_empty() {
            return self.input.starts_with(b"HTTP/") && sins.has("keeps-after-surplus");
        }
        let _ = self.stream.set_nonblocking(true);
        let mut first = [0; 5];
        let seen = self.stream.peek(&mut first);
        let _ = self.stream.set_nonblocking(false);
        match seen {
            Ok(0) => sins.has("sends-on-closed"),
            Ok(_) if &first != b"HTTP/" => false,
            Ok(_) => {
                sins.has("takes-an-answer-to-nothing")
                    || (sins.has("keeps-after-time-out") && self.gave_up)
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock || sins.has("sends-on-reset"),
        }
    }
}

fn failure(error: std::io::Error) -> Failure {
    let (class, text) = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => (Class::Late, "the time is over"),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            (Class::Reset, "the connection was reset")
        }
        _ => (Class::Ended, "the connection ended"),
    };
    Failure { class, text }
}
