//! Servers that choose HTTP/2 and then require HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 §7).

use std::io::{Read, Write};

use hecaton::{Batch, Ending, Kind, Outcome, Protocol, Request, Version};

use crate::http2::client;
use crate::http2_faults::endings;
use crate::http2_peer::{GOAWAY, HEADERS, RST_STREAM, Raw, SETTINGS, frame};
use crate::tls::Trusting;
use crate::tls_server::{Authority, Server, Session, keep_alive};

const HTTP_1_1_REQUIRED: u32 = 13;

/// Reads frames up to the HEADERS of a request, and returns its stream.
fn request(session: &mut Session) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        session.read_exact(&mut head).ok()?;
        let [a, b, c, kind, _, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        session.read_exact(&mut payload).ok()?;
        if kind == HEADERS {
            return Some(u32::from_be_bytes(stream));
        }
    }
}

/// Serves HTTP/1.1, and refuses every request over HTTP/2 with the frames that `refuse` makes.
fn serve(session: &mut Session, refuse: impl Fn(u32) -> Vec<u8>) {
    if session.conn.alpn_protocol() != Some(b"h2") {
        return keep_alive(session);
    }
    let _ = session.read_exact(&mut [0; 24]);
    let _ = session.write_all(&frame(SETTINGS, 0, 0, &[]));
    while let Some(stream) = request(session) {
        let _ = session.write_all(&refuse(stream));
        let _ = session.flush();
    }
}

fn reset(session: &mut Session) {
    serve(session, |stream| {
        frame(RST_STREAM, 0, stream, &HTTP_1_1_REQUIRED.to_be_bytes())
    });
}

fn go_away(session: &mut Session) {
    serve(session, |_| {
        let payload = [0, HTTP_1_1_REQUIRED].map(u32::to_be_bytes).concat();
        frame(GOAWAY, 0, 0, &payload)
    });
}

fn server(authority: &Authority, serve: fn(&mut Session)) -> Server {
    let mut config = authority.sign(&["localhost"]).server_any();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Server::start(config, serve)
}

#[test]
fn a_request_is_sent_over_http1_whatever_its_method() {
    let authority = Authority::new();
    for refuse in [reset, go_away] {
        let server = server(&authority, refuse);
        let trusting = Trusting::new(&authority);
        let post = Request::new("POST", &server.url()).unwrap().body("");
        for (outcome, expected) in [
            (
                trusting.send(post),
                &[Ending::Resent, Ending::Status(200)][..],
            ),
            // The client now knows that this origin requires HTTP/1.1.
            (trusting.get(&server.url()), &[Ending::Status(200)]),
        ] {
            assert_eq!(endings(&outcome), expected, "{outcome:?}");
            let attempts = outcome.as_ref().unwrap().attempts();
            assert_eq!(attempts.last().unwrap().version, Some(Version::Http1));
        }
    }
}

#[test]
fn all_requests_that_share_or_await_the_connection_are_sent_over_http1() {
    let authority = Authority::new();
    for refuse in [reset, go_away] {
        let server = server(&authority, refuse);
        let outcomes: Vec<Outcome> = Trusting::new(&authority).batch(&server.url(), 20);
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
}

#[test]
fn if_only_http2_is_allowed_the_request_fails_and_says_why() {
    let authority = Authority::new();
    let server = server(&authority, reset);
    let trusting = Trusting::with(&authority, |config| config.http = Protocol::Http2);
    let error = trusting.get(&server.url()).unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol, "{error}");
    assert!(error.detail().contains("HTTP_1_1_REQUIRED"), "{error}");
    assert_eq!(error.attempts().len(), 1);
}

#[test]
fn a_goaway_that_does_not_leave_a_request_out_fails_it() {
    let url = Raw::serve(|mut raw, _| {
        let stream = raw.request().unwrap();
        raw.go_away(stream, HTTP_1_1_REQUIRED);
        raw.wait_for_end();
    });
    let (client, reactor) = client(|_| {});
    let mut batch = Batch::new(client, 1);
    batch.push(0, Request::new("POST", &url).unwrap());
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    assert_eq!(endings(&outcomes[0].1), [Ending::Failed]);
}
