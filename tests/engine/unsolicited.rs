//! Unsolicited bytes: a second response behind the first, and one before its request. None becomes another
//! request's response.

use std::io::{Read, Write};
use std::net::Shutdown;

use hecaton::{Batch, Outcome, Request};
use hecaton_e2e::peer::Peer;

use crate::World;
use crate::tls_server::{Authority, Server, Session, read_whole_head};

const FOREIGN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nforeign";

/// As many bytes as the first read of a connection takes, so that the bytes behind them are left to the kernel.
const ONE_READ: usize = 8 << 10;

/// A response to this request, and another, unsolicited one.
fn two(head: &str) -> String {
    let interim = match head.contains("/interim") {
        true => "HTTP/1.1 103 Early Hints\r\n\r\n",
        false => "",
    };
    let start = format!("{interim}HTTP/1.1 200 OK\r\ncontent-length: ");
    let left = ONE_READ - start.len();
    let own = match head.starts_with("HEAD") {
        true => format!("{start}5\r\nx: {}\r\n\r\n", "x".repeat(left - 10)),
        false => format!("{start}{:04}\r\n\r\n{}", left - 8, "x".repeat(left - 8)),
    };
    assert_eq!(own.len(), ONE_READ);
    own + FOREIGN
}

/// Responds to each request with these bytes, in one write.
fn server(respond: impl Fn(&str) -> String + Send + Sync + 'static) -> Peer {
    Peer::responding(move |request| respond(&request.text))
}

fn own(outcome: Outcome) {
    let response = outcome.expect("a response");
    assert_eq!(response.status(), 200);
    assert_ne!(response.body(), "foreign");
}

#[test]
fn a_second_response_goes_to_no_other_request() {
    let peer = server(two);
    for path in ["/", "/interim"] {
        for first in ["GET", "HEAD"] {
            for second in ["GET", "POST"] {
                let world = World::new();
                for method in [first, second].repeat(5) {
                    let request = Request::new(method, &peer.url(path)).unwrap();
                    own(world.send(request));
                }
                let opened = world.client.stats().opened;
                assert_eq!(opened, 10, "{path}: {second} after {first}");
            }
        }
    }
}

#[test]
fn a_connection_on_which_more_came_than_a_response_is_not_used_again() {
    let own_length = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nown";
    let peer = server(move |_| format!("{own_length}{FOREIGN}"));
    let url = peer.url("/");
    let world = World::new();
    for opened in 1..=3 {
        own(world.send(Request::get(&url).unwrap()));
        assert_eq!(world.client.stats().opened, opened);
    }
}

#[test]
fn a_second_response_goes_to_no_other_request_of_a_batch_and_to_no_stream() {
    let peer = server(two);
    let url = peer.url("/");
    let world = World::new();
    for width in [1, 7] {
        let mut batch = Batch::new(world.client.clone(), width);
        (0..50).for_each(|tag| batch.push(tag, Request::get(&url).unwrap()));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            world.run(batch.wait(&mut outcomes));
        }
        outcomes.into_iter().for_each(|(_, outcome)| own(outcome));
    }
    for _ in 0..10 {
        let mut stream = world
            .run(world.client.open(Request::get(&url).unwrap()))
            .unwrap();
        while let Some(piece) = world.run(stream.chunk()).unwrap() {
            assert!(piece.iter().all(|byte| *byte == b'x'));
        }
        own(world.send(Request::new("POST", &url).unwrap()));
    }
}

/// The second response in a record of its own.
fn serve_tls(session: &mut Session) {
    loop {
        let head = read_whole_head(session);
        let both = two(&head);
        let (first, second) = both.split_at(ONE_READ);
        // In one write to the socket, so that both have come when the first one is read.
        session.conn.writer().write_all(first.as_bytes()).unwrap();
        session.conn.writer().write_all(second.as_bytes()).unwrap();
        if head.is_empty() || session.flush().is_err() {
            return;
        }
    }
}

