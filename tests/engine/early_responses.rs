//! Servers that respond before they have read the request, and hang up: the response counts.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hecaton::{Kind, Request, Source};
use hecaton_e2e::peer::{Peer, Requests, response};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::World;
use crate::tls_server::Authority;

const REFUSAL: &[u8] =
    b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 9\r\n\r\ntoo large";

/// A body that, once the server has read some of it, continues only after the server has hung up.
struct Upload {
    pieces: u32,
    hung_up: Receiver<()>,
}

impl Source for Upload {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.pieces += 1;
        if self.pieces == 2 {
            self.hung_up.recv().expect("the server says so");
        }
        // Pieces continue until the client notices the end of the connection.
        let more = self.pieces < 1000;
        Poll::Ready(more.then(|| Ok(Bytes::from(vec![b'x'; 64 << 10]))))
    }
}

fn upload(url: &str, hung_up: Receiver<()>) -> Request {
    let pieces = 0;
    Request::new("POST", url)
        .unwrap()
        .body_from(Upload { pieces, hung_up }, None)
}

/// A server of one connection. It reads a little, sends the refusal and hangs up with the rest unread, so that its end
/// is a reset. It uses TLS if a configuration is given.
fn refusing(tls: Option<ServerConfig>) -> (Peer, Receiver<()>) {
    let (say, hung_up) = channel();
    let tls = tls.map(Arc::new);
    let peer = Peer::playing(move |mut tcp, _| {
        // Otherwise a short response would wait for the acknowledgement of earlier bytes, and be lost with the reset.
        tcp.set_nodelay(true).unwrap();
        match &tls {
            None => refuse(&mut tcp),
            Some(config) => {
                let session = ServerConnection::new(config.clone()).unwrap();
                refuse(&mut StreamOwned::new(session, tcp));
            }
        }
        say.send(()).unwrap();
    });
    (peer, hung_up)
}

fn refuse(mut stream: impl Read + Write) {
    assert_ne!(stream.read(&mut [0; 1000]).unwrap(), 0);
    stream.write_all(REFUSAL).unwrap();
    stream.flush().unwrap();
}

#[test]
fn a_refusal_during_an_upload_is_the_response_and_not_a_broken_pipe() {
    let authority = Authority::new();
    let world = World::with(|config| config.ca = Some(authority.pem.clone().into()));
    for (scheme, tls) in [
        ("http", None),
        ("https", Some(authority.sign(&["localhost"]).server_any())),
    ] {
        let (peer, hung_up) = refusing(tls);
        let request = upload(&format!("{scheme}://localhost:{}/", peer.port()), hung_up);
        let response = world.send(request).expect("the response");
        let (status, body) = (response.status(), &response.body()[..]);
        assert_eq!((status, body), (413, &b"too large"[..]), "{scheme}");
    }
}

#[test]
fn a_connection_with_half_a_request_on_it_carries_no_other() {
    // It stays open, and the rest of the request stays unread.
    let held = Mutex::new(Vec::new());
    let peer = Peer::playing(move |mut stream, _| {
        stream.head().unwrap();
        stream
            .write_all(response(200, "", "ok").as_bytes())
            .unwrap();
        held.lock().unwrap().push(stream.try_clone());
    });
    let world = World::new();
    let upload = Request::new("POST", &peer.url("/")).unwrap();
    let response = world.send(upload.body(vec![b'x'; 64 << 20]));
    assert_eq!(response.expect("the response").body(), "ok");
    assert_eq!(world.client.idle_connections(), 0);
}

