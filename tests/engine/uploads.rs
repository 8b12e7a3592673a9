//! Request bodies that come from a source: whole, never corrupt, sent again only when they can be.

use std::collections::VecDeque;
use std::io;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hecaton::{Ending, Kind, Phase, Protocol, Request, Retry, Source};
use hecaton_e2e::peer::{Peer, Requests};
use hecaton_test_server::{Http2, Options, TestServer};
use tokio::time::{Sleep, sleep};

use crate::{World, json};

/// Pieces, each after one pending poll; counts the polls that gave one.
#[derive(Clone, Default)]
pub struct Pieces {
    all: Vec<&'static str>,
    left: VecDeque<&'static str>,
    waited: bool,
    fails: bool,
    rewinds: bool,
    polled: Arc<AtomicUsize>,
}

impl Pieces {
    pub fn new(all: &[&'static str]) -> Pieces {
        Pieces {
            all: all.to_vec(),
            left: all.iter().copied().collect(),
            ..Pieces::default()
        }
    }

    /// Pieces that can begin again.
    pub fn again(self) -> Pieces {
        Pieces {
            rewinds: true,
            ..self
        }
    }
}

impl Source for Pieces {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        self.waited = !self.waited;
        if self.waited {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.polled.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(match self.left.pop_front() {
            Some(piece) => Some(Ok(Bytes::from_static(piece.as_bytes()))),
            None if self.fails => Some(Err(io::Error::other("the disk is gone"))),
            None => None,
        })
    }

