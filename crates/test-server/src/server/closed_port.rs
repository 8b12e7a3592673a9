//! A port at which nobody listens, for those who need a connection to be refused.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A port that is held, so that nobody else can listen at it, and refuses connections at every IPv4 address of this
/// machine.
pub struct ClosedPort {
    address: SocketAddr,
    _held: TcpSocket,
}

impl ClosedPort {
    /// Takes a free port.
    ///
    /// # Errors
    /// If no port is free.
    pub fn take() -> io::Result<ClosedPort> {
        let held = TcpSocket::new_v4()?;
        held.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
        let port = held.local_addr()?.port();
        Ok(ClosedPort {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            _held: held,
        })
    }

    /// The address 127.0.0.1 and the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn connections_are_refused_and_nobody_else_gets_the_port() {
        let closed = ClosedPort::take().unwrap();
        let refused = TcpStream::connect(closed.address()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind(closed.address()).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}