#[test]
fn a_cut_body_says_which_status_it_had() {
    let world = World::new();
    for said in [
        &b"HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\n"[..],
        b"HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo",
        b"HTTP/1.1 413 Too Large\r\ntransfer-encoding: chunked\r\n\r\n9\r\ntoo",
        b"HTTP/1.1 413 Too Large\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\ntoo",
    ] {
        let peer = Peer::closing(said);
        let url = peer.url("/");
        // The body is not written to its end.
        let request = || {
            Request::new("POST", &url)
                .unwrap()
                .body(vec![b'x'; 20 << 20])
        };
        let error = world.send(request()).unwrap_err();
        let streamed = world.run(async {
            let mut stream = world.client.open(request()).await.expect("a head");
            loop {
                match stream.chunk().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("the stream ended as if it were whole"),
                    Err(error) => return error,
                }
            }
        });
        for error in [error, streamed] {
            let attempt = error.attempts().last().unwrap();
            assert_eq!(error.kind(), Kind::Body, "{error}");
            assert_eq!(attempt.status, Some(413), "{error}");
            assert_eq!(error.status(), Some(413), "{error}");
            assert!(error.to_string().contains("status 413"), "{error}");
        }
    }
}

/// A body that has nothing until the test says so.
#[derive(Clone, Default)]
struct Later {
    ready: Arc<AtomicBool>,
    /// Whether the client was ready to send it before.
    wanted: Arc<AtomicBool>,
}

impl Source for Later {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.ready.load(Ordering::SeqCst) {
            return Poll::Ready(Some(Ok(Bytes::from_static(b"unwanted"))));
        }
        self.wanted.store(true, Ordering::SeqCst);
        Poll::Pending
    }
}

/// How many bytes of a request's body arrive although the server has responded with this head and half a body, and
/// whether the client would have sent some before. The body is ready as soon as the client has the first half.
fn sent_after(head: &'static str, change: impl FnOnce(Request) -> Request) -> (usize, bool) {
    const HOLD: Duration = Duration::from_millis(200);
    let (resume, resumed) = channel();
    let (count, counted) = channel();
    let resumed = Mutex::new(resumed);
    let peer = Peer::playing(move |mut tcp, _| {
        tcp.head().unwrap();
        let begun = format!("HTTP/1.1 {head}\r\ncontent-length: 4\r\n\r\nno");
        tcp.write_all(begun.as_bytes()).unwrap();
        resumed.lock().unwrap().recv().unwrap();
        tcp.write_all(b"no").unwrap();
        let mut rest = Vec::new();
        let _ = tcp.read_to_end(&mut rest);
        count.send(rest.len()).unwrap();
    });
    let world = World::with(|config| config.expect_timeout = HOLD);
    let body = Later::default();
    let request = Request::new("POST", &peer.url("/")).unwrap();
    let request = change(request).body_from(body.clone(), None);
    world.run(async {
        let mut stream = world.client.open(request).await.expect("a head");
        assert_eq!(stream.chunk().await.unwrap().unwrap(), "no");
        body.ready.store(true, Ordering::SeqCst);
        // Longer than the body waits for `100 Continue`.
        tokio::time::sleep(2 * HOLD).await;
        {
            let mut rest = pin!(stream.chunk());
            // The client waits for the rest before the server sends it.
            let waits = poll_fn(|cx| Poll::Ready(rest.as_mut().poll(cx).is_pending()));
            assert!(waits.await);
            resume.send(()).unwrap();
            assert_eq!(rest.await.unwrap().unwrap(), "no");
        }
        assert_eq!(stream.chunk().await.unwrap(), None);
    });
    (counted.recv().unwrap(), body.wanted.load(Ordering::SeqCst))
}

#[test]
fn the_rest_of_a_request_is_not_sent_to_a_server_that_refused_it() {
    assert_eq!(
        sent_after("413 Too Large\r\nconnection: close", |it| it).0,
        0
    );
    // A server that does not hang up may read while it responds.
    assert_ne!(sent_after("413 Too Large", |it| it).0, 0);
}

#[test]
fn a_body_that_waited_for_100_continue_is_not_sent_after_another_response() {
    let expecting = |request: Request| request.header("Expect", b"100-continue").unwrap();
    // On a busy machine the body may have waited long enough before the response came.
    let in_time =
        std::iter::repeat_with(|| sent_after("200 OK", expecting)).find(|(_, late)| !late);
    assert_eq!(in_time.unwrap().0, 0);
}
