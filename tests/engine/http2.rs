//! HTTP/2: many requests share one connection, and all promises of HTTP/1.1 hold.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hecaton::{
    Batch, Client, Config, Ending, Error, Kind, Outcome, Phase, Protocol, Reactor, Request, Version,
};

use crate::http2_peer::{Peer, Seen};
use crate::{json, with_growing};

/// A client that supports HTTP/2 alone, its reactor, and a server.
pub struct World2 {
    pub peer: Peer,
    pub client: Client,
    pub reactor: Reactor,
}

impl World2 {
    pub fn new() -> World2 {
        World2::with(100, |_| {})
    }

    pub fn with(streams: u32, change: impl FnOnce(&mut Config)) -> World2 {
        let (client, reactor) = client(change);
        World2 {
            peer: Peer::start(streams),
            client,
            reactor,
        }
    }

    pub fn request(&self, method: &str, path: &str) -> Request {
        Request::new(method, &format!("{}{path}", self.peer.url)).unwrap()
    }

    pub fn send(&self, request: Request) -> Outcome {
        self.reactor.block_on(self.client.send(request))
    }

    pub fn get(&self, path: &str) -> Outcome {
        self.send(self.request("GET", path))
    }

    /// Runs this many requests at once.
    pub fn batch(&self, count: usize, concurrency: usize, path: &str) -> Vec<Outcome> {
        let mut batch = Batch::new(self.client.clone(), concurrency);
        (0..count).for_each(|tag| batch.push(tag, self.request("GET", path)));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            self.reactor.block_on(batch.wait(&mut outcomes));
        }
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

pub fn client(change: impl FnOnce(&mut Config)) -> (Client, Reactor) {
    let mut config = Config::new(Duration::from_secs(60));
    config.http = Protocol::Http2;
    change(&mut config);
    (Client::new(config), Reactor::new().unwrap())
}

#[test]
fn a_connection_that_was_opened_ahead_serves_the_next_request() {
    let (peer, (client, reactor)) = (Peer::start(100), client(|_| {}));
    let request = || Request::get(&peer.url).unwrap();
    let opened = reactor.block_on(client.connect(request())).unwrap();
    let response = reactor.block_on(client.send(request())).unwrap();
    assert_eq!(response.attempts()[0].connection, opened[0].connection);
    assert_eq!(client.stats().opened, 1);
}

#[test]
fn a_request_and_its_response() {
    let world = World2::new();
    let request = world.request("POST", "/echo?a=b").body("abc");
    let request = request.header("X-Case", b"Value").unwrap();
    let response = world.send(request).unwrap();
    let echo = json(&response);
    assert_eq!(echo["method"], "POST");
    assert_eq!(echo["path"], "/echo?a=b");
    assert_eq!(echo["scheme"], "http");
    assert_eq!(echo["authority"], world.peer.url[7..]);
    assert_eq!(echo["headers"]["x-case"], "Value");
    assert_eq!(echo["headers"]["content-length"], "3");
    let attempt = &response.attempts()[0];
    assert_eq!(
        (attempt.version, attempt.sent, attempt.reused),
        (Some(Version::Http2), true, false)
    );
    assert!(
        attempt.connect_time.is_some()
            && attempt.send_time.is_some()
            && attempt.read_time.is_some()
    );
    let response = world.get("/anything").unwrap();
    assert_eq!(response.header("X-Route"), Some(&b"anything"[..]));
    assert_eq!(response.header_block(), b"x-route: anything\r\n");
}

#[test]
fn requests_share_one_connection_and_run_at_once() {
    let world = World2::new();
    let outcomes = world.batch(300, 50, "/delay/5");
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.as_ref().unwrap().status() == 200)
    );
    world.peer.seen(|seen| {
        assert_eq!((seen.connections, seen.requests.len()), (1, 300));
        assert!(seen.peak > 20, "{} at once", seen.peak);
    });
    let first = |o: &Outcome| !o.as_ref().unwrap().attempts()[0].reused;
    assert_eq!(outcomes.iter().filter(|outcome| first(outcome)).count(), 1);
    assert_eq!(world.client.idle_connections(), 1);
}

#[test]
fn threads_share_one_connection() {
    let world = Arc::new(World2::new());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let world = world.clone();
            thread::spawn(move || (0..30).all(|_| world.get("/delay/1").is_ok()))
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    assert_eq!(
        world
            .peer
            .seen(|seen| (seen.connections, seen.requests.len())),
        (1, 240)
    );
}

#[test]
fn beyond_the_streams_that_the_server_allows_another_connection_is_opened() {
    let world = World2::with(10, |_| {});
    assert!(world.batch(60, 30, "/delay/20").iter().all(Result::is_ok));
    let connections = world.peer.seen(|seen| seen.connections);
    assert!((2..=3).contains(&connections), "{connections}");
}

