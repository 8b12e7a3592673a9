//! HTTP/3 of the server: a listener on UDP, and what it does on each stream. It checks nothing, because cases send what
//! no honest server would.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{Connection, ConnectionError, Endpoint, Incoming, RecvStream, SendStream, VarInt};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::connection::{GLANCE, Over, PATIENCE, Rest};
use super::frames3::{self, CONTROL, DATA, FIRST, HEADERS, NO_ERROR};
use super::identity::GOOD;
use super::log::Event;
use super::play::{Attempt, Shared};
use super::qpack::{decode, encode};
use super::request::Head;
use crate::case::{self, Deed, Step};

/// Most bytes of a frame that a client sends.
const MOST: u64 = 1 << 20;

/// The first number of the errors that stand for an alert of TLS (RFC 9001 §4.8).
const ALERTS: u64 = 0x100;

/// Serves QUIC at one of the addresses until the server is over.
pub(super) fn listen(
    shared: Arc<Shared>,
    address: SocketAddr,
    at: &'static str,
) -> Result<JoinHandle<()>> {
    let identity = shared
        .identity
        .as_ref()
        .context("a case of HTTP/3 needs a URL with {tls}")?;
    let crypto = QuicServerConfig::try_from(identity.at(at).clone())?;
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let endpoint = {
        let _inside = runtime.enter();
        Endpoint::server(config, address).with_context(|| format!("UDP {address} is not free"))?
    };
    Ok(std::thread::spawn(move || {
        runtime.block_on(accept(&endpoint, at, &shared));
    }))
}

async fn accept(endpoint: &Endpoint, at: &'static str, shared: &Arc<Shared>) {
    while !shared.is_over() {
        if let Ok(Some(incoming)) = timeout(GLANCE, endpoint.accept()).await {
            tokio::spawn(serve(incoming, at, shared.clone()));
        }
    }
    endpoint.close(VarInt::from_u32(NO_ERROR), b"");
    // The last packets leave.
    let _ = timeout(GLANCE, endpoint.wait_idle()).await;
}

/// One connection, which its streams share.
struct Peer {
    shared: Arc<Shared>,
    id: usize,
    connection: Connection,
    control: Mutex<SendStream>,
    requests: AtomicUsize,
}

/// Serves a connection until it ends.
async fn serve(incoming: Incoming, at: &'static str, shared: Arc<Shared>) {
    let Some(id) = shared.opened(at) else {
        return;
    };
    let ending = match incoming.await {
        Ok(connection) => {
            let events = secured(&connection).into_iter();
            events.for_each(|event| shared.record(id, event));
            certificate_shown(&shared, id, at);
            serve_streams(connection, id, &shared).await
        }
        Err(error) => {
            certificate_shown(&shared, id, at);
            error
        }
    };
    if let Some(code) = alert(&ending) {
        shared.record(id, Event::Alert { code });
    }
    let event = match ending {
        ConnectionError::LocallyClosed => Event::ServerClosed,
        ConnectionError::ApplicationClosed(_) | ConnectionError::ConnectionClosed(_) => {
            Event::ClientClosed
        }
        _ => Event::ClientReset,
    };
    shared.record(id, event);
}

/// The events that a handshake shows.
fn secured(connection: &Connection) -> [Event; 2] {
    let data = connection.handshake_data();
    let data = data.and_then(|data| data.downcast::<HandshakeData>().ok());
    let (alpn, sni) = data.map_or((None, None), |data| (data.protocol, data.server_name));
    [
        Event::Hello {
            sni: sni.unwrap_or_default(),
            versions: "1.3".into(),
        },
        Event::Secured {
            alpn: String::from_utf8_lossy(&alpn.unwrap_or_default()).into_owned(),
            resumed: false,
            early: 0,
        },
    ]
}

/// Records the fault of a case whose certificate is the fault.
fn certificate_shown(shared: &Shared, id: usize, at: &str) {
    let current = shared.current().filter(|_| at != GOOD);
    if let Some((case, call)) = current.filter(|(case, _)| case.tls.certificate.fault) {
        let case = case.id.clone();
        shared.record(id, Event::Fault { case, call });
    }
}

/// The alert of TLS by which a client ended the handshake.
fn alert(ending: &ConnectionError) -> Option<u8> {
    match ending {
        ConnectionError::ConnectionClosed(close) => {
            let code = u64::from(close.error_code).checked_sub(ALERTS)?;
            u8::try_from(code).ok()
        }
        _ => None,
    }
}

