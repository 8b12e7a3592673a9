//! The end of TLS on a connection that is dropped: close_notify (RFC 8446 §6.1), so that the server knows that nothing
//! was cut off.
//!
//! Best effort: bytes that the socket does not take at once are dropped. A connection that is dropped during a request
//! sends it too, because TLS itself was not cut. It is not sent while bytes wait to be written: no record can follow a
//! partial one, and a request that was given up must not be completed.

use std::io::{self, Write};

use rustls::ClientConnection;

/// How often the last bytes are read before close_notify, and how many each time. Closing a socket with unread bytes
/// resets the connection, so the server may lose the close_notify, or the alert of a failed handshake.
const DRAINS: u32 = 4;
const DRAIN: usize = 16 << 10;

/// The stream under TLS.
pub(super) trait Under {
    /// Whether this process opened it, and not one that it was forked from.
    fn is_own(&self) -> bool;

    /// Reads what the kernel has.
    fn read_now(&self, piece: &mut [u8]) -> io::Result<usize>;

    /// Writes what the kernel takes at once, whatever the reactor has seen.
    fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

/// Sends close_notify to the server or the proxy. Never waits.
pub(super) fn say(session: &mut ClientConnection, under: &mut impl Under) {
    if session.wants_write() || !under.is_own() {
        return;
    }
    drain(under);
    session.send_close_notify();
    let _ = session.write_tls(&mut Now(under));
}

/// Reads what has come, and forgets it.
pub(super) fn drain(under: &impl Under) {
    let mut piece = [0; DRAIN];
    for _ in 0..DRAINS {
        if !matches!(under.read_now(&mut piece), Ok(1..)) {
            return;
        }
    }
}

/// Writes without waiting.
pub(super) struct Now<'a, U>(pub &'a mut U);

impl<U: Under> Write for Now<'_, U> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_now(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
