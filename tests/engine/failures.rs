//! A failure names its phase and whether the request was sent, and nothing is tried twice.

use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use hecaton::{Batch, Config, Ending, Error, Kind, Phase, Request};
use hecaton_e2e::peer::{Peer, Requests};
use hecaton_test_server::ClosedPort;

use crate::{World, until, with_growing};

fn failure(world: &World, path: &str) -> Error {
    world.send(world.request(path)).expect_err("an error")
}

#[test]
fn the_total_deadline_fires_once_in_whatever_phase() {
    let (world, mut sent) = (World::new(), 0);
    for (path, reached) in [
        ("/fault/stall-head", Phase::FirstByte),
        ("/fault/stall-body", Phase::Read),
        ("/fault/drip", Phase::Read),
    ] {
        let error = with_growing(Duration::from_millis(300), |limit| {
            let begun = Instant::now();
            let error = world.send(world.request(path).timeout(limit)).unwrap_err();
            // Far more than one attempt takes, and far less than two attempts with the total of a minute.
            assert!(error.elapsed() >= limit && begun.elapsed() < limit + Duration::from_secs(30));
            assert_eq!(
                (error.kind(), error.phase()),
                (Kind::Timeout, Phase::Total),
                "{path}"
            );
            assert_eq!(error.attempts().len(), 1, "{path}");
            sent += u64::from(error.sent());
            (error.attempts()[0].phase == reached).then_some(error)
        });
        assert_eq!(error.attempts()[0].ending, Ending::Unfinished);
        assert!(error.sent());
    }
    // The server notices at its next write that the client has gone, and counts a request when it ends.
    let ended = || world.server.summary().requests + world.server.summary().aborted;
    until(|| ended() >= sent);
    assert_eq!(ended(), sent, "the server's log has one attempt each");
}

#[test]
fn interim_responses_without_end_do_not_hold_up_a_request() {
    let peer = Peer::playing(|mut stream, _| {
        stream.head();
        let blob = b"HTTP/1.1 100\r\n\r\n".repeat(1 << 16);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) && stream.write_all(&blob).is_ok() {}
    });
    let world = World::new();
    let request = Request::get(&peer.url("/")).unwrap();
    let error = world.send(request).unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol, "{error}");
}

#[test]
fn a_timeout_of_zero_sends_nothing() {
    let world = World::new();
    let error = world
        .send(world.request("/r/1").timeout(Duration::ZERO))
        .unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
    assert_eq!(world.server.stop().requests, 0);
}

#[test]
fn a_short_body_is_an_error() {
    let world = World::new();
    for path in ["/fault/truncate", "/fault/truncate-chunked"] {
        let error = failure(&world, path);
        assert_eq!(
            (error.kind(), error.phase()),
            (Kind::Body, Phase::Read),
            "{path}: {error}"
        );
    }
    assert_eq!(world.client.idle_connections(), 0);
}

#[test]
fn a_broken_connection_is_an_error_and_a_reason_to_send_once_more_at_most() {
    let world = World::new();
    // Nobody may have read the request: an idempotent one is sent once more.
    for (path, attempts) in [
        ("/fault/reset", 2),
        ("/fault/close", 2),
        ("/fault/garbage", 1),
        ("/fault/huge-head", 1),
    ] {
        let error = failure(&world, path);
        assert_eq!(
            (error.kind(), error.sent()),
            (Kind::Protocol, true),
            "{path}: {error}"
        );
        assert_eq!(error.attempts().len(), attempts, "{path}");
    }
    assert_eq!(world.client.idle_connections(), 0);
}

#[test]
fn the_cap_on_bodies_is_exact() {
    let world = World::with(|config| config.max_body = 1000);
    assert_eq!(world.get("/bytes/1000").body().len(), 1000);
    let error = failure(&world, "/bytes/1001");
    assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Read));
    assert_eq!(failure(&world, "/chunked/1000").kind(), Kind::Body);
}

#[test]
fn nobody_listens() {
    let world = World::new();
    let closed = ClosedPort::take().unwrap();
    let address = closed.address();
    let request = Request::get(&format!("http://{address}/path?secret")).unwrap();
    let error = world.send(request).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Connect, Phase::Connect, false)
    );
    assert_eq!(error.url(), format!("http://{address}/path"));
    assert!(error.to_string().contains("refused") && !error.to_string().contains("secret"));
    assert!(!error.to_string().contains("os error"), "{error}");
}