#[test]
fn a_second_response_over_tls_goes_to_no_other_request() {
    let authority = Authority::new();
    let server = Server::start(authority.sign(&["localhost"]).server_any(), serve_tls);
    let world = World::with(|config| config.ca = Some(authority.pem.clone().into()));
    for method in ["GET", "POST", "HEAD", "POST"].repeat(3) {
        own(world.send(Request::new(method, &server.url()).unwrap()));
    }
    assert_eq!(world.client.stats().opened, 12);
}

#[test]
fn a_connection_is_not_used_again_after_a_response_announced_an_impossible_body() {
    let opened = |response: &'static str| {
        let peer = Peer::responding(move |_| response);
        let world = World::new();
        for _ in 0..3 {
            world.send(Request::get(&peer.url("/")).unwrap()).unwrap();
        }
        world.client.stats().opened
    };
    for status in ["204 No Content", "304 Not Modified"] {
        for (field, expected) in [
            ("content-length: 5\r\n", 3),
            ("transfer-encoding: chunked\r\n", 3),
            ("content-length: 0\r\n", 1),
            ("", 1),
        ] {
            let response = format!("HTTP/1.1 {status}\r\n{field}\r\n").leak();
            assert_eq!(opened(response), expected, "{status} {field}");
        }
    }
}

/// The action of a server after its response.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Reads,
    EndsAndReads,
    Closes,
}

/// A server that sends this response on each connection at once, without waiting for a request.
fn hasty(response: String, then: Then) -> Peer {
    Peer::playing(move |mut stream, _| {
        let _ = stream.write_all(response.as_bytes());
        if then == Then::EndsAndReads {
            let _ = stream.shutdown(Shutdown::Write);
        }
        if then != Then::Closes {
            let _ = stream.read_to_end(&mut Vec::new());
        }
    })
}

#[test]
fn a_response_that_comes_before_its_request_is_taken_in_every_run() {
    const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy";
    const OLD: &str = "HTTP/1.0 503 Busy\r\n\r\nbusy";
    for (response, then) in [
        (BUSY, Then::Reads),
        (BUSY, Then::EndsAndReads),
        (BUSY, Then::Closes),
        (OLD, Then::EndsAndReads),
    ] {
        let peer = hasty(response.to_owned(), then);
        for method in ["GET", "POST"].repeat(30) {
            // Each case has its own client, because unsolicited bytes on a reused connection are handled differently.
            let world = World::new();
            let response = world
                .send(Request::new(method, &peer.url("/")).unwrap().body("abc"))
                .unwrap();
            assert_eq!(
                (response.status(), &response.body()[..]),
                (503, &b"busy"[..])
            );
        }
    }
}

#[test]
fn a_body_that_is_cut_short_says_how_much_of_it_came() {
    for (length, come) in [(9, 0), (9, 5), (20_000, 9_000)] {
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{}",
            "x".repeat(come)
        );
        let peer = hasty(response, Then::EndsAndReads);
        let url = peer.url("/");
        let world = World::new();
        let error = world.send(Request::get(&url).unwrap()).unwrap_err();
        let words = format!("received {come} of {length} announced bytes");
        assert!(error.detail().contains(&words), "{error}");
        let mut stream = world
            .run(world.client.open(Request::get(&url).unwrap()))
            .unwrap();
        let error = loop {
            match world.run(stream.chunk()) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the body is cut short"),
                Err(error) => break error,
            }
        };
        assert!(error.detail().contains(&words), "{error}");
    }
}

#[test]
fn interim_responses_without_end_are_an_error() {
    let get = |count: usize| {
        let response = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(count);
        let response = response + "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        let peer = server(move |_| response.clone());
        World::new().send(Request::get(&peer.url("/")).unwrap())
    };
    assert_eq!(get(100).unwrap().status(), 200);
    let error = get(101).unwrap_err();
    let words = "more than 100 interim responses (1xx)";
    assert!(error.detail().contains(words), "{error}");
}