    fn rewind(&mut self) -> bool {
        self.left = self.all.iter().copied().collect();
        self.rewinds
    }
}

/// Without TLS, by HTTP/1.1 and by HTTP/2.
fn worlds(retry: Option<Retry>) -> [World; 2] {
    [Protocol::Auto, Protocol::Http2].map(|http| {
        let mut world = World::with(|config| {
            config.http = http;
            config.retry = retry.clone();
        });
        let options = Options {
            http2: Some(Http2::default()),
            ..Options::default()
        };
        world.server = TestServer::start(options).unwrap();
        world
    })
}

fn post(world: &World, path: &str, source: impl Source + 'static, length: Option<u64>) -> Request {
    let url = format!("{}{path}", world.server.base_url());
    Request::new("POST", &url)
        .unwrap()
        .body_from(source, length)
}

#[test]
fn a_source_arrives_whole_with_its_length_or_in_chunks() {
    for world in worlds(None) {
        for length in [None, Some(11)] {
            let source = Pieces::new(&["hello", "", " ", "world"]);
            let request = post(&world, "/echo", source, length);
            let seen = json(&world.send(request).unwrap());
            assert_eq!(seen["body"], "hello world");
            let text = seen["headers"].to_string().to_lowercase();
            assert_eq!(
                text.contains(r#"["content-length","11"]"#),
                length.is_some()
            );
            let chunked = text.contains(r#"["transfer-encoding","chunked"]"#);
            let http1 = world.client.config().http == Protocol::Auto;
            assert_eq!(chunked, http1 && length.is_none(), "{text}");
        }
        for length in [None, Some(0)] {
            let request = post(&world, "/echo", Pieces::default(), length);
            assert_eq!(json(&world.send(request).unwrap())["body"], "");
        }
        assert_eq!(world.server.stop().connections, 1);
    }
}

#[test]
fn a_length_among_the_headers_is_sent_once_if_it_is_right_and_else_nothing() {
    for world in worlds(None) {
        let said = |length: &[u8]| {
            let url = format!("{}/echo", world.server.base_url());
            let request = Request::new("POST", &url).unwrap();
            request.header("Content-Length", length).unwrap()
        };
        let whole = said(b"3").body("abc").checked().unwrap();
        let announced = said(b"3").body_from(Pieces::new(&["ab", "c"]), None);
        let url = format!("{}/echo", world.server.base_url());
        let none = Request::new("DELETE", &url).unwrap();
        let none = none.header("content-length", b"0").unwrap();
        for (request, length) in [(whole, 3), (announced, 3), (none, 0)] {
            let headers = json(&world.send(request).unwrap())["headers"].to_string();
            let headers = headers.to_ascii_lowercase();
            let field = format!(r#"["content-length","{length}"]"#);
            assert_eq!(headers.matches("content-length").count(), 1, "{headers}");
            assert!(headers.contains(&field), "{headers}");
        }
        let error = world.send(said(b"5").body("abc")).unwrap_err();
        assert_eq!((error.kind(), error.sent()), (Kind::Body, false));
        assert!(error.to_string().contains("says 5, and the body has 3"));
    }
}

/// Any number of pieces of 64 KiB, always ready.
struct Endless(usize);

impl Source for Endless {
    fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        static PIECE: [u8; 65536] = [b'x'; 65536];
        self.0 = self.0.saturating_sub(1);
        Poll::Ready((self.0 > 0).then(|| Ok(Bytes::from_static(&PIECE))))
    }
}

#[test]
fn a_large_source_arrives_whole() {
    for world in worlds(None) {
        for length in [None, Some(300 << 16)] {
            let url = format!("{}/upload", world.server.base_url());
            let request = Request::new("PUT", &url).unwrap();
            let response = world.send(request.body_from(Endless(301), length)).unwrap();
            assert_eq!(json(&response)["bytes"], 300 << 16);
        }
        assert_eq!(world.server.stop().connections, 1);
    }
}

#[test]
fn a_source_of_another_length_than_announced_is_an_error_and_no_corrupt_request() {
    for world in worlds(None) {
        for (length, why) in [(3, "more than"), (7, "ended after 5")] {
            let source = Pieces::new(&["he", "llo"]);
            let request = post(&world, "/echo", source, Some(length));
            let error = world.send(request).unwrap_err();
            assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Send));
            assert!(error.detail().contains(why), "{error}");
        }
        assert_eq!(world.server.summary().requests, 0, "none was complete");
    }
}

/// Gives `hello`, and only after a while what is left, or its end.
struct Late {
    pieces: VecDeque<&'static str>,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Late {
    fn new(pieces: &[&'static str]) -> Late {
        Late {
            pieces: pieces.iter().copied().collect(),
            pause: None,
        }
    }
}

impl Source for Late {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
        }
        self.pause = Some(Box::pin(sleep(Duration::from_millis(100))));
        let piece = self.pieces.pop_front();
        Poll::Ready(piece.map(|piece| Ok(Bytes::from_static(piece.as_bytes()))))
    }
}

#[test]
fn a_surplus_that_comes_late_is_an_error_too_because_no_response_can_come_before() {
    for world in worlds(None) {
        let source = Late::new(&["hello", "more"]);
        let error = world
            .send(post(&world, "/echo", source, Some(5)))
            .unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Send));
        assert!(error.detail().contains("more than"), "{error}");
        assert_eq!(world.server.summary().requests, 0, "it was not complete");
    }
}

#[test]
fn a_connection_is_reused_after_a_body_of_the_announced_length_that_ends_late() {
    for world in worlds(None) {
        for _ in 0..2 {
            let request = post(&world, "/echo", Late::new(&["hel", "lo"]), Some(5));
            let response = world.send(request).unwrap();
            assert_eq!(json(&response)["body"], "hello");
            assert!(response.attempts()[0].send_time.is_some());
        }
        assert_eq!(world.server.stop().connections, 1);
    }
}

#[test]
fn an_error_of_the_source_fails_the_request_and_is_not_retried() {
    for world in worlds(Some(Retry {
        methods: vec!["POST".parse().unwrap()],
        ..Retry::default()
    })) {
        let mut source = Pieces::new(&["he"]);
        (source.fails, source.rewinds) = (true, true);
        let error = world.send(post(&world, "/echo", source, None)).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Send));
        assert!(error.detail().contains("the disk is gone"), "{error}");
        assert_eq!(error.attempts().len(), 1);
    }
}

