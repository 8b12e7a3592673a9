//! An HTTP/3 server for the tests: raw frames over `quinn`, so that it need not follow the rules.

use std::future::Future;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hecaton::{Batch, Client, Config, Outcome, Protocol, Proxy, Reactor, Request};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    Connection, Endpoint, EndpointConfig, RecvStream, SendStream, TokioRuntime, TransportConfig,
};
use tokio::sync::oneshot;

use crate::tls_server::Authority;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;

pub const NO_ERROR: u32 = 0x100;
pub const INTERNAL_ERROR: u32 = 0x102;
pub const REQUEST_REJECTED: u32 = 0x10b;
pub const REQUEST_CANCELLED: u32 = 0x10c;
pub const VERSION_FALLBACK: u32 = 0x110;

/// A server until it is dropped.
pub struct Peer {
    pub port: u16,
    pub authority: Authority,
    connections: Arc<AtomicUsize>,
    _stop: oneshot::Sender<()>,
}

impl Peer {
    /// Serves each connection with `script`, which gets its number.
    pub fn serve<F>(script: impl Fn(Raw, usize) -> F + Send + 'static) -> Peer
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Setup::new().serve(script)
    }

    pub fn with<F>(
        change: impl FnOnce(&mut TransportConfig),
        script: impl Fn(Raw, usize) -> F + Send + 'static,
    ) -> Peer
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut setup = Setup::new();
        change(&mut setup.transport);
        setup.serve(script)
    }

    /// A server that responds to each request by its path.
    pub fn start() -> Peer {
        Peer::serve(respond_to_all)
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// What a server is made of.
pub struct Setup {
    pub authority: Authority,
    pub tls: rustls::ServerConfig,
    pub transport: TransportConfig,
    pub endpoint: EndpointConfig,
    /// Whether a client must show by a Retry packet that it receives what is sent to its address.
    pub retries: bool,
}

impl Setup {
    pub fn new() -> Setup {
        let authority = Authority::new();
        let identity = authority.sign(&["localhost", "127.0.0.1"]);
        let tls = identity.server(&[&rustls::version::TLS13]);
        Setup::of(authority, tls)
    }

    pub fn of(authority: Authority, tls: rustls::ServerConfig) -> Setup {
        Setup {
            authority,
            tls,
            transport: TransportConfig::default(),
            endpoint: EndpointConfig::default(),
            retries: false,
        }
    }

    /// Serves each connection with `script`, which gets its number.
    pub fn serve<F>(mut self, script: impl Fn(Raw, usize) -> F + Send + 'static) -> Peer
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if self.tls.alpn_protocols.is_empty() {
            self.tls.alpn_protocols = vec![b"h3".into()];
        }
        let crypto = QuicServerConfig::try_from(self.tls).unwrap();
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(self.transport));
        let (stop, stopped) = oneshot::channel::<()>();
        let (say, port) = std::sync::mpsc::channel();
        let connections: Arc<AtomicUsize> = Arc::default();
        let count = connections.clone();
        thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build().unwrap().block_on(async {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                say.send(socket.local_addr().unwrap().port()).unwrap();
                let runtime = Arc::new(TokioRuntime);
                let endpoint = Endpoint::new(self.endpoint, Some(config), socket, runtime).unwrap();
                let serving = serve(&endpoint, script, &count, self.retries);
                tokio::select! { () = serving => {}, _ = stopped => {} }
            });
        });
        Peer {
            port: port.recv().unwrap(),
            authority: self.authority,
            connections,
            _stop: stop,
        }
    }
}

async fn serve<F>(
    endpoint: &Endpoint,
    script: impl Fn(Raw, usize) -> F,
    connections: &AtomicUsize,
    retries: bool,
) where
    F: Future<Output = ()> + Send + 'static,
{
    while let Some(incoming) = endpoint.accept().await {
        if retries && !incoming.remote_address_validated() {
            incoming.retry().unwrap();
            continue;
        }
        let Ok(connection) = incoming.await else {
            continue;
        };
        let number = connections.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(script(Raw::new(connection).await, number));
    }
}

