//! The server of a case: it does what the steps say, byte by byte, and records what happens.

mod connection;
pub(crate) mod frames;
pub(crate) mod frames3;
mod hello;
pub mod hpack;
mod http1;
mod http2;
mod http3;
mod identity;
mod link;
mod log;
mod play;
pub(crate) mod qpack;
mod request;
mod secure;

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use socket2::{Domain, SockRef, Socket, Type};

use crate::case::{Addresses, Budget, Call, Case};

use identity::Identity;
pub use log::{Entry, Event, Log, call_at, shown};
pub use play::RUN;
use play::Shared;

/// The name of a host that only cases know, which they say the addresses of.
const NAME: &str = "audit.test";

/// The addresses whose connections are never accepted.
const SILENT_HOSTS: [&str; 2] = ["127.0.0.3", "::1"];

/// The size of the buffer of a connection on which a long body comes.
const SMALL_BUFFER: usize = 16 << 10;

/// The ports of servers, and how many of them are tried.
const CHOSEN: std::ops::Range<u16> = 10_000..32_000;
const TRIES: usize = 100;

/// The longest wait for connections to end when the server goes down.
const TO_GO_DOWN: Duration = Duration::from_secs(1);

/// How often a thread that accepts looks whether the server is to stop, if no connection wakes it: making one needs a
/// descriptor, and there may be none.
const TO_LOOK: Duration = Duration::from_secs(1);

/// The names of a server's addresses, and of those where it does QUIC.
const NAMES: [&str; 4] = ["main", identity::GOOD, "other host", "proxy"];
const OVER_QUIC: [&str; 2] = ["main", identity::GOOD];

/// The host of redirects to another host. All of 127.0.0.0/8 is this machine on Linux.
const OTHER_HOST: &str = "127.0.0.2";

/// A server on four addresses: its own, another port, another host, and a proxy. Each of them also does TLS.
pub struct Server {
    shared: Arc<Shared>,
    ca: String,
    /// Holds the silent addresses for as long as the server lives.
    _silent: Vec<(Socket, TcpStream)>,
    /// Its sockets stay open until its threads have ended, so that nobody else gets a port that is still connected to.
    listeners: Vec<Arc<TcpListener>>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts it for some cases; a budget ends it.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn start(cases: Vec<Case>, budget: Option<Budget>) -> Result<Server> {
        let main = numbered("127.0.0.1")?;
        if cases.iter().flat_map(|case| &case.calls).any(Call::is_long) {
            // Otherwise the system would take the whole body although nobody reads it.
            SockRef::from(&main).set_recv_buffer_size(SMALL_BUFFER)?;
        }
        let port = main.local_addr()?.port();
        let other_port = numbered("127.0.0.1")?;
        // Cookies ignore ports, so the other host may use any port.
        let other_host = TcpListener::bind((OTHER_HOST, port))
            .or_else(|_| numbered(OTHER_HOST))
            .with_context(|| format!("{OTHER_HOST} is not an address of this machine"))?;
        let proxy = numbered("127.0.0.1")?;
        let addresses = addresses_of([
            main.local_addr()?,
            other_port.local_addr()?,
            other_host.local_addr()?,
            proxy.local_addr()?,
        ]);
        let identity = Identity::of(&cases)?;
        let silent = silent(&cases, port)?;
        let ca = identity.as_ref().map(|identity| identity.ca.clone());
        let shared = Arc::new(Shared::new(cases, addresses, budget, identity));
        let listeners = [main, other_port, other_host, proxy].map(Arc::new);
        let threads = listen(&listeners, &shared)?;
        Ok(Server {
            shared,
            ca: ca.unwrap_or_default(),
            _silent: silent,
            listeners: listeners.into(),
            threads,
        })
    }

    /// The stops of a call, for the URLs that the client gets.
    pub fn addresses(&self, case: &Case, call: &str) -> Addresses {
        self.shared.addresses(&case.id, call)
    }

    /// The certificate of the authority that clients should trust, as PEM; empty for a case without TLS.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// Says which call is made now, for what has no path: handshakes, and CONNECT.
    pub fn make_current(&self, call: &str) {
        self.shared.make_current(call);
    }

    /// Notes that the client has returned from the current call, which a step may wait for.
    pub fn note_return(&self) {
        self.shared.note_return();
    }

    /// Waits until the client has closed all connections, at most for `longest`.
    pub fn linger(&self, longest: Duration) {
        self.shared.linger(longest);
    }

    /// Waits until all steps that began are done, or only wait for the client, or `longest` is over.
    pub fn settle(&self, longest: Duration) {
        self.shared.settle(longest);
    }

    /// Closes all connections, and refuses new ones to its own address until [`Server::come_up`]. The address stays its own.
    /// Every listener of Rust sets `SO_REUSEADDR` (socket(7)), and while two sockets have it and neither accepts, both may bind one address.
    ///
    /// # Errors
    /// If the system cannot stop a socket from accepting.
    pub fn go_down(&self) -> Result<()> {
        let socket = SockRef::from(&*self.listeners[0]);
        let down = socket.shutdown(Shutdown::Read);
        down.and_then(|()| socket.set_reuse_address(false))
            .context("the server cannot go down")?;
        self.shared.end_connections(TO_GO_DOWN);
        Ok(())
    }

