//! Two responses on one HTTP/3 connection, made from a script of bytes: a success must have every byte that was sent. A
//! test runs many scripts, and the fuzz target `two_streams_http3` runs random ones.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use hecaton::Protocol;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    Connection, Endpoint, EndpointConfig, RecvStream, SendStream, TokioRuntime, TransportConfig,
};
use rustls::pki_types::PrivateKeyDer;

use crate::two_streams::{self, LONG, Server, Stage};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// A block with `:status: 200` (RFC 9204 appendix A).
const OK: [u8; 3] = [0, 0, 0xd9];

/// The response of one stream, as it was sent.
#[derive(Default)]
struct Sent {
    head: bool,
    body: Vec<u8>,
    /// Whether trailers came, behind which nothing may.
    trailers: bool,
    ended: bool,
    /// Whether all of it was a well-formed response.
    broken: bool,
}

/// Where the server writes.
#[derive(Clone, Copy)]
enum To {
    First,
    Second,
    Control,
}

enum Act {
    Write(To, Vec<u8>),
    Finish(To),
    Reset(To, u32),
    Pause,
    Close(u32),
}

/// What a server does, and what that means.
pub struct Script {
    acts: Vec<Act>,
    streams: [Sent; 2],
    /// Whether the script has an error of the whole connection, or its end.
    ends: bool,
    uploads: bool,
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    // A length of four bytes fits all.
    let length = (payload.len() as u32 | 0x8000_0000).to_be_bytes();
    [&[kind][..], &length, payload].concat()
}

impl Script {
    pub fn new(bytes: &[u8]) -> Script {
        let mut script = Script {
            acts: Vec::new(),
            streams: Default::default(),
            ends: false,
            uploads: bytes.first().is_some_and(|first| first & 1 == 1),
        };
        for pair in bytes.get(1..).unwrap_or_default().chunks_exact(2).take(100) {
            let second = pair[0] & 0x80 != 0;
            match pair[0] % 16 {
                13 => script.fault_of_connection(pair[1]),
                _ if script.streams[usize::from(second)].ended => {}
                what => script.step(what, second, pair[1]),
            }
        }
        // A stream without an end is reset, so that no request waits for it.
        for second in [false, true] {
            if !script.streams[usize::from(second)].ended {
                script.end(second, Some(0x10c));
            }
        }
        script
    }

    fn step(&mut self, what: u8, second: bool, size: u8) {
        match what {
            0 | 1 => self.head(second),
            2..=5 => self.data(second, usize::from(size) * 20),
            6 | 7 => {
                self.data(second, size.into());
                self.end(second, None);
            }
            8 => self.end(second, None),
            9 => {
                // `:status: 103`.
                self.fields(second, &[0, 0, 0xd8]);
                let sent = self.sent(second);
                sent.broken |= sent.head;
            }
            10 => {
                self.fields(second, b"\0\0\x27\x02x-trailer\x011");
                let sent = self.sent(second);
                sent.broken |= !sent.head || sent.trailers;
                sent.trailers = true;
            }
            11 => self.write(second, frame(0x21, &vec![0; size.into()])),
            12 => self.acts.push(Act::Pause),
            14 => self.fault(second, size),
            _ => self.end(second, Some(0x100 + u32::from(size % 17))),
        }
    }

    fn sent(&mut self, second: bool) -> &mut Sent {
        &mut self.streams[usize::from(second)]
    }

    fn write(&mut self, second: bool, bytes: Vec<u8>) {
        let to = if second { To::Second } else { To::First };
        self.acts.push(Act::Write(to, bytes));
    }

    fn fields(&mut self, second: bool, block: &[u8]) {
        // Behind trailers they are an error of the connection.
        self.ends |= self.sent(second).trailers;
        self.write(second, frame(HEADERS, block));
    }

    fn head(&mut self, second: bool) {
        self.fields(second, &OK);
        let sent = self.sent(second);
        sent.broken |= sent.head;
        sent.head = true;
    }

    fn data(&mut self, second: bool, count: usize) {
        let sent = self.sent(second);
        // Each byte identifies its position.
        let begin = sent.body.len();
        let bytes: Vec<u8> = (begin..begin + count).map(|at| (at % 251) as u8).collect();
        // Such a frame is an error of the connection.
        let broken = !sent.head || sent.trailers;
        sent.broken |= broken;
        sent.body.extend(&bytes);
        self.ends |= broken;
        self.write(second, frame(DATA, &bytes));
    }

    /// Ends a stream, by a reset if there is a code.
    fn end(&mut self, second: bool, code: Option<u32>) {
        let to = if second { To::Second } else { To::First };
        self.acts.push(match code {
            Some(code) => Act::Reset(to, code),
            None => Act::Finish(to),
        });
        let sent = self.sent(second);
        sent.ended = true;
        sent.broken |= code.is_some() || !sent.head;
    }

