//! One connection of the loader: a request out, a response in, and again.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::response::{Fault, Reader, Response};

/// Size of the read buffer. A body may be larger, because it is consumed as it arrives.
const BUFFER: usize = 32 << 10;

/// A connection that carries one request at a time.
#[derive(Debug)]
pub struct Connection {
    stream: Option<TcpStream>,
    reader: Reader,
    bodyless: bool,
    buffer: Vec<u8>,
    filled: usize,
    /// The request, held until all of it is written.
    request: Vec<u8>,
    written: usize,
    /// When the request in flight was begun; none if no request is in flight.
    pub sent: Option<Instant>,
    /// When that request was due, if it is sent at a rate: its latency begins then.
    pub due: Option<Instant>,
    /// Whether that request is to be timed.
    pub timed: bool,
}

impl Connection {
    /// Not yet open.
    pub fn new(bodyless: bool) -> Connection {
        Connection {
            stream: None,
            reader: Reader::new(bodyless),
            bodyless,
            buffer: vec![0; BUFFER],
            filled: 0,
            request: Vec::new(),
            written: 0,
            sent: None,
            due: None,
            timed: false,
        }
    }

    /// Where the next request is to be written.
    pub fn request_buffer(&mut self) -> &mut Vec<u8> {
        &mut self.request
    }

    /// Begins to send the request that is in [`Connection::request_buffer`], opening the connection if need be.
    ///
    /// # Errors
    /// `connect` when no connection can be opened, `closed` when the server has hung up.
    pub fn send(
        &mut self,
        address: SocketAddr,
        registry: &Registry,
        token: Token,
    ) -> Result<(), Fault> {
        self.written = 0;
        if self.stream.is_none() {
            let mut stream = TcpStream::connect(address).map_err(|_| "connect")?;
            let _ = stream.set_nodelay(true);
            // Edge-triggered: one event when the connection opens or becomes writable, and one whenever bytes arrive.
            registry
                .register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)
                .map_err(|_| "connect")?;
            self.stream = Some(stream);
            return Ok(());
        }
        self.flush()
    }

    /// Writes what is left of the request, as far as the socket takes it.
    ///
    /// # Errors
    /// `connect` when the server refuses the connection, `closed` when it has hung up.
    pub fn flush(&mut self) -> Result<(), Fault> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        while self.sent.is_some() && self.written < self.request.len() {
            match stream.write(&self.request[self.written..]) {
                Ok(count) => self.written += count,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::NotConnected
                    ) =>
                {
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    return Err("connect");
                }
                Err(_) => return Err("closed"),
            }
        }
        Ok(())
    }

    /// Reads until a response is whole or nothing more has arrived.
    ///
    /// # Errors
    /// The fault of the response; the connection must then be [`Connection::drop_stream`]ped.
    pub fn receive(&mut self) -> Result<Option<Response>, Fault> {
        let Some(stream) = &mut self.stream else {
            return Ok(None);
        };
        loop {
            match stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return self.reader.closed().map(Some),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    return Err("connect");
                }
                Err(_) => return Err("closed"),
            }
            let step = self.reader.take(&self.buffer[..self.filled])?;
            self.buffer.copy_within(step.consumed..self.filled, 0);
            self.filled -= step.consumed;
            if step.response.is_some() {
                // Nothing may follow a response before the next request is sent.
                return if self.filled == 0 {
                    Ok(step.response)
                } else {
                    Err("garbage")
                };
            }
            if self.filled == self.buffer.len() {
                return Err("head too large");
            }
        }
    }

    /// Closes; the next request opens a new connection.
    pub fn drop_stream(&mut self) {
        self.stream = None;
        self.reader = Reader::new(self.bodyless);
        self.filled = 0;
    }
}