#[test]
fn limits_count_connections_and_not_streams() {
    let world = World2::with(5, |config| config.per_origin = Some(2));
    let outcomes = world.batch(60, 40, "/delay/5");
    let failed: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    assert!(
        failed.is_empty(),
        "{} failed, as: {}",
        failed.len(),
        failed[0]
    );
    world.peer.seen(|seen| {
        assert_eq!((seen.connections, seen.requests.len()), (2, 60));
        assert!(seen.peak <= 10, "{} at once", seen.peak);
    });
    assert!(
        world.batch(10, 10, "/delay/5").iter().all(Result::is_ok),
        "turns were given back"
    );
}

#[test]
fn an_idle_connection_is_closed_for_another_origin() {
    let world = World2::with(100, |config| config.max_connections = Some(1));
    let by_name = world.peer.url.replace("127.0.0.1", "localhost");
    for _ in 0..2 {
        assert!(world.get("/a").is_ok());
        assert!(world.send(Request::get(&by_name).unwrap()).is_ok());
    }
    assert_eq!(world.client.idle_connections(), 1);
    assert_eq!(world.peer.seen(|seen| seen.connections), 4);
}

#[test]
fn a_wait_for_a_stream_has_the_limit_of_waiting() {
    let world = World2::with(1, |config| {
        config.per_origin = Some(1);
        config.queue_timeout = Some(Duration::from_millis(200));
    });
    assert!(world.get("/").is_ok());
    let outcomes = with_growing(Duration::from_secs(1), |limit| {
        let mut batch = Batch::new(world.client.clone(), 2);
        batch.push(0, world.request("GET", "/stall").timeout(limit));
        batch.push(1, world.request("GET", "/"));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            world.reactor.block_on(batch.wait(&mut outcomes));
        }
        (outcomes[0].0 == 1).then_some(outcomes)
    });
    let (tag, outcome) = &outcomes[0];
    let error = outcome.as_ref().unwrap_err();
    assert_eq!(
        (*tag, error.kind(), error.phase(), error.sent()),
        (1, Kind::Timeout, Phase::Queue, false)
    );
    assert_eq!(outcomes[1].1.as_ref().unwrap_err().phase(), Phase::Total);
    assert!(world.get("/").is_ok(), "the stream was given back");
}

#[test]
fn responses_without_a_body_and_interim_ones() {
    let world = World2::new();
    let head = world.send(world.request("HEAD", "/bytes/100")).unwrap();
    assert_eq!((head.status(), head.body().len()), (200, 0));
    assert_eq!(head.header("content-length"), Some(&b"100"[..]));
    for status in [204, 304] {
        let response = world.get(&format!("/status/{status}")).unwrap();
        assert_eq!((response.status(), response.body().len()), (status, 0));
    }
    let response = world.get("/early").unwrap();
    assert_eq!((response.status(), &response.body()[..]), (200, &b"ok"[..]));
    let response = world.get("/trailers").unwrap();
    assert_eq!(&response.body()[..], b"body");
    assert_eq!(response.header("x-trailer"), None);
    assert_eq!(world.peer.seen(|seen| seen.connections), 1);
}

#[test]
fn long_bodies_pass_the_windows_both_ways() {
    let world = World2::new();
    for length in [5_000_000, 5_000_001] {
        assert_eq!(
            world.get(&format!("/bytes/{length}")).unwrap().body().len(),
            length
        );
    }
    let body = vec![b'x'; 5_000_000];
    let response = world
        .send(world.request("POST", "/upload").body(body))
        .unwrap();
    assert_eq!(&response.body()[..], b"5000000");
}

#[test]
fn the_cap_on_bodies_is_exact() {
    let world = World2::with(100, |config| config.max_body = 1000);
    assert_eq!(world.get("/bytes/1000").unwrap().body().len(), 1000);
    for length in [1001, 1002] {
        let error = world.get(&format!("/bytes/{length}")).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Read));
    }
    assert!(world.get("/").is_ok());
    assert_eq!(world.peer.seen(|seen| seen.connections), 1);
}

#[test]
fn each_limit_fires_and_leaves_the_other_requests_alone() {
    type Change = fn(&mut Config, Duration);
    let cases: [(&str, Change, Phase); 4] = [
        (
            "/stall",
            |c, limit| c.first_byte_timeout = Some(limit),
            Phase::FirstByte,
        ),
        (
            "/stall-body",
            |c, limit| c.read_timeout = Some(limit),
            Phase::Read,
        ),
        ("/stall", |c, limit| c.timeout = limit, Phase::Total),
        ("/drip", |c, limit| c.timeout = limit, Phase::Total),
    ];
    for (path, change, phase) in cases {
        with_growing(Duration::from_millis(200), |limit| {
            let world = World2::with(100, |config| change(config, limit));
            let begun = Instant::now();
            let error = fires_alone(&world, path, phase)?;
            assert!(error.elapsed() >= limit && error.attempts().len() == 1);
            assert!(begun.elapsed() < 2 * limit + Duration::from_secs(30));
            assert_eq!(world.peer.seen(|seen| seen.connections), 1, "{path}");
            if path != "/drip" {
                world
                    .peer
                    .wait_until(|seen| seen.resets == [h2::Reason::CANCEL]);
            }
            Some(())
        });
    }
}

