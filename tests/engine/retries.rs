//! Retries are off by default, and all of them are listed. The server's log counts the same number.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use hecaton::{Batch, Config, Ending, Error, Kind, Phase, Proxy, Request, Retry};
use hecaton_e2e::peer::Peer;

use crate::World;
use crate::proxy_server::read_head;
use crate::redirects::to;
use crate::scripted::{Scripted, response_text};

fn eager() -> Retry {
    Retry {
        interval: Duration::from_millis(1),
        statuses: vec![503],
        ..Retry::default()
    }
}

fn world(retry: Retry) -> World {
    World::with(|config| config.retry = Some(retry))
}

fn arrived(world: World) -> u64 {
    let summary = world.server.stop();
    summary.requests + summary.aborted
}

#[test]
fn none_by_default() {
    // Without re-sends, which are no retries.
    let world = World::with(|config| config.reconnect = false);
    assert_eq!(world.get("/status/503").attempts().len(), 1);
    let error = world.send(world.request("/fault/close")).unwrap_err();
    assert_eq!(error.attempts().len(), 1);
    // Another try would have needed another connection.
    assert_eq!(world.server.stop().connections, 1);
}

#[test]
fn a_status_is_tried_again_and_the_last_response_counts() {
    let world = world(eager());
    let response = world.get("/status/503");
    assert_eq!(response.status(), 503);
    let endings: Vec<_> = response
        .attempts()
        .iter()
        .map(|attempt| &attempt.ending)
        .collect();
    assert_eq!(endings, [&Ending::Status(503); 3]);
    assert_eq!(
        response
            .attempts()
            .iter()
            .filter(|attempt| attempt.reused)
            .count(),
        2
    );
    assert_eq!(arrived(world), 3);
}

#[test]
fn retries_are_counted_over_all_urls_of_a_request() {
    let server = Scripted::responding(|request| match request.split(' ').nth(1) {
        Some("/moved") => to("/busy"),
        _ => response_text(503, "", "busy"),
    });
    let first = AtomicBool::new(true);
    let late = Scripted::responding(move |request| match request.split(' ').nth(1) {
        Some("/moved") if !first.swap(false, Ordering::Relaxed) => to("/busy"),
        _ => response_text(503, "", "busy"),
    });
    for (server, requests) in [
        (
            server,
            ["GET /moved", "GET /busy", "GET /busy", "GET /busy"],
        ),
        (late, ["GET /moved", "GET /moved", "GET /busy", "GET /busy"]),
    ] {
        let request = Request::get(&format!("{}/moved", server.url)).unwrap();
        let response = world(eager()).send(request.redirects(1)).unwrap();
        assert_eq!(response.status(), 503);
        assert_eq!(server.requests(), requests);
    }
}

#[test]
fn a_broken_connection_is_tried_again_on_another() {
    let world = world(eager());
    let error = world.send(world.request("/fault/truncate")).unwrap_err();
    assert_eq!((error.kind(), error.attempts().len()), (Kind::Body, 3));
    let mut connections: Vec<_> = error.attempts().iter().map(|a| a.connection).collect();
    connections.dedup();
    assert_eq!(connections.len(), 3);
    assert_eq!(arrived(world), 3);
}

#[test]
fn a_post_is_sent_once_unless_it_is_named() {
    let post = |world: &World| {
        let url = format!("{}/status/503", world.server.base_url());
        world
            .send(Request::new("POST", &url).unwrap().body("x"))
            .unwrap()
            .attempts()
            .len()
    };
    assert_eq!(post(&world(eager())), 1);
    assert_eq!(
        post(&world(Retry {
            methods: vec![hecaton::Method::POST],
            ..eager()
        })),
        3
    );
}

#[test]
fn no_retry_is_begun_or_waited_for_past_the_deadline() {
    let world = world(Retry {
        interval: Duration::from_secs(600),
        ..eager()
    });
    let begun = Instant::now();
    let response = world.get("/status/503");
    assert_eq!((response.status(), response.attempts().len()), (503, 1));
    assert!(begun.elapsed() < Duration::from_secs(30));
    let limit = Duration::from_millis(300);
    let error = world
        .send(world.request("/fault/stall-head").timeout(limit))
        .unwrap_err();
    assert_eq!((error.phase(), error.attempts().len()), (Phase::Total, 1));
}

#[test]
fn a_phase_that_is_late_is_tried_again() {
    let world = World::with(|config| {
        config.first_byte_timeout = Some(Duration::from_millis(100));
        config.retry = Some(eager());
    });
    let error = world.send(world.request("/fault/stall-head")).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.attempts().len()),
        (Kind::Timeout, Phase::FirstByte, 3)
    );
}

/// A server that is busy at first, sends a `Retry-After` of a second, and responds to the next request when it is told to.
fn busy_server() -> (Peer, Sender<()>) {
    let (tell, told) = channel();
    let told = Mutex::new(told);
    let peer = Peer::responding(move |request| match request.number {
        0 => response_text(503, "retry-after: 1\r\nconnection: close\r\n", ""),
        _ => {
            told.lock().unwrap().recv().unwrap();
            response_text(200, "connection: close\r\n", "")
        }
    });
    (peer, tell)
}