/// Serves the streams of a connection, and returns why it ended.
async fn serve_streams(connection: Connection, id: usize, shared: &Arc<Shared>) -> ConnectionError {
    let mut control = match connection.open_uni().await {
        Ok(control) => control,
        Err(error) => return error,
    };
    let _ = control.write_all(&FIRST).await;
    let peer = Arc::new(Peer {
        shared: shared.clone(),
        id,
        connection: connection.clone(),
        control: Mutex::new(control),
        requests: AtomicUsize::new(0),
    });
    loop {
        tokio::select! {
            stream = connection.accept_uni() => match stream {
                Ok(stream) => drop(tokio::spawn(read_control(peer.clone(), stream))),
                Err(error) => return error,
            },
            stream = connection.accept_bi() => match stream {
                Ok((send, recv)) => drop(tokio::spawn(request(peer.clone(), send, recv))),
                Err(error) => return error,
            },
        }
    }
}

/// Reads a stream of the client that belongs to no request, and records the frames on that for control.
async fn read_control(peer: Arc<Peer>, mut stream: RecvStream) {
    if frames3::integer(&mut stream).await != Ok(CONTROL) {
        // Instructions of QPACK, which need no reply.
        while let Ok(Some(_)) = stream.read_chunk(usize::MAX, true).await {}
        return;
    }
    while let Ok(Some((kind, length))) = frames3::next(&mut stream).await {
        if length > MOST || frames3::payload(&mut stream, length).await.is_err() {
            return;
        }
        peer.record_frame(kind, length, 0);
    }
}

/// Serves a stream.
async fn request(peer: Arc<Peer>, send: SendStream, recv: RecvStream) {
    let mut stream = Stream {
        id: send.id().into(),
        peer: &peer,
        send,
        recv,
        has_ended: false,
    };
    let _ = stream.serve().await;
}

impl Peer {
    fn record(&self, event: Event) {
        self.shared.record(self.id, event);
    }

    fn record_frame(&self, kind: u64, length: u64, stream: u64) {
        self.record(Event::Frame {
            kind: u8::try_from(kind).unwrap_or(u8::MAX),
            flags: 0,
            stream: u32::try_from(stream).unwrap_or_default(),
            length: usize::try_from(length).unwrap_or_default(),
            push: None,
        });
    }
}

/// The stream of a request.
struct Stream<'a> {
    id: u64,
    peer: &'a Peer,
    send: SendStream,
    recv: RecvStream,
    has_ended: bool,
}

