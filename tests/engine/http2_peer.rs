//! HTTP/2 servers for the tests: one that follows the rules, by the `h2` crate, and one of raw frames that need not.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The observations of a server.
#[derive(Default)]
pub struct Seen {
    pub connections: usize,
    /// Requests by path, each time that one arrived.
    pub requests: Vec<String>,
    /// The streams that are open now, and the most at once.
    pub active: usize,
    pub peak: usize,
    /// How the client reset streams.
    pub resets: Vec<Reason>,
    /// Bytes of an endless body that the client's windows allowed.
    pub poured: usize,
}

pub struct Peer {
    pub url: String,
    seen: Arc<Mutex<Seen>>,
    _stop: oneshot::Sender<()>,
}

impl Peer {
    /// A server that allows `streams` at once on each connection.
    pub fn start(streams: u32) -> Peer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = serve(listener, streams, seen.clone());
        thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! { _ = serving => {}, _ = stopped => {} }
            });
        });
        Peer {
            url,
            seen,
            _stop: stop,
        }
    }

    pub fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }

    /// Waits until the observations match.
    pub fn wait_until(&self, so: impl Fn(&Seen) -> bool) {
        crate::until(|| self.seen(&so));
    }
}

async fn serve(listener: TcpListener, streams: u32, seen: Arc<Mutex<Seen>>) {
    listener.set_nonblocking(true).unwrap();
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    while let Ok((stream, _)) = listener.accept().await {
        seen.lock().unwrap().connections += 1;
        tokio::spawn(connection(stream, streams, seen.clone()));
    }
}

async fn connection(stream: tokio::net::TcpStream, streams: u32, seen: Arc<Mutex<Seen>>) {
    let mut builder = Builder::new();
    builder.max_concurrent_streams(streams);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let path = request.uri().path().to_owned();
        if path == "/last" {
            connection.graceful_shutdown();
        }
        {
            let mut seen = seen.lock().unwrap();
            seen.requests.push(path);
            seen.active += 1;
            seen.peak = seen.peak.max(seen.active);
        }
        let seen = seen.clone();
        tokio::spawn(async move {
            let _ = respond_to(request, respond, &seen).await;
            seen.lock().unwrap().active -= 1;
        });
    }
}

async fn respond_to(
    mut request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    seen: &Mutex<Seen>,
) -> Result<(), h2::Error> {
    let uri = request.uri().clone();
    let (route, number) = uri.path()[1..]
        .split_once('/')
        .unwrap_or((&uri.path()[1..], ""));
    let number: u64 = number.parse().unwrap_or_default();
    let ok = || Response::builder().status(200);
    match route {
        "delay" => sleep(Duration::from_millis(number)).await,
        "early" => informational(&mut respond)?,
        "refuse-once" if first_time(seen, uri.path()) => {
            respond.send_reset(Reason::REFUSED_STREAM);
            return Ok(());
        }
        "refuse" => {
            respond.send_reset(Reason::REFUSED_STREAM);
            return Ok(());
        }
        "reset" => {
            respond.send_reset(Reason::INTERNAL_ERROR);
            return Ok(());
        }
        "stall" => return reset_by_client(&mut respond, seen).await,
        "status" => {
            let response = Response::builder().status(number as u16).body(()).unwrap();
            respond.send_response(response, true)?;
            return Ok(());
        }
        "upload" => {
            let received = upload(request.body_mut()).await?;
            let response = ok().body(()).unwrap();
            let mut body = respond.send_response(response, false)?;
            return body.send_data(received.to_string().into(), true);
        }
        "digest" if !request.headers().contains_key("authorization") => {
            let demand = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"";
            let head = Response::builder().status(401);
            let response = head.header("www-authenticate", demand).body(()).unwrap();
            respond.send_response(response, true)?;
            return Ok(());
        }
        "echo" => {
            let response = ok().body(()).unwrap();
            let mut body = respond.send_response(response, false)?;
            return body.send_data(describe(&request).into(), true);
        }
        _ => {}
    }
    let length = match route {
        "short" => Some(10),
        "bytes" if number.is_multiple_of(2) => Some(number),
        _ => None,
    };
    let mut head = ok().header("x-route", route);
    if let Some(length) = length {
        head = head.header("content-length", length);
    }
    let ends = request.method() == http::Method::HEAD;
    let mut body = respond.send_response(head.body(()).unwrap(), ends)?;
    match route {
        _ if ends => Ok(()),
        "bytes" => send(&mut body, number).await,
        "short" => body.send_data("12345".into(), true),
        "endless" => pour(&mut body, seen).await,
        "drip" => drip(&mut body).await,
        "stall-body" => {
            body.send_data("some".into(), false)?;
            let reason = std::future::poll_fn(|cx| body.poll_reset(cx)).await?;
            seen.lock().unwrap().resets.push(reason);
            Ok(())
        }
        "reset-body" => {
            body.send_data("some".into(), false)?;
            sleep(Duration::from_millis(50)).await;
            body.send_reset(Reason::INTERNAL_ERROR);
            Ok(())
        }
        "trailers" => {
            body.send_data("body".into(), false)?;
            let mut trailers = http::HeaderMap::new();
            trailers.insert("x-trailer", "1".parse().unwrap());
            body.send_trailers(trailers)
        }
        _ => body.send_data("ok".into(), true),
    }
}

