//! Listens and accepts: one task per connection.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::task::spawn_local;

use crate::http1::connection::Connection;
use crate::http3;
use crate::hub::Hub;
use crate::options::StartError;
use crate::server::handshake;
use crate::wire::clock;
use crate::wire::socket::Socket;
use crate::wire::tls;

/// Connections that the kernel may keep waiting (it cuts this to `net.core.somaxconn`).
const BACKLOG: u32 = 16 * 1024;
/// Descriptors that are not connections: listener, timer, event queue, standard streams, and some to spare.
const OTHER_DESCRIPTORS: u64 = 32;
/// Pause after an accept that failed because no descriptor was free.
const RECOVERY: Duration = Duration::from_millis(10);

/// The settings with which a server serves TLS on its port.
#[derive(Default)]
pub(crate) struct Ports {
    /// None serves plaintext.
    pub(crate) tcp: Option<tls::Port>,
    /// None serves no HTTP/3.
    pub(crate) udp: Option<http3::Port>,
}

/// A port that is served.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    udp: Option<quinn::Endpoint>,
}

impl Ports {
    /// Whether the runtime must know the time.
    pub(crate) fn need_time(&self) -> bool {
        self.udp.is_some() || clock::NEEDS_TIME
    }
}

impl Listening {
    /// Tells clients over UDP that the server ends. Over TCP the system does that.
    pub(crate) async fn close(&self, hub: &Hub) {
        if let Some(endpoint) = &self.udp {
            http3::close(endpoint, hub).await;
        }
    }
}

/// Binds and serves; must be called inside the runtime.
pub(crate) fn listen(
    address: SocketAddr,
    ports: Ports,
    hub: &Rc<Hub>,
) -> Result<Listening, StartError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse(address),
        _ => StartError::Listen { address, error },
    };
    let (listener, udp) = match ports.udp {
        None => (bind(address).map_err(failed)?, None),
        Some(port) => {
            let (listener, socket) = bind_both(address).map_err(failed)?;
            let endpoint = http3::listen(socket, hub.clone(), port).map_err(failed)?;
            (listener, Some(endpoint))
        }
    };
    let address = listener.local_addr()?;
    spawn_local(accept(listener, hub.clone(), ports.tcp.map(Rc::new)));
    Ok(Listening { address, udp })
}

/// How often a free port of TCP is tried whose number may be taken for UDP.
const TRIES: usize = 16;

/// Binds one number for TCP and UDP.
fn bind_both(address: SocketAddr) -> io::Result<(TcpListener, std::net::UdpSocket)> {
    let mut tries = 1;
    loop {
        let listener = bind(address)?;
        match http3::bind(listener.local_addr()?) {
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && address.port() == 0
                    && tries < TRIES =>
            {
                tries += 1;
            }
            socket => return Ok((listener, socket?)),
        }
    }
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

/// Binds a Unix socket; must be called inside the runtime.
pub(crate) fn listen_unix(path: &Path) -> Result<Unix, StartError> {
    let path = path.to_owned();
    match UnixListener::bind(&path) {
        Ok(listener) => Ok(Unix { listener, path }),
        Err(error) => Err(StartError::Unix { path, error }),
    }
}

/// A Unix socket that is listened on; dropping it removes its file.
pub(crate) struct Unix {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Unix {
    fn drop(&mut self) {
        // Another process may have removed it already.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Accepts on a Unix socket for ever.
pub(crate) async fn accept_unix(unix: Unix, hub: Rc<Hub>) {
    loop {
        match unix.listener.accept().await {
            Ok((stream, _)) => drop(spawn_local(plain(&hub, Socket::Unix(stream)).run())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(_) => hub.timer.sleep_until(Instant::now() + RECOVERY).await,
        }
    }
}

/// Accepts for ever.
pub(crate) async fn accept(listener: TcpListener, hub: Rc<Hub>, port: Option<Rc<tls::Port>>) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if hub.options.only_from.is_some_and(|only| only != peer.ip()) {
                    continue; // the connection ends with its stream
                }
                let guest = match hub.options.exposed {
                    true => match hub.guests.admit(peer.ip()) {
                        None => continue, // the connection ends with its stream
                        guest => guest,
                    },
                    false => None,
                };
                // With Nagle's algorithm a short response may wait for the client's acknowledgement. A socket that
                // refuses the option is already dead, and its task will find out.
                let _ = stream.set_nodelay(true);
                let (hub, port) = (hub.clone(), port.clone());
                match (guest, port) {
                    (None, None) => spawn_local(plain(&hub, Socket::Tcp(stream)).run()),
                    (None, Some(port)) => spawn_local(handshake::serve(hub, port, stream)),
                    (Some(guest), port) => spawn_local(async move {
                        match port {
                            None => plain(&hub, Socket::Tcp(stream)).run().await,
                            Some(port) => handshake::serve(hub, port, stream).await,
                        }
                        drop(guest);
                    }),
                };
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            // Out of descriptors: the clients wait in the backlog meanwhile.
            Err(_) => hub.timer.sleep_until(Instant::now() + RECOVERY).await,
        }
    }
}

fn plain(hub: &Rc<Hub>, socket: Socket) -> Connection {
    let entry = hub.connected();
    Connection::new(hub.clone(), socket, entry, None)
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