impl Stream<'_> {
    async fn serve(&mut self) -> Result<(), Over> {
        let peer = self.peer;
        let head = self.head().await?;
        let nth = peer.requests.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(attempt) = peer.shared.attempt(peer.id, nth, &head) else {
            let head = frames3::bytes(1, &encode(&[(":status", "404")]));
            return self.send_last(&head).await;
        };
        let mut rest = Rest::of(&peer.shared);
        let first = attempt.steps.first().map(|step| &step.deed);
        if first != Some(&Deed::Deaf) {
            self.body().await?;
        }
        for step in attempt.steps {
            if step.fault {
                let (case, call) = (attempt.case.id.clone(), attempt.call.clone());
                peer.record(Event::Fault { case, call });
            }
            self.step(step, &attempt, &mut rest).await?;
        }
        Ok(())
    }

    /// The head of the request.
    async fn head(&mut self) -> Result<Head, Over> {
        let Ok(Some((HEADERS, length @ ..=MOST))) = frames3::next(&mut self.recv).await else {
            return Err(Over);
        };
        let payload = frames3::payload(&mut self.recv, length).await;
        let fields = decode(&payload.map_err(|_| Over)?).ok_or(Over)?;
        self.peer.record_frame(HEADERS, length, self.id);
        Ok(Head::of_fields(&fields, "HTTP/3"))
    }

    /// Reads the body of the request.
    async fn body(&mut self) -> Result<(), Over> {
        let mut body = Vec::new();
        let whole = loop {
            match frames3::next(&mut self.recv).await {
                Ok(Some((kind, length @ ..=MOST))) => {
                    let Ok(payload) = frames3::payload(&mut self.recv, length).await else {
                        break false;
                    };
                    self.peer.record_frame(kind, length, self.id);
                    if kind == DATA {
                        body.extend(payload);
                    }
                }
                Ok(None) => break true,
                _ => break false,
            }
        };
        let text = String::from_utf8_lossy(&body[..body.len().min(4096)]).into_owned();
        self.peer.record(Event::Body { text, whole });
        if whole { Ok(()) } else { Err(Over) }
    }

    async fn step(
        &mut self,
        step: &Step,
        attempt: &Attempt<'_>,
        rest: &mut Rest<'_>,
    ) -> Result<(), Over> {
        let fill = |text: &str| attempt.addresses.fill(text);
        match &step.deed {
            Deed::Fine(text) => self.fine(&fill(text)).await,
            Deed::Head(text, end) => {
                let head = frames3::bytes(1, &encode(&case::head_fields(&fill(text))));
                self.send_piece(&head, *end).await
            }
            Deed::Data(text, end) => {
                let data = frames3::bytes(0, fill(text).as_bytes());
                self.send_piece(&data, *end).await
            }
            Deed::SendHex(bytes) => self.send(bytes).await,
            Deed::Frame(times, frame) => self.frames(*times, frame).await,
            Deed::HalfClose => self.send_last(b"").await,
            Deed::ResetStream(code) => {
                let code = VarInt::from_u32(*code);
                let _ = (self.send.reset(code), self.recv.stop(code));
                self.done();
                Ok(())
            }
            deed => self.wait(deed, attempt, rest).await,
        }
    }

    /// Does a step that sends nothing on the stream.
    async fn wait(
        &mut self,
        deed: &Deed,
        attempt: &Attempt<'_>,
        rest: &mut Rest<'_>,
    ) -> Result<(), Over> {
        let peer = self.peer;
        let shared = &peer.shared;
        match deed {
            Deed::Pause(time) => sleep(*time).await,
            Deed::Returned => until(PATIENCE, || shared.has_returned()).await,
            Deed::Gather(count) => {
                let (case, call) = (&attempt.case.id, &attempt.call);
                until(PATIENCE, || shared.attempts_of(case, call) >= *count).await;
            }
            Deed::Drain => self.body().await?,
            Deed::Hold | Deed::Stuck => {
                rest.now();
                peer.connection.closed().await;
                return Err(Over);
            }
            Deed::Close => {
                peer.connection.close(VarInt::from_u32(NO_ERROR), b"");
                return Err(Over);
            }
            _ => {}
        }
        Ok(())
    }

    /// Sends a whole response.
    async fn fine(&mut self, body: &str) -> Result<(), Over> {
        let length = body.len().to_string();
        let fields = [
            (":status", "200"),
            ("content-type", "text/plain"),
            ("content-length", &length),
        ];
        let head = frames3::bytes(1, &encode(&fields));
        let data = frames3::bytes(0, body.as_bytes());
        self.send_last(&[head, data].concat()).await
    }

    async fn frames(&mut self, times: usize, frame: &case::Frame) -> Result<(), Over> {
        // The stream's number, as an integer of four bytes.
        let number = u32::try_from(self.id).unwrap_or_default() | 0x8000_0000;
        let bytes = frames3::bytes(frame.kind, &frame.payload(number));
        for _ in 0..times {
            if frame.stream.is_none() {
                self.send(&bytes).await?;
            } else {
                let mut control = self.peer.control.lock().await;
                control.write_all(&bytes).await.map_err(|_| Over)?;
            }
        }
        Ok(())
    }

    async fn send_piece(&mut self, bytes: &[u8], is_last: bool) -> Result<(), Over> {
        match is_last {
            true => self.send_last(bytes).await,
            false => self.send(bytes).await,
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Over> {
        self.peer.record(Event::Sent {
            bytes: bytes.to_vec(),
        });
        self.send.write_all(bytes).await.map_err(|_| Over)
    }

    async fn send_last(&mut self, bytes: &[u8]) -> Result<(), Over> {
        // A client may send its next request as soon as it has the response, so the log ends this one before.
        self.done();
        self.send(bytes).await?;
        self.send.finish().map_err(|_| Over)
    }

    fn done(&mut self) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.peer.record(Event::Done);
        }
    }
}

/// Waits until this is so, at most for `longest`.
async fn until(longest: Duration, is_so: impl Fn() -> bool) {
    let end = Instant::now() + longest;
    while !is_so() && Instant::now() < end {
        sleep(Duration::from_millis(5)).await;
    }
}
