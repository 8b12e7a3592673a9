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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;

    use rustls::RootCertStore;
    use rustls::pki_types::ServerName;

    use super::*;

    /// One end of a pair of sockets, in a process that opened it or in a child.
    struct End {
        socket: UnixStream,
        is_own: bool,
        read: Cell<usize>,
    }

    impl Under for End {
        fn is_own(&self) -> bool {
            self.is_own
        }

        fn read_now(&self, piece: &mut [u8]) -> io::Result<usize> {
            let read = (&self.socket).read(piece);
            self.read
                .set(self.read.get() + read.as_ref().map_or(0, |read| *read));
            read
        }

        fn write_now(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.socket.write(bytes)
        }
    }

    fn session() -> ClientConnection {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        let name = ServerName::try_from("example.org").unwrap();
        ClientConnection::new(Arc::new(config), name).unwrap()
    }

    /// How many bytes the server gets, and how many of its own bytes were read before: of a connection that has written
    /// everything or not, in its own process or in a child.
    fn said(writes_all: bool, is_own: bool) -> (usize, usize) {
        let (socket, mut server) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        server.write_all(&[0; 1000]).unwrap();
        let mut session = session();
        if writes_all {
            session.write_tls(&mut io::sink()).unwrap();
        }
        let read = Cell::new(0);
        let mut end = End {
            socket,
            is_own,
            read,
        };
        say(&mut session, &mut end);
        let read = end.read.get();
        drop(end);
        let mut got = Vec::new();
        // A reset if unread bytes were left.
        let _ = server.read_to_end(&mut got);
        (got.len(), read)
    }

    #[test]
    fn it_is_said_once_all_is_written_and_read_and_by_its_own_process() {
        let (sent, read) = said(true, true);
        assert!(sent > 0 && read == 1000, "{sent} {read}");
        assert_eq!(said(false, true), (0, 0));
        assert_eq!(said(true, false), (0, 0));
    }
}
