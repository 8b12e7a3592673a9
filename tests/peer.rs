//! The other side of a test: a server on a free port that does with each connection what the test says.
//!
//! Its threads end with it, and a panic in one of them fails the test.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A whole response with these fields, each ended by CRLF, and a body.
pub fn response(status: u16, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{fields}content-length: {length}\r\n\r\n{body}")
}

/// The bytes that a server sends after a request, and what becomes of the connection.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It stays open for the next request.
    Kept(Vec<u8>),
    /// It is closed.
    Closed(Vec<u8>),
    /// It is reset, and nothing is sent.
    Reset,
}

impl<T: Into<Vec<u8>>> From<T> for Reply {
    fn from(bytes: T) -> Reply {
        Reply::Kept(bytes.into())
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// Its number on its connection, from 0.
    pub index: usize,
    /// Its number at the server, from 0.
    pub number: usize,
    /// How many requests for its path and query came before.
    pub before: usize,
    /// Its head and its body, as they were on the wire.
    pub text: String,
}

impl Request {
    /// Its method.
    pub fn method(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// Its path and query.
    pub fn target(&self) -> &str {
        self.text.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of this field, whose name is in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.text, name)
    }
}

fn field<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let head = request.split("\r\n\r\n").next()?;
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let found = fields.find(|field| field.0.eq_ignore_ascii_case(name));
    found.map(|field| field.1.trim())
}

/// Reads requests from a connection, and never a byte more.
pub trait Requests: Read {
    /// The head of the next request; none at the end of the connection.
    fn head(&mut self) -> Option<String> {
        read_until(self, b"\r\n\r\n")
    }

    /// The next request with its body; none at the end of the connection.
    fn request(&mut self) -> Option<String> {
        let mut text = self.head()?;
        if let Some(length) = field(&text, "content-length") {
            text += &read_bytes(self, length.parse().expect("a length"))?;
        } else if field(&text, "transfer-encoding").is_some() {
            loop {
                let line = read_until(self, b"\r\n")?;
                let size = usize::from_str_radix(line.trim_end(), 16).expect("a size");
                text += &line;
                text += &read_bytes(self, size + 2)?;
                if size == 0 {
                    break;
                }
            }
        }
        Some(text)
    }
}

impl<T: Read + ?Sized> Requests for T {}

fn read_until<T: Read + ?Sized>(stream: &mut T, end: &[u8]) -> Option<String> {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(end) {
        stream.read_exact(&mut byte).ok()?;
        text.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn read_bytes<T: Read + ?Sized>(stream: &mut T, count: usize) -> Option<String> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes the end of a connection a reset.
pub fn reset_at_end(stream: &TcpStream) {
    let socket = socket2::SockRef::from(stream);
    socket.set_linger(Some(Duration::ZERO)).expect("a socket");
}

/// The requests so far, and how often each path and query came.
#[derive(Default)]
struct Came {
    requests: Vec<Request>,
    targets: HashMap<String, usize>,
}

impl Came {
    fn add(&mut self, connection: usize, index: usize, text: String) -> Request {
        let mut request = Request {
            connection,
            index,
            number: self.requests.len(),
            before: 0,
            text,
        };
        let count = self.targets.entry(request.target().to_owned());
        let count = count.or_default();
        request.before = *count;
        *count += 1;
        self.requests.push(request.clone());
        request
    }
}

type Play = dyn Fn(&TcpStream, usize) + Send + Sync;

/// The server. Dropping it ends its connections and threads.
pub struct Peer {
    address: SocketAddr,
    came: Arc<Mutex<Came>>,
    connections: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Peer {
    /// Plays each connection in a thread of its own, with its number, from 0. It is closed at the end of `play`.
    pub fn playing(play: impl Fn(&TcpStream, usize) + Send + Sync + 'static) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Peer::start(listener, Arc::default(), Arc::new(play))
    }

    /// Responds to each whole request, and keeps it.
    pub fn responding<R: Into<Reply>>(
        reply: impl Fn(&Request) -> R + Send + Sync + 'static,
    ) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Peer::responding_at(listener, reply)
    }

    /// The same, behind a listener.
    pub fn responding_at<R: Into<Reply>>(
        listener: TcpListener,
        reply: impl Fn(&Request) -> R + Send + Sync + 'static,
    ) -> Peer {
        let came = Arc::<Mutex<Came>>::default();
        let kept = came.clone();
        let play = move |stream: &TcpStream, connection: usize| {
            respond(stream, connection, &kept, |request| reply(request).into());
        };
        Peer::start(listener, came, Arc::new(play))
    }

    /// Sends these bytes after the head of a request on each connection, and closes it.
    pub fn closing(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Peer {
        Peer::playing(move |mut stream, _| {
            if stream.head().is_some() {
                let _ = stream.write_all(bytes.as_ref());
            }
        })
    }

    /// Accepts connections, and neither reads nor sends.
    pub fn mute() -> Peer {
        let open = Mutex::new(Vec::new());
        Peer::playing(move |stream, _| {
            let kept = stream.try_clone().expect("a socket");
            open.lock().expect("no thread panicked").push(kept);
        })
    }

    fn start(listener: TcpListener, came: Arc<Mutex<Came>>, play: Arc<Play>) -> Peer {
        let address = listener.local_addr().expect("an address");
        let (ends, connections) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (ended, count) = (ends.clone(), connections.clone());
        let accepting = thread::spawn(move || accept(&listener, &play, &ended, &count));
        Peer {
            address,
            came,
            connections,
            ends,
            accepting: Some(accepting),
        }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The requests that were responded to so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        let came = self.came.lock().expect("no thread panicked");
        came.requests.clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        // The thread that accepts connections wakes up.
        let _ = TcpStream::connect(self.address);
        let ended = self.accepting.take().map(JoinHandle::join);
        // A test that has failed already does not wait for threads that wait for the test.
        if !thread::panicking() {
            ended.expect("it was started").expect("a server's thread");
        }
    }
}

fn accept(listener: &TcpListener, play: &Arc<Play>, ends: &AtomicBool, count: &AtomicUsize) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut open: Vec<Weak<TcpStream>> = Vec::new();
    for stream in listener.incoming().map_while(Result::ok) {
        if ends.load(Ordering::SeqCst) {
            break;
        }
        let connection = count.fetch_add(1, Ordering::SeqCst);
        let (stream, play) = (Arc::new(stream), play.clone());
        open.push(Arc::downgrade(&stream));
        threads.push(thread::spawn(move || play(&stream, connection)));
    }
    for stream in open.iter().filter_map(Weak::upgrade) {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
    for thread in threads {
        thread.join().expect("a connection is played");
    }
}

fn respond(
    mut stream: &TcpStream,
    connection: usize,
    came: &Mutex<Came>,
    reply: impl Fn(&Request) -> Reply,
) {
    let mut reader = BufReader::new(stream);
    for index in 0.. {
        let Some(text) = reader.request() else { return };
        let mut all = came.lock().expect("no thread panicked");
        let request = all.add(connection, index, text);
        drop(all);
        match reply(&request) {
            Reply::Kept(bytes) if stream.write_all(&bytes).is_ok() => {}
            Reply::Closed(bytes) => return stream.write_all(&bytes).unwrap_or_default(),
            Reply::Reset => return reset_at_end(stream),
            Reply::Kept(_) => return,
        }
    }
}