/// The failure of a request that takes too long, beside others that do not; none if another was too late too.
fn fires_alone(world: &World2, path: &str, phase: Phase) -> Option<Error> {
    let mut batch = Batch::new(world.client.clone(), 2);
    batch.push("late", world.request("GET", path));
    let long = world.request("GET", "/delay/500");
    if phase != Phase::FirstByte {
        batch.push("other", long.timeout(Duration::from_secs(60)));
    }
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.reactor.block_on(batch.wait(&mut outcomes));
    }
    outcomes.push(("next", world.get("/")));
    let late = outcomes.iter().position(|(tag, _)| *tag == "late").unwrap();
    let error = outcomes.remove(late).1.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, phase));
    for (tag, outcome) in outcomes {
        match outcome {
            Err(other) if other.kind() == Kind::Timeout => return None,
            other => drop(other.unwrap_or_else(|error| panic!("{path}, {tag}: {error}"))),
        }
    }
    error.sent().then_some(error)
}

#[test]
fn a_server_that_takes_nothing_hits_the_limit_of_sending() {
    let world = World2::with(100, |config| {
        config.send_timeout = Some(Duration::from_millis(200));
    });
    let body = vec![b'x'; 5_000_000];
    let error = world
        .send(world.request("POST", "/stall").body(body))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Timeout, Phase::Send, true)
    );
}

#[test]
fn an_aborted_request_resets_its_stream_and_gives_it_back() {
    let world = World2::with(10, |config| config.per_origin = Some(1));
    for round in 1..=5 {
        let mut batch = Batch::new(world.client.clone(), 20);
        (0..20).for_each(|tag| batch.push(tag, world.request("GET", "/stall")));
        let mut outcomes = Vec::new();
        let arrived = |seen: &Seen| seen.requests.len();
        let before = world.peer.seen(arrived);
        while world.peer.seen(arrived) == before {
            let wait = batch.wait(&mut outcomes);
            let ended = world
                .reactor
                .block_on_at_most(wait, Duration::from_millis(10));
            assert!(ended.is_none());
        }
        drop(batch);
        assert!(world.get("/").is_ok());
        world.peer.wait_until(|seen| seen.resets.len() >= round);
    }
    assert_eq!(world.peer.seen(|seen| seen.connections), 1);
}

#[test]
fn a_body_that_ends_too_early_is_an_error() {
    let world = World2::new();
    for path in ["/short", "/reset-body"] {
        let error = world.get(path).unwrap_err();
        assert_eq!(
            (error.kind(), error.phase(), error.sent()),
            (Kind::Body, Phase::Read, true)
        );
        assert_eq!(error.attempts()[0].ending, Ending::Failed);
    }
    assert!(world.get("/").is_ok());
    assert_eq!(world.peer.seen(|seen| seen.connections), 1);
}

#[test]
fn idle_connections_are_counted_and_closed() {
    let world = World2::new();
    assert!(world.get("/").is_ok());
    assert_eq!(world.client.idle_connections(), 1);
    world.client.close_idle();
    assert_eq!(world.client.idle_connections(), 0);
    assert!(world.get("/").is_ok());
    assert_eq!(world.peer.seen(|seen| seen.connections), 2);
    let world = World2::with(100, |config| config.idle_timeout = Duration::ZERO);
    assert!(world.get("/").is_ok() && world.get("/").is_ok());
    assert_eq!(world.client.idle_connections(), 0);
    assert_eq!(world.peer.seen(|seen| seen.connections), 2);
}

#[test]
fn limits_on_idle_connections_their_age_and_the_queue_hold_as_over_http1() {
    let world = World2::with(100, |config| config.max_age = Some(Duration::ZERO));
    assert!(world.get("/").is_ok() && world.get("/").is_ok());
    assert_eq!(world.peer.seen(|seen| seen.connections), 2);
    let world = World2::with(1, |config| config.max_idle = Some(1));
    assert!(world.batch(3, 3, "/delay/50").iter().all(Result::is_ok));
    assert_eq!(world.client.idle_connections(), 1);
    let world = World2::with(1, |config| {
        config.per_origin = Some(1);
        config.max_queue = Some(2);
    });
    let outcomes = world.batch(4, 4, "/delay/50");
    let refused: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    let [error] = refused[..] else {
        panic!("one is refused and not {}: {refused:?}", refused.len())
    };
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Connect, Phase::Queue, false)
    );
    let stats = world.client.stats();
    assert_eq!(
        (stats.opened, stats.idle, stats.in_use, stats.waiting),
        (1, 1, 0, 0)
    );
    assert_eq!((stats.requests, stats.reused), (4, 2));
}