#[test]
fn retry_after_delays_its_own_request_and_no_other() {
    let world = world(eager());
    let (busy, tell) = busy_server();
    let mut batch = Batch::new(world.client.clone(), 2);
    batch.push("patient", Request::get(&busy.url("/")).unwrap());
    (0..20).for_each(|_| batch.push("other", world.request("/r/1")));
    let mut outcomes = Vec::new();
    while outcomes.len() < 20 {
        world.run(batch.wait(&mut outcomes));
    }
    tell.send(()).unwrap();
    world.run(batch.wait(&mut outcomes));
    let (last, outcome) = outcomes.last().unwrap();
    let response = outcome.as_ref().unwrap();
    assert_eq!(
        (*last, response.status(), response.attempts().len()),
        ("patient", 200, 2)
    );
    assert!(response.elapsed() >= Duration::from_secs(1));
    assert_eq!(outcomes.len(), 21);
}

#[test]
fn a_status_is_retried_whatever_becomes_of_its_body_and_the_last_one_is_whole() {
    let cut = "HTTP/1.1 503 X\r\ncontent-length: 5\r\n\r\n".to_owned();
    let server = Scripted::new(|_| vec![("/cut", cut), ("/whole", response_text(503, "", "busy"))]);
    let retry = Retry {
        statuses: vec![503],
        // No failure is retried, so a failure of a body is not either.
        on: Vec::new(),
        interval: Duration::ZERO,
        ..Retry::default()
    };
    let world = World::with(|config| {
        config.retry = Some(retry);
        config.read_timeout = Some(Duration::from_secs(1));
    });
    let get = |path| world.send(Request::get(&format!("{}{path}", server.url)).unwrap());
    let error = get("/cut").unwrap_err();
    assert_eq!(
        (error.kind(), error.attempts().len()),
        (Kind::Timeout, 3),
        "{error}"
    );
    let response = get("/whole").unwrap();
    assert_eq!(
        (response.body(), response.attempts().len()),
        (&"busy".into(), 3)
    );
    let reused = response.attempts().iter().filter(|a| a.reused).count();
    assert_eq!(
        reused, 2,
        "a body that is short is read for the sake of the connection"
    );
}

/// The error of a request to a server that sends these bytes and closes the connection, and the number of tries.
fn tries(response: String, change: impl FnOnce(&mut Config)) -> (Error, usize) {
    let peer = Peer::closing(response);
    let world = World::with(|config| {
        config.retry = Some(eager());
        config.max_body = 10;
        change(config);
    });
    let error = world
        .send(Request::get(&peer.url("/")).unwrap())
        .unwrap_err();
    let tries = error.attempts().len();
    (error, tries)
}

#[test]
fn failures_that_would_repeat_are_not_retried() {
    let response_text = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n{body}");
    for (why, response) in [
        (
            "announced too large",
            response_text("content-length: 11\r\n", ""),
        ),
        ("too large", response_text("", "12345678901")),
        (
            "malformed chunks",
            response_text("transfer-encoding: chunked\r\n", "x\r\n"),
        ),
        (
            "undecodable",
            response_text("content-encoding: gzip\r\n", "no gzip at all"),
        ),
        (
            "too many codings",
            response_text("content-encoding: br, gzip, br\r\n", "x"),
        ),
        ("no HTTP", "SSH-2.0-OpenSSH\r\n".into()),
        ("no length", response_text("content-length: x\r\n", "")),
        (
            "too many fields",
            response_text(&"x: y\r\n".repeat(2001), ""),
        ),
    ] {
        let (error, tries) = tries(response, |_| {});
        assert_eq!(tries, 1, "{why}: {error}");
    }
    for (why, response) in [
        ("cut short", response_text("content-length: 9\r\n", "12345")),
        (
            "coded and cut short",
            response_text("content-encoding: gzip\r\n", "\x1f"),
        ),
    ] {
        let (error, tries) = tries(response, |_| {});
        assert_eq!(tries, 3, "{why}: {error}");
    }
    // It is re-sent once, and then retried twice.
    let (error, tries) = tries(String::new(), |_| {});
    assert_eq!(tries, 4, "no response: {error}");
}

#[test]
fn refusals_before_the_request_is_sent_are_not_retried_either() {
    let proxy = crate::proxy_server::Proxy::start(|client, heads| {
        heads.lock().unwrap().push(read_head(client)?);
        client.write_all(b"HTTP/1.1 407 Authenticate\r\n\r\n")
    });
    let world = World::with(|config| {
        config.retry = Some(eager());
        config.proxy = Proxy::Url(format!("http://127.0.0.1:{}", proxy.port));
    });
    let request = Request::get("https://host.test/").unwrap();
    let error = world.send(request).unwrap_err();
    let counts = (error.attempts().len(), proxy.requests().len());
    assert_eq!(counts, (1, 1), "{error}");

    let world = World::with(|config| {
        config.retry = Some(eager());
        config.per_origin = Some(1);
        config.max_queue = Some(0);
    });
    let mut batch = Batch::new(world.client.clone(), 2);
    batch.push(1, world.request("/drip/5/200"));
    batch.push(2, world.request("/r/2"));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    let errors: Vec<_> = outcomes.into_iter().filter_map(|(_, o)| o.err()).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].attempts().len(), 1, "{}", errors[0]);
}
