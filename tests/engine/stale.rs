//! Connections that the server ended while a request was on its way: idempotent requests are re-sent, once, and others
//! never.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use hecaton::{Batch, Config, Ending, Kind, Outcome, Request};
use hecaton_e2e::peer::{Peer, Reply, reset_at_end};

use crate::World;
use crate::tls_server::Authority;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

const CLOSE: Reply = Reply::Closed(Vec::new());
const ENDS: [Reply; 2] = [CLOSE, Reply::Reset];

/// A server that gets the number of the connection and of the request on it.
fn server(reply: impl Fn(usize, usize) -> Reply + Send + Sync + 'static) -> Peer {
    Peer::responding(move |request| reply(request.connection, request.index))
}

fn endings(outcome: &Outcome) -> Vec<Ending> {
    let attempts = match outcome {
        Ok(response) => response.attempts(),
        Err(error) => error.attempts(),
    };
    attempts.iter().map(|a| a.ending.clone()).collect()
}

/// The outcome of a second request on a connection that the server closes when that request arrives.
fn second(world: &World, method: &str, end: Reply) -> (Outcome, usize) {
    let peer = server(move |connection, request| match (connection, request) {
        (0, 1) => end.clone(),
        _ => OK.into(),
    });
    let request = |method: &str| Request::new(method, &peer.url("/")).unwrap();
    assert_eq!(world.send(request("GET")).unwrap().status(), 200);
    let outcome = world.send(request(method));
    (outcome, peer.requests().len())
}

#[test]
fn an_idempotent_request_is_resent_at_once_from_a_connection_that_ended_without_a_response() {
    let world = World::new();
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
        for end in ENDS {
            let (outcome, arrived) = second(&world, method, end.clone());
            assert_eq!(
                endings(&outcome),
                [Ending::Resent, Ending::Status(200)],
                "{method}"
            );
            let response = outcome.unwrap();
            let [stale, new] = response.attempts() else {
                panic!("two attempts")
            };
            assert!(stale.reused && stale.sent && !new.reused && new.sent);
            assert_ne!(stale.connection, new.connection);
            assert_eq!(arrived, 3);
        }
    }
}

#[test]
fn a_request_that_is_not_idempotent_is_never_resent_once_a_byte_was_sent() {
    let world = World::new();
    for method in ["POST", "PATCH", "PURGE"] {
        let (outcome, arrived) = second(&world, method, CLOSE);
        assert_eq!(endings(&outcome), [Ending::Failed], "{method}");
        let error = outcome.unwrap_err();
        assert_eq!(
            (error.kind(), error.sent(), arrived),
            (Kind::Protocol, true, 2),
            "{error}"
        );
    }
}

#[test]
fn reconnect_false_leaves_it_to_the_program() {
    let world = World::with(|config| config.reconnect = false);
    let (outcome, arrived) = second(&world, "GET", CLOSE);
    assert_eq!((endings(&outcome), arrived), (vec![Ending::Failed], 2));
}

#[test]
fn a_request_is_resent_once_and_not_after_a_byte_of_the_response() {
    let world = World::new();
    let never = server(|connection, request| match (connection, request) {
        (0, 0) => OK.into(),
        _ => CLOSE,
    });
    let request = |peer: &Peer| Request::get(&peer.url("/")).unwrap();
    assert!(world.send(request(&never)).is_ok());
    // The first from an idle connection, the second from a new one.
    for before in [1, 3] {
        assert_eq!(never.requests().len(), before);
        let outcome = world.send(request(&never));
        assert_eq!(endings(&outcome), [Ending::Resent, Ending::Failed]);
    }
    assert_eq!(never.requests().len(), 5);

    let cut = server(|_, request| match request {
        0 => OK.into(),
        _ => Reply::Closed(b"HTTP/1.1 2".into()),
    });
    assert!(world.send(request(&cut)).is_ok());
    assert_eq!(endings(&world.send(request(&cut))), [Ending::Failed]);
    assert_eq!(cut.requests().len(), 2);

    for part in [&b"H"[..], b"HTTP/1.1 103 Early Hints\r\n\r\n"] {
        let cut = server(move |_, _| Reply::Closed(part.into()));
        assert_eq!(endings(&world.send(request(&cut))), [Ending::Failed]);
        assert_eq!(cut.requests().len(), 1);
    }
}

/// The endings of a request whose new connection ends without a response, and how many requests arrived.
fn from_new(world: &World, method: &str, end: Reply) -> (Vec<Ending>, usize) {
    let peer = server(move |connection, _| match connection {
        0 => end.clone(),
        _ => OK.into(),
    });
    let outcome = world.send(Request::new(method, &peer.url("/")).unwrap());
    (endings(&outcome), peer.requests().len())
}

#[test]
fn an_idempotent_request_is_resent_from_a_new_connection_that_was_closed_or_reset() {
    let resent = vec![Ending::Resent, Ending::Status(200)];
    let failed = vec![Ending::Failed];
    for end in ENDS {
        let world = World::new();
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"] {
            let expected = (resent.clone(), 2);
            assert_eq!(from_new(&world, method, end.clone()), expected, "{method}");
        }
        for method in ["POST", "PATCH", "PURGE"] {
            let expected = (failed.clone(), 1);
            assert_eq!(from_new(&world, method, end.clone()), expected, "{method}");
        }
        let world = World::with(|config| config.reconnect = false);
        assert_eq!(from_new(&world, "GET", end.clone()), (failed.clone(), 1));
    }
}

