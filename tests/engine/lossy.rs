//! A way on which datagrams are lost, doubled, delayed and overtaken, between a client of HTTP/3 and its server.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

/// What happens to datagrams: each share is one of a thousand.
const LOST: u64 = 20;
const DOUBLED: u64 = 20;
const DELAYED: u64 = 100;
/// The longest delay. Datagrams that are sent meanwhile overtake.
const LONGEST_MS: u64 = 20;
/// No datagram is longer.
const LONGEST: usize = 65_536;

/// A proxy of UDP, until it is dropped.
pub struct Lossy {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Counts>>,
}

/// What became of the datagrams of both directions.
#[derive(Debug, Default)]
pub struct Counts {
    pub sent: u64,
    pub lost: u64,
    pub doubled: u64,
    pub delayed: u64,
}

/// Draws by xorshift, so that a seed gives the same draws everywhere.
#[derive(Default)]
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

impl Lossy {
    /// A proxy in front of that server; the seed is not zero.
    pub fn new(server: SocketAddr, seed: u64) -> Lossy {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async {
                let clients = Rc::new(UdpSocket::from_std(socket).unwrap());
                let way = Rc::new(RefCell::new(Way::new(seed)));
                spawn_local(from_clients(clients, server, way.clone()));
                // The end of the sender is the stop.
                let _ = stopped.await;
                way.take().counts
            })
        });
        Lossy {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Stops it.
    pub fn stop(mut self) -> Counts {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            let _ = thread.join();
        }
    }
}

/// What the sockets of a proxy share.
#[derive(Default)]
struct Way {
    draws: Draws,
    counts: Counts,
}

/// A datagram, and the socket that sends it on.
struct Passing {
    from: Rc<UdpSocket>,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// Passes on what clients send. Each client has a socket to the server, as a router has a port for each.
async fn from_clients(clients: Rc<UdpSocket>, server: SocketAddr, way: Rc<RefCell<Way>>) {
    let mut ports: HashMap<SocketAddr, Rc<UdpSocket>> = HashMap::new();
    let mut bytes = vec![0; LONGEST];
    loop {
        // An error says that an earlier datagram did not arrive, and datagrams may be lost here.
        let Ok((length, client)) = clients.recv_from(&mut bytes).await else {
            continue;
        };
        let port = match ports.get(&client) {
            Some(port) => port.clone(),
            None => {
                let port = Rc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                spawn_local(to_client(
                    port.clone(),
                    clients.clone(),
                    client,
                    way.clone(),
                ));
                ports.insert(client, port.clone());
                port
            }
        };
        way.borrow_mut().pass(Passing {
            from: port,
            to: server,
            bytes: bytes[..length].to_vec(),
        });
    }
}

/// Passes on what the server sends to a client.
async fn to_client(
    port: Rc<UdpSocket>,
    clients: Rc<UdpSocket>,
    client: SocketAddr,
    way: Rc<RefCell<Way>>,
) {
    let mut bytes = vec![0; LONGEST];
    loop {
        if let Ok((length, _)) = port.recv_from(&mut bytes).await {
            way.borrow_mut().pass(Passing {
                from: clients.clone(),
                to: client,
                bytes: bytes[..length].to_vec(),
            });
        }
    }
}

impl Way {
    fn new(seed: u64) -> Way {
        Way {
            draws: Draws(seed),
            ..Way::default()
        }
    }

    fn pass(&mut self, passing: Passing) {
        self.counts.sent += 1;
        let draw = self.draws.next() % 1000;
        if draw < LOST {
            self.counts.lost += 1;
            return;
        }
        if draw < LOST + DOUBLED {
            self.counts.doubled += 1;
            send(&passing);
        }
        if self.draws.next() % 1000 >= DELAYED {
            return send(&passing);
        }
        self.counts.delayed += 1;
        let delay = Duration::from_millis(1 + self.draws.next() % LONGEST_MS);
        spawn_local(async move {
            tokio::time::sleep(delay).await;
            send(&passing);
        });
    }
}

/// Sends at once, or loses what the system does not take.
fn send(passing: &Passing) {
    let _ = passing.from.try_send_to(&passing.bytes, passing.to);
}
