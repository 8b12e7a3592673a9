//! The pool keeps idle connections as long as the settings say, and the client counts them.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hecaton::{Batch, Kind, Outcome, Phase, Request, Retry, Stats};
use hecaton_e2e::peer::Requests;
use hecaton_test_server::ClosedPort;

use crate::{World, with_growing};

/// The outcomes of as many requests at once.
fn at_once(world: &World, count: usize, path: &str) -> Vec<Outcome> {
    let mut batch = Batch::new(world.client.clone(), count);
    (0..count).for_each(|tag| batch.push(tag, world.request(path)));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

#[test]
fn a_full_queue_is_an_error_at_once_and_sends_nothing() {
    for (max_queue, served) in [(Some(2), 3), (Some(0), 1), (None, 6)] {
        let world = World::with(|config| {
            config.per_origin = Some(1);
            config.max_queue = max_queue;
        });
        let outcomes = at_once(&world, 6, "/delay/100");
        let refused: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
        assert_eq!(outcomes.len() - refused.len(), served, "{refused:?}");
        for error in refused {
            assert_eq!(
                (error.kind(), error.phase(), error.sent()),
                (Kind::Connect, Phase::Queue, false)
            );
            assert!(error.to_string().contains("max_queue"), "{error}");
        }
        assert_eq!(world.client.stats().waiting, 0, "every slot was given back");
        assert_eq!(world.get("/r/1").status(), 200);
        assert_eq!(world.server.summary().requests, served as u64 + 1);
    }
}

#[test]
fn a_connection_that_was_opened_ahead_serves_the_next_request() {
    let world = World::new();
    let connect = || {
        world
            .run(world.client.connect(world.request("/r/1")))
            .unwrap()
    };
    let opened = connect().remove(0);
    assert!(opened.connect_time.is_some() && opened.peer().is_some() && !opened.sent);
    assert_eq!(world.server.summary().requests, 0);
    // One that is idle already is enough.
    assert_eq!(connect()[0].connection, opened.connection);
    let attempts = [world.get("/r/1"), world.get("/r/1")].map(|r| r.attempts()[0].clone());
    let facts = attempts.map(|attempt| (attempt.connection, attempt.reused));
    assert_eq!(
        facts,
        [(opened.connection, false), (opened.connection, true)]
    );
    connect();
    let Stats { opened, reused, .. } = world.client.stats();
    assert_eq!((opened, reused), (1, 1));
}

#[test]
fn a_connection_that_cannot_be_opened_ahead_is_an_error() {
    let world = World::with(|config| config.timeout = Duration::from_millis(300));
    let closed = ClosedPort::take().unwrap();
    let refused = Request::get(&format!("http://{}/", closed.address())).unwrap();
    let error = world.run(world.client.connect(refused)).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Connect, Phase::Connect)
    );
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = Request::get(&format!("https://{}/", silent.local_addr().unwrap())).unwrap();
    let error = world.run(world.client.connect(silent)).unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
}

#[test]
fn no_more_connections_stay_idle_than_allowed() {
    for most in [0, 2] {
        let world = World::with(|config| config.max_idle = Some(most));
        assert!(at_once(&world, 5, "/delay/50").iter().all(Result::is_ok));
        assert_eq!(world.client.idle_connections(), most);
        assert_eq!(world.get("/r/1").attempts()[0].reused, most > 0);
    }
}

#[test]
fn a_connection_that_is_too_old_is_not_used_again() {
    // While it is young it is used.
    let (limit, world) = with_growing(Duration::from_millis(500), |limit| {
        let world = World::with(|config| config.max_age = Some(limit));
        assert!(!world.get("/r/1").attempts()[0].reused);
        let reused = world.get("/r/1").attempts()[0].reused;
        reused.then_some((limit, world))
    });
    let longer = limit + Duration::from_millis(100);
    thread::sleep(longer);
    let reused = world.get("/r/1").attempts()[0].reused;
    assert!(!reused, "however short it was idle");
    world.get(&format!("/delay/{}", longer.as_millis()));
    assert_eq!(world.client.idle_connections(), 0, "nor is it put away");
}

#[test]
fn the_client_counts_its_work() {
    let world = World::with(|config| {
        config.reconnect = false;
        config.per_origin = Some(2);
        config.retry = Some(Retry {
            interval: Duration::ZERO,
            ..Retry::default()
        });
    });
    assert_eq!(world.client.stats(), Stats::default());
    world.get("/r/1");
    world.get("/r/2");
    world.send(world.request("/fault/close")).unwrap_err();
    let stats = world.client.stats();
    assert_eq!((stats.requests, stats.retries), (3, 2));
    assert_eq!(
        (stats.opened, stats.reused),
        (3, 2),
        "closed ones are opened anew"
    );
    assert_eq!((stats.idle, stats.in_use, stats.waiting), (0, 0, 0));
    let mut batch = Batch::new(world.client.clone(), 5);
    (0..5).for_each(|tag| batch.push(tag, world.request("/fault/stall-head")));
    world.run(async {
        let mut outcomes = Vec::new();
        let waiting = batch.wait(&mut outcomes);
        let _ = tokio::time::timeout(Duration::from_secs(1), waiting).await;
    });
    let stats = world.client.stats();
    assert_eq!((stats.in_use, stats.waiting, stats.idle), (2, 3, 0));
    drop(batch);
    let stats = world.client.stats();
    assert_eq!((stats.in_use, stats.waiting, stats.idle), (0, 0, 0));
}

#[test]
fn a_busy_batch_notices_which_of_many_idle_connections_have_ended() {
    const MANY: usize = 24;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (close, closes) = mpsc::channel::<()>();
    let (report, reports) = mpsc::channel();
    thread::spawn(move || {
        let streams: Vec<_> = listener.incoming().take(MANY).map(Result::unwrap).collect();
        for stream in &streams {
            respond(stream);
        }
        closes.recv().unwrap();
        // The client's kernel has noticed each end when `drop` returns.
        let open: Vec<_> = streams.into_iter().skip(MANY / 2).collect();
        report.send(()).unwrap();
        let new = listener.incoming().map_while(Result::ok);
        for stream in open.into_iter().chain(new) {
            thread::spawn(move || while respond(&stream) {});
        }
    });
    let world = World::new();
    let post = || Request::new("POST", &url).unwrap();
    let run = || {
        let mut batch = Batch::new(world.client.clone(), MANY);
        (0..MANY).for_each(|tag| batch.push(tag, post()));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            world.run(batch.wait(&mut outcomes));
        }
        outcomes
    };
    assert!(run().iter().all(|(_, outcome)| outcome.is_ok()));
    assert_eq!(world.client.idle_connections(), MANY);
    close.send(()).unwrap();
    reports.recv().unwrap();
    // A POST on a connection that has ended would fail, because it is not sent again.
    for (_, outcome) in run() {
        assert_eq!(outcome.unwrap().attempts().len(), 1);
    }
}

/// Reads a head and responds; false when there is none.
fn respond(mut stream: &TcpStream) -> bool {
    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    stream.head().is_some() && stream.write_all(ok).is_ok()
}