#[test]
fn a_source_is_sent_again_if_it_can_begin_again() {
    let retry = Retry {
        methods: vec!["POST".parse().unwrap()],
        statuses: vec![503],
        interval: Duration::ZERO,
        max: 1,
        ..Retry::default()
    };
    for world in worlds(Some(retry)) {
        for (rewinds, tries) in [(true, 2), (false, 1)] {
            let mut source = Pieces::new(&["hello"]);
            source.rewinds = rewinds;
            // The client may not know yet that the server closed this connection.
            world.client.close_idle();
            let response = world.send(post(&world, "/status/503", source.clone(), None));
            assert_eq!(response.unwrap().attempts().len(), tries);
            let polled = source.polled.load(Ordering::Relaxed);
            assert_eq!(polled, 2 * tries, "a piece and the end each");
            let result = world.send(post(&world, "/fault/close", source, None));
            let error = result.unwrap_err();
            // A request is re-sent if the first one's connection had ended before a byte was sent.
            let sent = error
                .attempts()
                .iter()
                .filter(|a| a.ending != Ending::Resent);
            assert_eq!(sent.count(), tries, "{error}");
            let explained = error.detail().contains("only once");
            assert_eq!(explained, !rewinds, "{error}");
        }
    }
}

#[test]
fn a_redirect_that_repeats_the_body_needs_one_that_can_be_repeated() {
    for world in worlds(None) {
        for rewinds in [true, false] {
            let mut source = Pieces::new(&["hello"]);
            source.rewinds = rewinds;
            let request = post(&world, "/redirect/307/1", source.clone(), None).redirects(1);
            match world.send(request) {
                Ok(response) => assert!(rewinds && json(&response)["body"] == "hello"),
                Err(error) => assert!(!rewinds && error.kind() == Kind::Redirect, "{error}"),
            }
            let request = post(&world, "/redirect/303/1", source, None).redirects(1);
            assert_eq!(json(&world.send(request).unwrap())["method"], "GET");
        }
    }
}

#[test]
fn a_closed_connection_is_noticed_before_the_source_is_read() {
    let world = World::new();
    world.get("/fault/idle-close");
    while world.server.summary().connections_open > 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let request = post(&world, "/echo", Pieces::new(&["once"]), None);
    assert_eq!(json(&world.send(request).unwrap())["body"], "once");
}

#[test]
fn an_early_response_is_taken_and_the_rest_of_the_source_is_not_read() {
    for world in worlds(None) {
        let url = format!("{}/early", world.server.base_url());
        let request = Request::new("POST", &url).unwrap();
        let request = request.body_from(Endless(usize::MAX), None);
        match world.send(request) {
            Ok(response) => assert_eq!(response.status(), 413),
            // The reset behind the response may come first. Either way the request must not wait.
            Err(error) => assert!(error.kind() == Kind::Protocol, "{error}"),
        }
        assert_eq!(world.client.idle_connections(), 0);
    }
}

#[test]
fn a_source_that_waits_does_not_hide_a_response() {
    /// A source that is never ready.
    struct Silent;
    impl Source for Silent {
        fn poll_piece(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
            Poll::Pending
        }
    }
    let peer = Peer::playing(|mut stream, _| {
        stream.head();
        let _ = stream.write_all(b"HTTP/1.1 401 Who?\r\nContent-Length: 2\r\n\r\nno");
        let _ = stream.read(&mut [0; 4096]);
    });
    let world = World::new();
    let request = Request::new("POST", &peer.url("/")).unwrap();
    let response = world.send(request.body_from(Silent, None)).unwrap();
    assert_eq!((response.status(), &response.body()[..]), (401, &b"no"[..]));
    assert_eq!(response.attempts()[0].ending, Ending::Status(401));
    assert_eq!(world.client.idle_connections(), 0);
}