#[test]
fn a_request_is_resent_once_whether_its_connections_were_reused_or_new() {
    let world = World::new();
    let request = |peer: &Peer| Request::get(&peer.url("/")).unwrap();
    for end in ENDS {
        let never = server(move |_, _| end.clone());
        let outcome = world.send(request(&never));
        assert_eq!(endings(&outcome), [Ending::Resent, Ending::Failed]);
        assert_eq!(never.requests().len(), 2);
    }

    let stale = server(|connection, request| match (connection, request) {
        (0, 0) => OK.into(),
        _ => Reply::Reset,
    });
    assert!(world.send(request(&stale)).is_ok());
    let outcome = world.send(request(&stale));
    assert_eq!(endings(&outcome), [Ending::Resent, Ending::Failed]);
    assert_eq!(stale.requests().len(), 3);
}

#[test]
fn any_request_is_resent_from_a_connection_that_ended_before_it_was_sent() {
    [false, true].into_iter().for_each(resent_in_the_handshake);
}

/// A server ends each second connection in the middle of the handshake: it closes or resets them.
fn resent_in_the_handshake(closes: bool) {
    let authority = Authority::new();
    let tls = Arc::new(authority.sign(&["localhost"]).server_any());
    let peer = Peer::playing(move |mut stream, connection| {
        if connection.is_multiple_of(2) {
            // In the middle of the handshake.
            let _ = stream.read(&mut [0]);
            if closes {
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            } else {
                reset_at_end(stream);
            }
            return;
        }
        let session = ServerConnection::new(tls.clone()).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        let _ = stream.read(&mut [0; 4096]);
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    });
    let url = format!("https://localhost:{}/", peer.port());
    for (reconnect, expected) in [
        (true, vec![Ending::Resent, Ending::Status(200)]),
        (false, vec![Ending::Failed]),
    ] {
        let world = World::with(|config| {
            config.ca = Some(authority.pem.clone().into());
            config.reconnect = reconnect;
        });
        let outcome = world.send(Request::new("POST", &url).unwrap().body("once"));
        assert_eq!(endings(&outcome), expected, "{outcome:?}");
        let sent = |outcome: Outcome| match outcome {
            Ok(response) => response.attempts()[0].sent,
            Err(error) => error.sent(),
        };
        assert!(!sent(outcome));
    }
}

#[test]
fn every_request_of_a_burst_is_resent_once_when_all_connections_end() {
    for limited in [None, Some(20)] {
        let world = World::with(|config: &mut Config| config.per_origin = limited);
        // A server that ends every connection at its second request: all idle connections are stale at once.
        let peer = server(|connection, request| match (connection, request) {
            (..20, 1) => CLOSE,
            _ => OK.into(),
        });
        let burst = |count: usize| {
            let mut batch = Batch::new(world.client.clone(), count);
            (0..count).for_each(|tag| batch.push(tag, Request::get(&peer.url("/")).unwrap()));
            let mut outcomes = Vec::new();
            while !batch.is_empty() {
                world.run(batch.wait(&mut outcomes));
            }
            outcomes
        };
        assert!(burst(20).iter().all(|(_, outcome)| outcome.is_ok()));
        let before = peer.requests().len();
        let outcomes = burst(20);
        let failed: Vec<_> = outcomes
            .iter()
            .filter_map(|(_, o)| o.as_ref().err())
            .collect();
        assert!(failed.is_empty(), "{failed:?}");
        let attempts: usize = outcomes.iter().map(|(_, o)| endings(o).len()).sum();
        assert!(attempts > 20, "some were stale");
        assert_eq!(peer.requests().len() - before, attempts);
        assert!(
            outcomes.iter().all(|(_, o)| endings(o).len() <= 2),
            "each was re-sent once at most"
        );
        let stats = world.client.stats();
        assert!(stats.idle <= 20 && stats.in_use == 0, "{stats:?}");
    }
}

#[test]
fn a_body_that_can_be_read_only_once_is_not_resent() {
    struct Once(bool);
    impl hecaton::Source for Once {
        fn poll_piece(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<std::io::Result<bytes::Bytes>>> {
            let given = std::mem::replace(&mut self.0, true);
            std::task::Poll::Ready((!given).then(|| Ok("abc".into())))
        }
    }
    let world = World::new();
    let peer = server(|_, request| match request {
        0 => OK.into(),
        _ => CLOSE,
    });
    assert!(world.send(Request::get(&peer.url("/")).unwrap()).is_ok());
    let request = Request::new("PUT", &peer.url("/")).unwrap();
    let error = world
        .send(request.body_from(Once(false), Some(3)))
        .unwrap_err();
    assert!(error.detail().contains("can be read only once"), "{error}");
    assert_eq!(error.attempts().len(), 1);
}

#[test]
fn a_connection_is_not_reused_shortly_before_its_announced_end() {
    const SHORT: &[u8] =
        b"HTTP/1.1 200 OK\r\nkeep-alive: timeout=1, max=9\r\ncontent-length: 2\r\n\r\nok";
    const CLOSES: &[u8] =
        b"HTTP/1.1 200 OK\r\nkeep-alive: timeout=0\r\ncontent-length: 2\r\n\r\nok";
    const LONG: &[u8] = b"HTTP/1.1 200 OK\r\nkeep-alive: timeout=60\r\ncontent-length: 2\r\n\r\nok";
    let world = World::new();
    for (response, stays) in [(SHORT, false), (LONG, true), (CLOSES, false)] {
        let peer = server(move |_, _| response.into());
        let reused = || {
            let response = world.send(Request::get(&peer.url("/")).unwrap()).unwrap();
            response.attempts()[0].reused
        };
        assert!(!reused());
        thread::sleep(Duration::from_millis(600));
        assert_eq!(reused(), stays);
    }
}