fn first_time(seen: &Mutex<Seen>, path: &str) -> bool {
    let seen = seen.lock().unwrap();
    seen.requests.iter().filter(|known| *known == path).count() == 1
}

fn informational(respond: &mut SendResponse<Bytes>) -> Result<(), h2::Error> {
    for _ in 0..3 {
        respond.send_informational(Response::builder().status(103).body(()).unwrap())?;
    }
    Ok(())
}

async fn reset_by_client(
    respond: &mut SendResponse<Bytes>,
    seen: &Mutex<Seen>,
) -> Result<(), h2::Error> {
    let reason = std::future::poll_fn(|cx| respond.poll_reset(cx)).await?;
    seen.lock().unwrap().resets.push(reason);
    Ok(())
}

async fn upload(body: &mut RecvStream) -> Result<usize, h2::Error> {
    let mut received = 0;
    while let Some(piece) = body.data().await {
        let piece = piece?;
        received += piece.len();
        body.flow_control().release_capacity(piece.len())?;
    }
    Ok(received)
}

async fn send(body: &mut SendStream<Bytes>, mut left: u64) -> Result<(), h2::Error> {
    while left > 0 {
        body.reserve_capacity(left.min(1 << 20) as usize);
        let Some(capacity) = std::future::poll_fn(|cx| body.poll_capacity(cx)).await else {
            return Ok(());
        };
        let count = left.min(capacity? as u64);
        left -= count;
        body.send_data(vec![b'x'; count as usize].into(), left == 0)?;
    }
    Ok(())
}

async fn pour(body: &mut SendStream<Bytes>, seen: &Mutex<Seen>) -> Result<(), h2::Error> {
    loop {
        body.reserve_capacity(1 << 16);
        let Some(capacity) = std::future::poll_fn(|cx| body.poll_capacity(cx)).await else {
            return Ok(());
        };
        let piece = vec![b'x'; capacity?];
        seen.lock().unwrap().poured += piece.len();
        body.send_data(piece.into(), false)?;
    }
}

async fn drip(body: &mut SendStream<Bytes>) -> Result<(), h2::Error> {
    loop {
        body.send_data("x".into(), false)?;
        sleep(Duration::from_millis(20)).await;
    }
}

/// A request's head as JSON.
fn describe<T>(request: &Request<T>) -> String {
    let headers: HashMap<_, _> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    let uri = request.uri();
    serde_json::json!({
        "method": request.method().as_str(),
        "scheme": uri.scheme_str(),
        "authority": uri.authority().map(|authority| authority.as_str()),
        "path": uri.path_and_query().unwrap().as_str(),
        "headers": headers,
    })
    .to_string()
}

/// The bytes of one frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// One connection of a server of raw frames, after the client's preface.
pub struct Raw(TcpStream);

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const PUSH_PROMISE: u8 = 5;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const PADDED: u8 = 8;
pub const END_HEADERS: u8 = 4;
pub const NO_ERROR: u32 = 0;

