//! Listens and accepts: one task per connection.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::spawn_local;

use crate::connection::Connection;
use crate::hub::Hub;
use crate::options::StartError;

/// Connections that the kernel may keep waiting (it cuts this to `net.core.somaxconn`).
const BACKLOG: u32 = 16 * 1024;
/// Descriptors that are not connections: listener, timer, event queue, standard streams, and some to spare.
const OTHER_DESCRIPTORS: u64 = 32;
/// Pause after an accept that failed for want of descriptors.
const RECOVERY: Duration = Duration::from_millis(10);

/// Binds; must be called inside the runtime.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    bind(address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse(address),
        _ => StartError::Listen { address, error },
    })
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A port whose last connections still linger in TIME_WAIT is free to take.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts for ever.
pub(crate) async fn accept(listener: TcpListener, hub: Rc<Hub>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it a short answer may wait for the client's acknowledgement; a socket that
                // refuses is already dead, and its task will find out.
                let _ = stream.set_nodelay(true);
                spawn_local(Connection::new(hub.clone(), stream).run());
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            // Out of descriptors: the clients wait in the backlog meanwhile.
            Err(_) => hub.timer.sleep_until(Instant::now() + RECOVERY).await,
        }
    }
}

/// Raises the soft limit on descriptors to the hard one; returns how many connections that allows.
pub(crate) fn raise_capacity() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return 0;
    };
    let limit = match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    };
    limit.saturating_sub(OTHER_DESCRIPTORS)
}
