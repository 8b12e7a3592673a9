//! The bytes of a connection, with TLS or without.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustls::{ServerConnection, StreamOwned};

/// A connection's bytes.
pub(super) enum Link {
    /// Without TLS.
    Plain(TcpStream),
    /// With TLS.
    Tls(Box<StreamOwned<ServerConnection, Replayed>>),
    /// Nothing, while it changes from one to the other.
    None,
}

/// A socket, and the bytes that were already read from it.
pub(super) struct Replayed {
    pub(super) before: Vec<u8>,
    pub(super) socket: TcpStream,
}

impl Read for Replayed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.before.is_empty() {
            return self.socket.read(buffer);
        }
        let count = self.before.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.before[..count]);
        self.before.drain(..count);
        Ok(count)
    }
}

impl Write for Replayed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Link {
    pub(super) fn socket(&self) -> Option<&TcpStream> {
        match self {
            Link::Plain(socket) => Some(socket),
            Link::Tls(stream) => Some(&stream.sock.socket),
            Link::None => None,
        }
    }

    /// Says over TLS that nothing more will come.
    pub(super) fn say_end(&mut self) {
        if let Link::Tls(stream) = self {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Plain(socket) => socket.read(buffer),
            Link::Tls(stream) => match stream.read(buffer) {
                // Clients often leave their `close_notify` out.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
            Link::None => Ok(0),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Plain(socket) => socket.write(bytes),
            Link::Tls(stream) => stream.write(bytes),
            Link::None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Plain(socket) => socket.flush(),
            Link::Tls(stream) => stream.flush(),
            Link::None => Ok(()),
        }
    }
}