impl Raw {
    /// Serves each connection with `script`, which gets its number, and returns the URL.
    pub fn serve(script: impl Fn(Raw, usize) + Send + Sync + 'static) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let script = Arc::new(script);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let script = script.clone();
                thread::spawn(move || {
                    let mut raw = Raw(stream.unwrap());
                    // Otherwise a short frame waits for an acknowledgement, and is lost with a reset.
                    raw.0.set_nodelay(true).unwrap();
                    let _ = raw.0.read_exact(&mut [0; 24]);
                    raw.frame(SETTINGS, 0, 0, &[]);
                    script(raw, number);
                });
            }
        });
        url
    }

    pub fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.write(&frame(kind, flags, stream, payload));
    }

    /// `:status: 200` (RFC 7541 appendix A), and more.
    pub fn head(&mut self, stream: u32, flags: u8, more: &[u8]) {
        let block = [&[0x88], more].concat();
        self.frame(HEADERS, END_HEADERS | flags, stream, &block);
    }

    /// A head with one more field of this many bytes, in as many frames as the head needs.
    pub fn long_head(&mut self, stream: u32, flags: u8, bytes: usize) {
        // A literal without indexing, of a length in HPACK's integers (RFC 7541 §5.1).
        let mut block = vec![0x88, 0, 1, b'x', 0x7f];
        let mut rest = bytes - 127;
        while rest >= 128 {
            block.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        block.push(rest as u8);
        block.extend(vec![b'y'; bytes]);
        let frames: Vec<_> = block.chunks(16_384).collect();
        for (index, piece) in frames.iter().enumerate() {
            let kind = if index == 0 { HEADERS } else { CONTINUATION };
            let first = if index == 0 { flags } else { 0 };
            let last = index + 1 == frames.len();
            self.frame(
                kind,
                if last { first | END_HEADERS } else { first },
                stream,
                piece,
            );
        }
    }

    pub fn respond(&mut self, stream: u32) {
        self.head(stream, 0, &[]);
        self.frame(DATA, END_STREAM, stream, b"ok");
    }

    /// Streams up to `last` were or might be processed, and no others.
    pub fn go_away(&mut self, last: u32, code: u32) {
        self.frame(GOAWAY, 0, 0, &[last, code].map(u32::to_be_bytes).concat());
    }

    pub fn reset(&mut self, stream: u32, code: u32) {
        self.frame(RST_STREAM, 0, stream, &code.to_be_bytes());
    }

    /// Closes the connection. A socket that is dropped with unread bytes would reset it instead.
    pub fn hang_up(mut self) {
        self.0.shutdown(Shutdown::Write).unwrap();
        self.wait_for_end();
    }

    /// Ends the connection with a reset.
    pub fn break_off(self) {
        let socket = socket2::SockRef::from(&self.0);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// The stream of the next request; none when the client has closed the connection.
    pub fn request(&mut self) -> Option<u32> {
        loop {
            let (kind, stream) = self.next()?;
            if kind == HEADERS {
                return Some(stream);
            }
        }
    }

    /// Reads one frame: its kind and stream.
    pub fn next(&mut self) -> Option<(u8, u32)> {
        let (kind, stream, _) = self.next_whole()?;
        Some((kind, stream))
    }

    /// Reads one frame with its payload, and acknowledges settings.
    pub fn next_whole(&mut self) -> Option<(u8, u32, Vec<u8>)> {
        let (kind, flags, stream, payload) = self.read()?;
        if kind == SETTINGS && flags & 1 == 0 {
            self.frame(SETTINGS, 1, 0, &[]);
        }
        Some((kind, stream, payload))
    }

    /// Reads one frame: its kind, flags, stream and payload.
    pub fn read(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some((kind, flags, u32::from_be_bytes(stream), payload))
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes);
    }

    /// Whether all of it could be written.
    pub fn try_write(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// Reads until the client closes the connection.
    pub fn wait_for_end(&mut self) {
        while self.next().is_some() {}
    }
}
