//! A connection of the saint and the sinner, and the clock of a call.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use super::http2;
use super::outcome::{Class, Failure, failed};
use super::sins::Sins;

/// The time that is left to a call.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub(super) deadline: Instant,
    limit: Duration,
    /// Whether each read may take the whole limit, whatever the deadline says.
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

    /// A clock with 100 ms left, for work that is not worth a longer wait.
    pub(super) fn brief() -> Clock {
        Clock::new(Instant::now() + Duration::from_millis(100))
    }

    /// Gives the call its whole limit again, from now on.
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

/// A connection of TLS.
pub(super) type Secured = StreamOwned<ClientConnection, TcpStream>;

/// The bytes of a connection.
#[derive(Debug)]
enum Wire {
    Plain(TcpStream),
    Secured(Box<Secured>),
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    wire: Wire,
    /// Requests with the same key may use the connection.
    pub(super) key: String,
    /// Bytes that were received and not used yet.
    pub(super) input: Vec<u8>,
    /// Whether the last response on the connection did not come in time.
    pub(super) gave_up: bool,
    /// Whether the end of the connection counts as the end of TLS.
    pub(super) lenient_end: bool,
    /// When the connection was opened, or bytes came last.
    used: Instant,
    /// The start of the next request, if it was already sent with the handshake (early data).
    pub(super) sent: Vec<u8>,
    /// Most bytes of a body.
    pub(super) most: usize,
    /// Whether bytes have come since the last write.
    pub(super) got: bool,
    /// The state of HTTP/2, if it is used.
    pub(super) h2: Option<http2::State>,
}

impl Connection {
    pub(super) fn plain(stream: TcpStream, key: String) -> Connection {
        Connection::of(Wire::Plain(stream), key)
    }

    pub(super) fn secured(stream: Secured, key: String) -> Connection {
        Connection::of(Wire::Secured(Box::new(stream)), key)
    }

    fn of(wire: Wire, key: String) -> Connection {
        Connection {
            wire,
            key,
            input: Vec::new(),
            gave_up: false,
            lenient_end: false,
            used: Instant::now(),
            sent: Vec::new(),
            most: usize::MAX,
            got: false,
            h2: None,
        }
    }

    fn socket(&self) -> &TcpStream {
        match &self.wire {
            Wire::Plain(socket) => socket,
            Wire::Secured(secured) => &secured.sock,
        }
    }

    /// The socket of a connection without TLS, for a TLS handshake that the clock limits.
    pub(super) fn into_socket(self, clock: &Clock) -> Result<TcpStream, Failure> {
        let left = Some(clock.left()?);
        let _ = self.socket().set_read_timeout(left);
        let _ = self.socket().set_write_timeout(left);
        match self.wire {
            Wire::Plain(socket) => Ok(socket),
            Wire::Secured(_) => failed(Class::Refused, "TLS within TLS is not supported"),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8], clock: &Clock) -> Result<(), Failure> {
        let _ = self.socket().set_write_timeout(Some(clock.left()?));
        self.got = false;
        let sent = std::mem::take(&mut self.sent);
        let bytes = bytes.strip_prefix(&sent[..]).unwrap_or(bytes);
        let written = match &mut self.wire {
            Wire::Plain(socket) => socket.write_all(bytes),
            Wire::Secured(secured) => secured.write_all(bytes).and_then(|()| secured.flush()),
        };
        written.map_err(|error| failure(&error))
    }

    /// Receives more bytes, and returns how many: 0 at the end of the connection.
    pub(super) fn fill(&mut self, clock: &Clock) -> Result<usize, Failure> {
        let mut buffer = [0; 64 << 10];
        loop {
            let _ = self.socket().set_read_timeout(Some(clock.left()?));
            let read = match &mut self.wire {
                Wire::Plain(socket) => socket.read(&mut buffer),
                Wire::Secured(secured) => secured.read(&mut buffer),
            };
            match read {
                Ok(count) => {
                    self.input.extend(&buffer[..count]);
                    self.got |= count > 0;
                    self.used = Instant::now();
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof && self.lenient_end => {
                    return Ok(0);
                }
                Err(error) => return Err(failure(&error)),
            }
        }
    }

    /// Waits for a response, and says whether a byte of it, or the end of the connection, has come.
    pub(super) fn begins(&mut self, wait: Duration) -> bool {
        let _ = self.socket().set_read_timeout(Some(wait));
        let mut first = [0; 1];
        !self.input.is_empty() || self.socket().peek(&mut first).is_ok()
    }

    /// The time since bytes came last.
    pub(super) fn idle(&self) -> Duration {
        self.used.elapsed()
    }

    /// Whether the connection can take a request: nothing has arrived on it, and nobody has closed it.
    pub(super) fn is_usable(&self, sins: &Sins) -> bool {
        if !self.input.is_empty() {
            return self.input.starts_with(b"HTTP/") && sins.has("keeps-after-surplus");
        }
        let _ = self.socket().set_nonblocking(true);
        let mut first = [0; 5];
        let seen = self.socket().peek(&mut first);
        let _ = self.socket().set_nonblocking(false);
        match seen {
            Ok(0) => sins.has("sends-on-closed"),
            Ok(_) if &first != b"HTTP/" => false,
            Ok(_) => {
                sins.has("takes-an-unrequested-response")
                    || (sins.has("keeps-after-time-out") && self.gave_up)
            }
            Err(error) => error.kind() == ErrorKind::WouldBlock || sins.has("sends-on-reset"),
        }
    }
}

pub(super) fn failure(error: &std::io::Error) -> Failure {
    let (class, text) = match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => (Class::Late, "the time is over"),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            (Class::Reset, "the connection was reset")
        }
        _ => (Class::Ended, "the connection ended"),
    };
    Failure { class, text }
}