    /// Accepts connections again.
    ///
    /// # Errors
    /// If the system cannot let a socket accept again.
    pub fn come_up(&self) -> Result<()> {
        let socket = SockRef::from(&*self.listeners[0]);
        // Its old connections have the address still.
        let up = socket.set_reuse_address(true);
        up.and_then(|()| socket.listen(128))
            .context("the server cannot come up again")
    }

    /// The log until now.
    pub fn log(&self) -> Log {
        self.shared.log()
    }

    /// Ends it, and returns what it recorded.
    pub fn stop(mut self) -> Log {
        self.end();
        self.shared.log()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for listener in &self.listeners {
            // If it cannot, the thread looks by itself a moment later.
            let _ = wake(listener);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.listeners.clear();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Begins to serve: TCP on each address, and UDP on two of them if the case is of HTTP/3.
fn listen(listeners: &[Arc<TcpListener>; 4], shared: &Arc<Shared>) -> Result<Vec<JoinHandle<()>>> {
    let over_quic = shared.current().is_some_and(|(case, _)| case.h3);
    let mut threads = Vec::new();
    for (listener, name) in listeners.iter().zip(NAMES) {
        SockRef::from(&**listener).set_read_timeout(Some(TO_LOOK))?;
        if over_quic && OVER_QUIC.contains(&name) {
            let address = listener.local_addr()?;
            threads.push(http3::listen(shared.clone(), address, name)?);
        }
        let (listener, shared) = (listener.clone(), shared.clone());
        threads.push(std::thread::spawn(move || accept(&listener, name, &shared)));
    }
    Ok(threads)
}

/// Wakes the thread that accepts, by a connection that is reset, so that no port is kept for it.
fn wake(listener: &TcpListener) -> io::Result<()> {
    let address = listener.local_addr()?;
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.connect_timeout(&address.into(), Duration::from_secs(1))
}

/// A port that is chosen by its number. Only then does the system leave it to a socket that stops accepting. It is below
/// the ports that the system gives away by itself (ip(7), `ip_local_port_range`): nobody gets it meanwhile by chance, and
/// there are free ones after thousands of connections, whose ports are kept for a minute.
fn numbered(host: &str) -> Result<TcpListener> {
    let mut tries = (0..TRIES).map(|_| TcpListener::bind((host, rand::random_range(CHOSEN))));
    let found = tries
        .find(|tried| !matches!(tried, Err(error) if error.kind() == io::ErrorKind::AddrInUse));
    found
        .unwrap_or_else(|| Err(io::ErrorKind::AddrInUse.into()))
        .with_context(|| format!("no port is free on {host}"))
}

/// The addresses for steps and calls: of the server itself, another port, another host, and the proxy.
fn addresses_of([main, port, host, proxy]: [SocketAddr; 4]) -> Addresses {
    Addresses {
        tls: format!("https://{main}"),
        tls_good: format!("https://{port}"),
        named: format!("http://{NAME}:{}", main.port()),
        proxy: proxy.to_string(),
        here: format!("http://{main}"),
        other_port: format!("http://{port}"),
        other_host: format!("http://{host}"),
        authority: main.to_string(),
        path: String::new(),
    }
}

/// The silent addresses that the cases need.
fn silent(cases: &[Case], port: u16) -> Result<Vec<(Socket, TcpStream)>> {
    let hosts = cases.iter().flat_map(|case| &case.calls);
    let hosts = hosts.filter_map(|call| call.hosts.as_deref());
    let hosts: Vec<&str> = hosts.flat_map(|hosts| hosts.split(',')).collect();
    let silent = SILENT_HOSTS.iter().filter(|host| hosts.contains(host));
    silent.map(|host| silent_at(host, port)).collect()
}

/// A socket whose queue of connections is full, so that the system does not respond to another one.
fn silent_at(host: &str, port: u16) -> Result<(Socket, TcpStream)> {
    let address = SocketAddr::new(host.parse::<IpAddr>()?, port);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket
        .bind(&address.into())
        .with_context(|| format!("{address} is not free"))?;
    socket.listen(0)?;
    let filler = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    Ok((socket, filler))
}

fn accept(listener: &TcpListener, name: &'static str, shared: &Arc<Shared>) {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    loop {
        let accepted = listener.accept();
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        match accepted {
            Ok((stream, _)) => {
                if let Some(id) = shared.opened(name) {
                    let shared = shared.clone();
                    connections.push(std::thread::spawn(move || {
                        http1::serve(stream, id, name, &shared)
                    }));
                }
            }
            Err(error) if connection::is_late(&error) => {}
            // No descriptor is free, for a moment.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
        connections.retain(|thread| !thread.is_finished());
    }
    for thread in connections {
        let _ = thread.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_down_keeps_its_address_and_comes_up_again() {
        let server = Server::start(Vec::new(), None).unwrap();
        let address = server.listeners[0].local_addr().unwrap();
        let _client = TcpStream::connect(address).unwrap();
        server.go_down().unwrap();
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind(address).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        server.come_up().unwrap();
        TcpStream::connect(address).unwrap();
    }
}
