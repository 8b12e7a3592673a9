//! A way between a client of HTTP/3 and its server, on which datagrams are lost, doubled, delayed and overtaken, or which
//! ends or leads to another server.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

/// The fates of datagrams, each as a share of a thousand.
const LOST: u64 = 20;
const DOUBLED: u64 = 20;
const DELAYED: u64 = 100;
/// The longest delay. Datagrams that are sent meanwhile overtake.
const LONGEST_MS: u64 = 20;
/// No datagram is longer.
const LONGEST: usize = 65_536;
/// Only datagrams that are full, or explore the largest size, are longer.
const LARGE: usize = 1_000;

/// A proxy of UDP, until it is dropped.
pub struct Lossy {
    pub address: SocketAddr,
    course: Arc<Mutex<Course>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Counts>>,
}

/// The parts that a test may change while datagrams pass.
struct Course {
    server: SocketAddr,
    /// How many clients there were, each with a port of its own.
    clients: usize,
    /// How many of them, from the first, send and get nothing any more.
    dead: usize,
    /// How many of the next datagrams are lost, whoever sends them.
    to_lose: usize,
    /// How many of the server's next datagrams are lost that are nearly as large as they may be.
    large_to_lose: usize,
}

/// Counts of the datagrams of both directions, by fate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub sent: u64,
    pub lost: u64,
    pub doubled: u64,
    pub delayed: u64,
}

/// Draws by xorshift, so that a seed gives the same draws everywhere.
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
        Lossy::of(server, Some(Draws(seed)))
    }

    /// A proxy on which nothing is lost until it is told.
    pub fn without_losses(server: SocketAddr) -> Lossy {
        Lossy::of(server, None)
    }

    /// From now on, nothing passes of those that have sent something, and everything of others.
    pub fn end_for_all(&self) {
        let mut course = self.course.lock().unwrap();
        course.dead = course.clients;
    }

    /// Loses so many of the next datagrams.
    pub fn lose(&self, count: usize) {
        self.course.lock().unwrap().to_lose = count;
    }

    /// Loses this many of the server's next datagrams that carry bodies or explore the largest size.
    pub fn lose_large(&self, count: usize) {
        self.course.lock().unwrap().large_to_lose = count;
    }

    /// From now on, this is the server.
    pub fn lead_to(&self, server: SocketAddr) {
        self.course.lock().unwrap().server = server;
    }

    fn of(server: SocketAddr, draws: Option<Draws>) -> Lossy {
        let course = Course {
            server,
            clients: 0,
            dead: 0,
            to_lose: 0,
            large_to_lose: 0,
        };
        let course = Arc::new(Mutex::new(course));
        let theirs = course.clone();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_nonblocking(true).unwrap();
        let address = socket.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, async {
                let clients = Rc::new(UdpSocket::from_std(socket).unwrap());
                let way = Rc::new(RefCell::new(Way {
                    draws,
                    course: theirs,
                    counts: Counts::default(),
                }));
                spawn_local(from_clients(clients, way.clone()));
                // The end of the sender is the stop.
                let _ = stopped.await;
                way.borrow().counts
            })
        });
        Lossy {
            address,
            course,
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

/// The state that the sockets of a proxy share.
struct Way {
    /// None: nothing is lost.
    draws: Option<Draws>,
    course: Arc<Mutex<Course>>,
    counts: Counts,
}

/// A datagram, and the socket that sends it on.
struct Passing {
    /// The client that sends or gets it, by its number.
    client: usize,
    from: Rc<UdpSocket>,
    /// None: the server.
    to: Option<SocketAddr>,
    bytes: Vec<u8>,
}

/// Passes on what clients send. Each client has a socket to the server, as a router has a port for each.
async fn from_clients(clients: Rc<UdpSocket>, way: Rc<RefCell<Way>>) {
    let mut ports: HashMap<SocketAddr, (usize, Rc<UdpSocket>)> = HashMap::new();
    let mut bytes = vec![0; LONGEST];
    loop {
        // An error says that an earlier datagram did not arrive, and datagrams may be lost here.
        let Ok((length, client)) = clients.recv_from(&mut bytes).await else {
            continue;
        };
        let (number, port) = match ports.get(&client) {
            Some((number, port)) => (*number, port.clone()),
            None => {
                let port = Rc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                let number = ports.len();
                let (back, way) = (clients.clone(), way.clone());
                way.borrow().course.lock().unwrap().clients = number + 1;
                spawn_local(to_client(port.clone(), back, client, number, way));
                ports.insert(client, (number, port.clone()));
                (number, port)
            }
        };
        way.borrow_mut().pass(Passing {
            client: number,
            from: port,
            to: None,
            bytes: bytes[..length].to_vec(),
        });
    }
}

/// Passes on what the server sends to a client.
async fn to_client(
    port: Rc<UdpSocket>,
    clients: Rc<UdpSocket>,
    client: SocketAddr,
    number: usize,
    way: Rc<RefCell<Way>>,
) {
    let mut bytes = vec![0; LONGEST];
    loop {
        if let Ok((length, _)) = port.recv_from(&mut bytes).await {
            way.borrow_mut().pass(Passing {
                client: number,
                from: clients.clone(),
                to: Some(client),
                bytes: bytes[..length].to_vec(),
            });
        }
    }
}

impl Way {
    fn pass(&mut self, passing: Passing) {
        let mut course = self.course.lock().unwrap();
        let is_large = passing.to.is_some() && passing.bytes.len() > LARGE;
        let large_is_lost = is_large && course.large_to_lose > 0;
        let is_lost = course.to_lose > 0 || passing.client < course.dead || large_is_lost;
        course.to_lose = course.to_lose.saturating_sub(1);
        course.large_to_lose -= usize::from(large_is_lost);
        let server = course.server;
        drop(course);
        self.counts.sent += 1;
        if is_lost {
            self.counts.lost += 1;
            return;
        }
        let send = move || {
            // At once, or lost if the system does not take it.
            let to = passing.to.unwrap_or(server);
            let _ = passing.from.try_send_to(&passing.bytes, to);
        };
        let Some(draws) = &mut self.draws else {
            return send();
        };
        let draw = draws.next() % 1000;
        if draw < LOST {
            self.counts.lost += 1;
            return;
        }
        if draw < LOST + DOUBLED {
            self.counts.doubled += 1;
            send();
        }
        if draws.next() % 1000 >= DELAYED {
            return send();
        }
        self.counts.delayed += 1;
        let delay = Duration::from_millis(1 + draws.next() % LONGEST_MS);
        spawn_local(async move {
            tokio::time::sleep(delay).await;
            send();
        });
    }
}