/// One connection of a server.
pub struct Raw {
    pub connection: Connection,
    /// The control stream. Nothing is on it yet but its type and empty settings.
    pub control: SendStream,
}

/// The bytes of one frame.
pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    // A length of four bytes fits all.
    let length = (payload.len() as u32 | 0x8000_0000).to_be_bytes();
    [&[kind][..], &length, payload].concat()
}

/// A block of fields: `:status: 200` (RFC 9204 appendix A), and more.
pub fn ok(more: &[u8]) -> Vec<u8> {
    frame(HEADERS, &[&[0, 0, 0xd9], more].concat())
}

/// A field, literally (RFC 9204 §4.5.6).
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    integer(&mut out, 0x20, 3, name.len());
    out.extend(name.as_bytes());
    integer(&mut out, 0, 7, value.len());
    out.extend(value.as_bytes());
    out
}

fn integer(out: &mut Vec<u8>, flags: u8, bits: u32, value: usize) {
    let mask = (1 << bits) - 1;
    if value < mask {
        return out.push(flags | value as u8);
    }
    out.push(flags | mask as u8);
    let mut rest = value - mask;
    while rest >= 128 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

impl Raw {
    async fn new(connection: Connection) -> Raw {
        let mut control = connection.open_uni().await.unwrap();
        let _ = control.write_all(&[0, SETTINGS, 0]).await;
        Raw {
            connection,
            control,
        }
    }

    /// Requests below this stream were or might be processed, and no others.
    pub async fn go_away(&mut self, stream: u8) {
        let _ = self.control.write_all(&frame(GOAWAY, &[stream])).await;
    }

    /// The next request, as far as its head; none when the client has closed the connection.
    pub async fn request(&self) -> Option<Stream> {
        let (send, recv) = self.connection.accept_bi().await.ok()?;
        let mut stream = Stream {
            send,
            recv,
            head: Vec::new(),
        };
        stream.head = stream.frame().await?.1;
        Some(stream)
    }

    /// Waits until the client closes the connection; the code.
    pub async fn closed(&self) -> Option<u64> {
        match self.connection.closed().await {
            quinn::ConnectionError::ApplicationClosed(close) => Some(close.error_code.into_inner()),
            _ => None,
        }
    }
}

/// The stream of one request.
pub struct Stream {
    pub send: SendStream,
    pub recv: RecvStream,
    /// The block of the request's fields.
    pub head: Vec<u8>,
}

impl Stream {
    /// The next frame of the request; none at its end.
    pub async fn frame(&mut self) -> Option<(u64, Vec<u8>)> {
        let kind = self.integer().await?;
        let length = self.integer().await?;
        let mut payload = vec![0; length as usize];
        self.recv.read_exact(&mut payload).await.ok()?;
        Some((kind, payload))
    }

    async fn integer(&mut self) -> Option<u64> {
        let mut first = [0];
        self.recv.read_exact(&mut first).await.ok()?;
        let mut rest = vec![0; (1 << (first[0] >> 6)) - 1];
        self.recv.read_exact(&mut rest).await.ok()?;
        let value = u64::from(first[0] & 0x3f);
        Some(
            rest.iter()
                .fold(value, |value, byte| value << 8 | u64::from(*byte)),
        )
    }

    /// The path of the request. Our client writes it as an entry of the static table, or as a literal value.
    pub fn path(&self) -> String {
        let mut rest = &self.head[..];
        while let Some(at) = rest.iter().position(|byte| *byte == 0x51) {
            let length = usize::from(*rest.get(at + 1).unwrap_or(&0));
            match rest.get(at + 2..at + 2 + length) {
                Some(path) if path.starts_with(b"/") => {
                    return String::from_utf8_lossy(path).into_owned();
                }
                _ => rest = &rest[at + 1..],
            }
        }
        "/".to_owned()
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        let _ = self.send.write_all(bytes).await;
    }

    /// Writes these bytes and ends the stream.
    pub async fn end_with(&mut self, bytes: &[u8]) {
        self.write(bytes).await;
        let _ = self.send.finish();
    }

    pub async fn respond(&mut self, body: &[u8]) {
        self.end_with(&[ok(&[]), frame(DATA, body)].concat()).await;
    }

    /// Waits until what was written has arrived, or the client reads no more; the code then.
    pub async fn stopped(&mut self) -> Option<u64> {
        self.send
            .stopped()
            .await
            .ok()?
            .map(quinn::VarInt::into_inner)
    }
}

/// Responds to each request by its path.
pub async fn respond_to_all(raw: Raw, _: usize) {
    while let Some(stream) = raw.request().await {
        tokio::spawn(respond_to(stream));
    }
}

async fn respond_to(mut stream: Stream) {
    let path = stream.path();
    let (route, number) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let number: usize = number.parse().unwrap_or_default();
    match route {
        "delay" => tokio::time::sleep(Duration::from_millis(number as u64)).await,
        "bytes" => return stream.respond(&vec![b'x'; number]).await,
        "stall" => drop(stream.stopped().await),
        "upload" => {
            let mut received = 0;
            while let Some((_, piece)) = stream.frame().await {
                received += piece.len();
            }
            return stream.respond(received.to_string().as_bytes()).await;
        }
        "trailers" => {
            let trailers = frame(HEADERS, &[&[0, 0][..], &field("x-trailer", "1")].concat());
            let whole = [ok(&[]), frame(DATA, b"body"), trailers].concat();
            return stream.end_with(&whole).await;
        }
        "early" => {
            // `:status: 103`, twice.
            let interim = frame(HEADERS, &[0, 0, 0xd8]);
            stream.write(&[interim.clone(), interim].concat()).await;
        }
        "status" => {
            let status = [&[0, 0, 0x5f, 0x09, 3][..], number.to_string().as_bytes()].concat();
            return stream.end_with(&frame(HEADERS, &status)).await;
        }
        _ => {}
    }
    let head = ok(&[field("x-route", route), field("content-length", "2")].concat());
    stream.end_with(&[head, frame(DATA, b"ok")].concat()).await;
}

/// A client that supports HTTP/3 alone, its reactor, and a server.
pub struct World3 {
    pub peer: Peer,
    pub client: Client,
    pub reactor: Reactor,
}

impl World3 {
    pub fn new() -> World3 {
        World3::of(Peer::start(), |_| {})
    }

    pub fn of(peer: Peer, change: impl FnOnce(&mut Config)) -> World3 {
        let mut config = Config::new(Duration::from_secs(30));
        config.http = Protocol::Http3;
        config.proxy = Proxy::Off;
        config.ca = Some(peer.authority.pem.as_str().into());
        change(&mut config);
        World3 {
            peer,
            client: Client::new(config),
            reactor: Reactor::new().unwrap(),
        }
    }

    pub fn request(&self, method: &str, path: &str) -> Request {
        Request::new(method, &self.peer.url(path)).unwrap()
    }

    pub fn send(&self, request: Request) -> Outcome {
        self.reactor.block_on(self.client.send(request))
    }

    pub fn get(&self, path: &str) -> Outcome {
        self.send(self.request("GET", path))
    }

    /// Runs this many requests at once.
    pub fn batch(
        &self,
        count: usize,
        concurrency: usize,
        method: &str,
        path: &str,
    ) -> Vec<Outcome> {
        let mut batch = Batch::new(self.client.clone(), concurrency);
        (0..count).for_each(|tag| batch.push(tag, self.request(method, path)));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            self.reactor.block_on(batch.wait(&mut outcomes));
        }
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

/// The observations of a script, for the test.
pub type Seen<T> = Arc<Mutex<Vec<T>>>;

/// Waits until there is this much of it.
pub fn wait_for<T: Clone>(seen: &Seen<T>, count: usize) -> Vec<T> {
    crate::until(|| seen.lock().unwrap().len() >= count);
    seen.lock().unwrap().clone()
}