    /// An error of a stream, some of which end the connection.
    fn fault(&mut self, second: bool, size: u8) {
        let (fault, ends) = match size % 7 {
            0 => (frame(HEADERS, b"\0\0\xd9\x23X-A\x011"), false),
            1 => (
                frame(HEADERS, b"\0\0\xd9\x27\x03connection\x05close"),
                false,
            ),
            2 => (frame(HEADERS, b"\0\0\xd1"), false),
            3 => (frame(HEADERS, &[0, 0, 0x80]), true),
            4 => (frame(SETTINGS, b""), true),
            5 => (frame(6, b"12345678"), true),
            // A frame that is longer than the stream.
            _ => (vec![DATA, 0x44, 0, 1], true),
        };
        self.write(second, fault);
        self.ends |= ends || self.sent(second).trailers;
        self.sent(second).broken = true;
        if size % 7 == 6 {
            self.end(second, None);
        }
    }

    fn fault_of_connection(&mut self, size: u8) {
        self.ends = true;
        self.acts.push(match size % 5 {
            0 => Act::Write(To::Control, frame(SETTINGS, b"")),
            1 => Act::Write(To::Control, frame(GOAWAY, &[0])),
            2 => Act::Write(To::Control, frame(DATA, b"x")),
            3 => Act::Close(0x100),
            _ => Act::Close(0x102),
        });
    }
}

/// How much of a request the server takes.
const WINDOW: u32 = 2000;

/// A server that plays the script on its next connection. Returns its URL.
fn start(server: Server<Vec<Act>>) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", socket.local_addr().unwrap());
    thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(serve(socket, server));
    });
    url
}

fn config() -> quinn::ServerConfig {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = vec![b"h3".into()];
    let crypto = QuicServerConfig::try_from(tls).unwrap();
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(WINDOW.into());
    config.transport_config(Arc::new(transport));
    config
}

async fn serve(socket: UdpSocket, server: Server<Vec<Act>>) {
    let runtime = Arc::new(TokioRuntime);
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(config()), socket, runtime);
    let endpoint = endpoint.unwrap();
    while let Some(incoming) = endpoint.accept().await {
        match (server.take(), incoming) {
            (Some(acts), incoming) => {
                let swapped = server.swapped.clone();
                tokio::spawn(async move {
                    if let Ok(connection) = incoming.await {
                        play(&connection, acts, &swapped).await;
                    }
                });
            }
            // A request that is sent again finds no server.
            (None, incoming) => incoming.refuse(),
        }
    }
}

/// Waits for two requests, and does what the script says; none if the connection ends.
async fn play(connection: &Connection, acts: Vec<Act>, swapped: &AtomicBool) -> Option<()> {
    let mut control = connection.open_uni().await.ok()?;
    control.write_all(&[0, SETTINGS, 0]).await.ok()?;
    let (mut streams, mut received, mut long) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..2 {
        let (send, mut recv) = connection.accept_bi().await.ok()?;
        long.push(is_long(&mut recv).await?);
        streams.push(send);
        received.push(recv);
    }
    swapped.store(long[0], Ordering::SeqCst);
    for act in acts {
        // What cannot be done any more, because the client has ended the stream, is left out.
        match act {
            Act::Write(To::Control, bytes) => drop(control.write_all(&bytes).await),
            Act::Write(to, bytes) => drop(stream(&mut streams, to).write_all(&bytes).await),
            Act::Finish(to) => drop(stream(&mut streams, to).finish()),
            Act::Reset(to, code) => drop(stream(&mut streams, to).reset(code.into())),
            Act::Pause => tokio::time::sleep(Duration::from_millis(1)).await,
            Act::Close(code) => connection.close(code.into(), b""),
        }
    }
    connection.closed().await;
    Some(())
}

fn stream(streams: &mut [SendStream], to: To) -> &mut SendStream {
    &mut streams[usize::from(matches!(to, To::Second))]
}

/// Whether the head of a request is long: the length of its frame has two bytes.
async fn is_long(recv: &mut RecvStream) -> Option<bool> {
    let mut begin = [0; 3];
    recv.read_exact(&mut begin).await.ok()?;
    let length = u16::from_be_bytes([begin[1] & 0x3f, begin[2]]);
    Some(begin[1] & 0xc0 == 0x40 && usize::from(length) > LONG)
}

/// Runs one script, and checks both outcomes.
pub fn run(script: Script) {
    static STAGE: OnceLock<Mutex<Stage<Vec<Act>>>> = OnceLock::new();
    let stage = STAGE.get_or_init(|| Mutex::new(Stage::new(Protocol::Http3, start)));
    let stage = stage.lock().unwrap_or_else(|broken| broken.into_inner());
    let sent = script.streams.each_ref().map(|sent| two_streams::Sent {
        body: &sent.body,
        whole: sent.head && sent.ended && !sent.broken,
    });
    stage.run(script.acts, script.uploads, script.ends, sent);
}