#[test]
fn no_such_host() {
    let world = World::new();
    let error = world
        .send(Request::get("http://nowhere.invalid/").unwrap())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Resolve, Phase::Resolve)
    );
}

/// The failure of a request with a limit of 200 ms for one phase, or of zero for resolving its name.
fn late(path: &str, change: impl FnOnce(&mut Config, Duration)) -> (Kind, Phase, Phase, bool) {
    let limit = Duration::from_millis(200);
    let world = World::with(|config| change(config, limit));
    let begun = Instant::now();
    let error = failure(&world, path);
    assert!(
        begun.elapsed() >= limit && begun.elapsed() < Duration::from_secs(30),
        "{error}"
    );
    assert_eq!(error.attempts().len(), 1);
    (
        error.kind(),
        error.phase(),
        error.attempts()[0].phase,
        error.sent(),
    )
}

#[test]
fn each_phase_has_a_limit_and_an_error_of_its_own() {
    assert_eq!(
        late("/fault/stall-head", |config, limit| config
            .first_byte_timeout =
            Some(limit)),
        (Kind::Timeout, Phase::FirstByte, Phase::FirstByte, true)
    );
    assert_eq!(
        late("/fault/stall-body", |config, limit| config.read_timeout =
            Some(limit)),
        (Kind::Timeout, Phase::Read, Phase::Read, true)
    );
}

#[test]
fn a_limit_between_pieces_does_not_end_a_body_that_drips_but_the_total_does() {
    let world = World::with(|config| {
        config.read_timeout = Some(Duration::from_secs(3));
        config.timeout = Duration::from_millis(500);
    });
    let error = failure(&world, "/fault/drip");
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
}

#[test]
fn a_peer_that_does_not_read_hits_the_limit_of_sending() {
    // The kernel accepts the connection, and no program reads from it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let world = World::with(|config| config.send_timeout = Some(Duration::from_millis(200)));
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let request = Request::new("POST", &url)
        .unwrap()
        .body(vec![b'x'; 50_000_000]);
    let error = world.send(request).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Timeout, Phase::Send, true)
    );
}

#[test]
fn a_resolve_timeout_of_zero_fails_at_once() {
    let world = World::with(|config| config.resolve_timeout = Some(Duration::ZERO));
    let error = world
        .send(Request::get("http://localhost:1/").unwrap())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Timeout, Phase::Resolve, false)
    );
}

/// The failure of a request to a silent server that has this many other connections.
fn silence_beside(others: usize) -> Error {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let world = World::with(|config| config.timeout = Duration::from_secs(60));
    let mut batch = Batch::new(world.client.clone(), 100);
    (0..others).for_each(|tag| batch.push(tag, Request::get(&url).unwrap()));
    let mut outcomes = Vec::new();
    // The kernel completes the connections, and no program accepts them.
    while world.client.stats().in_use < others {
        let wait = batch.wait(&mut outcomes);
        world
            .reactor
            .block_on_at_most(wait, Duration::from_millis(10));
    }
    let late = Request::get(&url).unwrap().timeout(Duration::from_secs(1));
    batch.push(others, late);
    world.run(batch.wait(&mut outcomes));
    outcomes.pop().unwrap().1.unwrap_err()
}

#[test]
fn the_error_of_a_silent_server_says_that_it_has_many_connections() {
    let many = silence_beside(20);
    assert_eq!((many.kind(), many.phase()), (Kind::Timeout, Phase::Total));
    assert!(many.detail().contains("per_origin"), "{many}");
    let few = silence_beside(5);
    assert!(!few.detail().contains("per_origin"), "{few}");
}

#[test]
fn a_message_is_short_however_long_the_target_of_a_redirect_is() {
    let host = "a".repeat(60_000);
    let url = format!("http://{host}/");
    let error = World::new().send(Request::get(&url).unwrap()).unwrap_err();
    assert_eq!(error.kind(), Kind::Resolve, "{}", error.detail().len());
    assert!(error.to_string().len() < 2_000, "{error}");
    assert_eq!(error.url(), url, "all of it is there");
}
