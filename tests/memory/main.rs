//! `max_buffered` bounds the memory of bodies: what is allocated at most is counted while hostile bodies are received.
//! And what is allocated while requests wait for their responses. Bytes are counted and not the process's pages, so the
//! load of the machine changes nothing.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hecaton::{Batch, Client, Config, Outcome, Protocol, Proxy, Reactor, Request};
use hecaton_test_server::{Http2, Options, TestServer};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Tests take turns, because they count all that the process allocates.
static TURN: Mutex<()> = Mutex::new(());

const AT_ONCE: usize = 100;

const MAX_BUFFERED: usize = 64 << 20;

const MAX_BODY: usize = 16 << 20;

/// Memory of a request beside its body: the buffers of its connection, here and in the server.
const OF_A_REQUEST: usize = 256 << 10;

/// The largest body, while it is moved to twice the memory.
const MOVED: usize = MAX_BODY / 2;

/// The outcomes of bodies that were requested at once.
#[derive(Debug, Default)]
struct Received {
    /// How many were refused for their memory.
    refused: usize,
    /// The most whole bodies that were taken together. They count no more, but are there until they are taken.
    together: usize,
    /// The most bytes that were allocated.
    peak: usize,
}

/// Requests `AT_ONCE` bodies at once.
fn receive(http: Protocol, path: &str) -> Received {
    let options = Options {
        http2: (http == Protocol::Http2).then(Http2::default),
        ..Options::default()
    };
    let server = TestServer::start(options).expect("a test server");
    let mut config = Config::new(Duration::from_secs(60));
    config.http = http;
    config.proxy = Proxy::Off;
    config.max_body = MAX_BODY;
    config.max_buffered = Some(MAX_BUFFERED);
    let mut batch = Batch::new(Client::new(config), AT_ONCE);
    for tag in 0..AT_ONCE {
        let url = format!("{}{path}", server.base_url());
        batch.push(tag, Request::get(&url).expect("a URL"));
    }
    let reactor = Reactor::new().expect("a reactor");
    let (mut outcomes, mut received) = (Vec::new(), Received::default());
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
        let whole = outcomes.iter().filter(|(_, it)| it.is_ok()).count();
        received.together = received.together.max(whole);
        received.refused += outcomes.drain(..).filter(|(_, it)| is_refused(it)).count();
    }
    received.peak = ALLOCATED.peak_usage() - before;
    received
}

fn is_refused(outcome: &Outcome) -> bool {
    let error = outcome.as_ref().err();
    error.is_some_and(|error| error.detail().contains("max_buffered"))
}

#[test]
fn all_bodies_together_take_no_more_than_is_allowed() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let most = MAX_BUFFERED + MOVED + AT_ONCE * OF_A_REQUEST;
    for (http, path) in [
        (Protocol::Http1, "/bomb/gzip/64"),
        (Protocol::Http1, "/bytes/16000000"),
        (Protocol::Http1, "/pieces/100/50000/0"),
        (Protocol::Http2, "/bomb/gzip/64"),
    ] {
        let received = receive(http, path);
        let most = most + received.together * MAX_BODY;
        assert!(received.peak < most, "{path}: {received:?}, not {most}");
        assert!(received.refused > 0, "{path}: no body was refused");
    }
}

/// Reads requests with such bodies, each over a connection of its own, and hands the connections over.
fn read_all(listener: &TcpListener, body: usize, read: &Sender<TcpStream>) {
    for _ in 0..AT_ONCE {
        let (mut connection, _) = listener.accept().expect("a connection");
        let (mut received, mut some) = (0, [0; 4096]);
        while received < body {
            received += connection.read(&mut some).expect("a request");
        }
        let _ = read.send(connection);
    }
}

/// The program may hold one body for all requests, and the engine needs no copy of what it has sent.
#[test]
fn a_request_that_waits_for_its_response_holds_no_copy_of_its_body() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let body = Bytes::from(vec![b'x'; 12 << 10]);
    let mut config = Config::new(Duration::from_secs(60));
    config.proxy = Proxy::Off;
    let mut batch = Batch::new(Client::new(config), AT_ONCE);
    for tag in 0..AT_ONCE {
        let request = Request::new("POST", &url).expect("a URL");
        batch.push(tag, request.body(body.clone()));
    }
    let (sender, connections) = channel();
    let length = body.len();
    let server = std::thread::spawn(move || read_all(&listener, length, &sender));
    let reactor = Reactor::new().expect("a reactor");
    let before = ALLOCATED.current_usage();
    let mut outcomes = Vec::new();
    while !server.is_finished() {
        let longest = Duration::from_millis(20);
        let ended = reactor.block_on_at_most(batch.wait(&mut outcomes), longest);
        assert!(ended.is_none(), "{outcomes:?}");
    }
    let each = (ALLOCATED.current_usage() - before) / AT_ONCE;
    println!("{each} bytes for each request");
    assert_eq!(connections.iter().count(), AT_ONCE);
    assert!(each < 8 << 10, "{each} bytes for each request");
}
