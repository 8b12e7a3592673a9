//! The end of TLS on a connection that is dropped: close_notify (RFC 8446 §6.1), so that the server knows that nothing was cut off.
//!
//! Best effort: what the socket does not take at once is left out. A connection that is dropped with a request under way says it too,
//! for TLS itself was not cut. It is left out where something still waits to be written: after a part of a record no other
//! can be read, and a request that was given up must not be completed.

use std::io::{self, Write};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, send};

use super::pipe::Pipe;
use super::wire::TlsStream;

/// How often what came last is read before the end is said, and how much of it each time: a socket that is closed with unread bytes in
/// it resets the connection, which may take the close_notify away from the server.
const DRAINS: u32 = 4;
const DRAIN: usize = 16 << 10;

/// Says to the server, or the proxy, that TLS ends here. Never waits.
pub(super) fn say(tls: &mut TlsStream) {
    let (socket, session) = tls.get_mut();
    if session.wants_write() || !socket.pipe.is_own() {
        return;
    }
    drain(&socket.pipe);
    session.send_close_notify();
    let _ = session.write_tls(&mut Now(&mut socket.pipe));
}

fn drain(pipe: &Pipe) {
    let mut piece = [0; DRAIN];
    for _ in 0..DRAINS {
        if !matches!(pipe.receive(&mut piece, MsgFlags::empty()), Ok(1..)) {
            return;
        }
    }
}

/// Writes what the kernel takes at once, whatever the reactor has seen.
struct Now<'a>(&'a mut Pipe);

impl Write for Now<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Pipe::Tls(tls) = &mut *self.0 {
            let (socket, session) = tls.get_mut();
            let count = session.writer().write(bytes)?;
            session.write_tls(&mut Now(&mut socket.pipe))?;
            return Ok(count);
        }
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        send(self.0.fd(), bytes, flags).map_err(|error| match error {
            Errno::EAGAIN => io::ErrorKind::WouldBlock.into(),
            other => other.into(),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
