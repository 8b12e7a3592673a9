//! A failure names its phase and whether the request was sent, and nothing is tried twice.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use hecaton::{Ending, Error, Kind, Phase, Request};

use crate::World;

fn failure(world: &World, path: &str) -> Error {
    world.send(world.request(path)).expect_err("an error")
}

#[test]
fn the_total_deadline_fires_once_in_whatever_phase() {
    let world = World::new();
    for (path, reached) in [
        ("/fault/stall-head", Phase::FirstByte),
        ("/fault/stall-body", Phase::Read),
        ("/fault/drip", Phase::Read),
    ] {
        let limit = Duration::from_millis(300);
        let begun = Instant::now();
        let error = world.send(world.request(path).timeout(limit)).unwrap_err();
        assert_eq!(
            (error.kind(), error.phase()),
            (Kind::Timeout, Phase::Total),
            "{path}"
        );
        assert_eq!(error.attempts().len(), 1, "{path}");
        assert_eq!(error.attempts()[0].phase, reached, "{path}");
        assert_eq!(error.attempts()[0].ending, Ending::Unfinished);
        assert!(error.sent() && error.elapsed() >= limit);
        // Far more than it takes, far less than twice a retry with the total of ten seconds.
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    // A hung-up client is noticed at the next drip, and a request is counted when it ends.
    let ended = || world.origin.summary().requests + world.origin.summary().aborted;
    let patience = Instant::now() + Duration::from_secs(5);
    while ended() < 3 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(ended(), 3, "the ledger saw one attempt each");
}

#[test]
fn interim_answers_without_end_do_not_hold_up_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let flood = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.read(&mut [0; 4096]);
        let blob = b"HTTP/1.1 100\r\n\r\n".repeat(1 << 16);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(5) && stream.write_all(&blob).is_ok() {}
    });
    let world = World::new();
    let request = Request::get(&url).unwrap();
    let error = world.send(request.timeout(Duration::from_millis(300)));
    let error = error.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    assert!(error.elapsed() < Duration::from_secs(3), "{error}");
    flood.join().unwrap();
}

#[test]
fn a_timeout_of_zero_sends_nothing() {
    let world = World::new();
    let error = world
        .send(world.request("/r/1").timeout(Duration::ZERO))
        .unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
    assert_eq!(world.origin.stop().requests, 0);
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
fn a_broken_connection_is_an_error_and_no_reason_to_send_again() {
    let world = World::new();
    for path in [
        "/fault/reset",
        "/fault/close",
        "/fault/garbage",
        "/fault/huge-head",
    ] {
        let error = failure(&world, path);
        assert_eq!(
            (error.kind(), error.sent()),
            (Kind::Protocol, true),
            "{path}: {error}"
        );
        assert_eq!(error.attempts().len(), 1, "{path}");
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
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let request = Request::get(&format!("http://{address}/path?secret")).unwrap();
    let error = world.send(request).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Connect, Phase::Connect, false)
    );
    assert_eq!(error.url(), format!("http://{address}/path"));
    assert!(error.to_string().contains("refused") && !error.to_string().contains("secret"));
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
