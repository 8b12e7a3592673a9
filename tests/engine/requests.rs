//! Requests arrive as the program made them, responses come back whole, connections are reused.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hecaton::{Ending, Request};
use hecaton_e2e::peer::{Peer, Requests, response};

use crate::{World, json, until, with_growing};

#[test]
fn every_method_arrives_with_headers_and_body() {
    let world = World::new();
    for method in [
        "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND",
    ] {
        let request =
            Request::new(method, &format!("{}/echo?a=1", world.server.base_url())).unwrap();
        let request = request.header("x-test", b"yes").unwrap().body("payload");
        let seen = json(&world.send(request).unwrap());
        assert_eq!(seen["method"], method);
        assert_eq!(seen["path"], "/echo?a=1");
        assert_eq!(seen["body"], "payload");
        let headers = seen["headers"].as_array().unwrap();
        assert!(
            headers.contains(&serde_json::json!(["x-test", "yes"])),
            "{headers:?}"
        );
    }
}

#[test]
fn a_large_body_goes_out_whole_and_leaves_the_connection_usable() {
    let world = World::new();
    for size in [0, 1, 16 << 10, (16 << 10) + 1, 5_000_000] {
        let url = format!("{}/echo", world.server.base_url());
        let request = Request::new("POST", &url).unwrap().body("x".repeat(size));
        let response = world.send(request).unwrap();
        assert_eq!(json(&response)["body"].as_str().unwrap().len(), size);
    }
    assert!(world.get("/r/1").attempts()[0].reused);
}

#[test]
fn a_response_before_the_request_is_out_is_taken_and_the_connection_is_not_used_again() {
    let world = World::new();
    let peer = Peer::closing(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    let request = Request::new("POST", &peer.url("/"))
        .unwrap()
        .body(vec![b'x'; 50_000_000]);
    // If the reset behind the response comes first, the request fails, but it never waits.
    match world.send(request) {
        Ok(response) => assert_eq!((response.status(), &response.body()[..]), (413, &b"no"[..])),
        Err(error) => assert!(
            error.sent() && error.kind() != hecaton::Kind::Timeout,
            "{error}"
        ),
    }
    assert_eq!(world.client.idle_connections(), 0);
}

#[test]
fn a_server_that_responds_while_it_reads_gets_the_whole_request() {
    const SIZE: usize = 20_000_000;
    let peer = Peer::playing(|mut stream, _| {
        stream.head();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let (mut echoed, mut piece) = (0, [0; 65536]);
        while echoed < SIZE {
            let count = stream.read(&mut piece).unwrap();
            stream.write_all(&piece[..count]).unwrap();
            echoed += count;
        }
    });
    let world = World::new();
    let request = Request::new("POST", &peer.url("/")).unwrap();
    let request = request.body(vec![b'x'; SIZE]);
    let response = world.send(request).unwrap();
    assert!(response.body().len() == SIZE && response.body().iter().all(|byte| *byte == b'x'));
    assert_eq!(world.client.idle_connections(), 0);
}

#[test]
fn bytes_behind_a_response_are_never_taken_for_the_next_one() {
    let world = World::new();
    let peer =
        Peer::closing(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n");
    let response = world.send(Request::get(&peer.url("/")).unwrap()).unwrap();
    assert_eq!(response.body(), "ok");
    assert_eq!(world.client.idle_connections(), 0);
    // Bytes of another connection are not taken either, though both may be read to one buffer.
    assert_eq!(world.get("/bytes/1").body().len(), 1);
}

#[test]
fn bytes_that_come_shortly_after_a_response_are_noticed_too() {
    let (resume, resumed) = std::sync::mpsc::channel();
    let (give, given) = std::sync::mpsc::channel();
    let resumed = Mutex::new(resumed);
    let peer = Peer::playing(move |mut stream, _| {
        let response = |body| format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{body}");
        stream.head();
        stream.write_all(response("mine").as_bytes()).unwrap();
        resumed.lock().unwrap().recv().unwrap();
        stream.write_all(response("evil").as_bytes()).unwrap();
        give.send(stream.try_clone()).unwrap();
    });
    let world = World::new();
    let mut open = Vec::new();
    for _ in 0..3 {
        let response = world.send(Request::get(&peer.url("/")).unwrap());
        assert_eq!(response.unwrap().body(), "mine");
        resume.send(()).unwrap();
        open.push(given.recv().unwrap());
        thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn interim_responses_are_skipped_and_lengths_that_disagree_are_errors() {
    let world = World::new();
    let peer = Peer::closing(
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    );
    assert_eq!(
        world
            .send(Request::get(&peer.url("/")).unwrap())
            .unwrap()
            .status(),
        204
    );
    let peer =
        Peer::closing(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc");
    let error = world
        .send(Request::get(&peer.url("/")).unwrap())
        .unwrap_err();
    assert_eq!(error.kind(), hecaton::Kind::Protocol);
}

#[test]
fn bodies_come_whole_however_they_are_framed() {
    let world = World::new();
    assert_eq!(world.get("/bytes/0").body().len(), 0);
    assert_eq!(world.get("/bytes/5000000").body().len(), 5_000_000);
    assert_eq!(
        world.get("/chunked/3").body(),
        "chunk 1\nchunk 2\nchunk 3\n"
    );
    assert!(!world.get("/eof").body().is_empty());
    for status in [200, 204, 304, 404, 500] {
        assert_eq!(world.get(&format!("/status/{status}")).status(), status);
    }
}

#[test]
fn head_leaves_the_connection_usable() {
    let world = World::new();
    let head = Request::new("HEAD", &format!("{}/bytes/100", world.server.base_url())).unwrap();
    let response = world.send(head).unwrap();
    assert_eq!(response.header("Content-Length"), Some(&b"100"[..]));
    assert!(response.body().is_empty());
    assert!(world.get("/echo").attempts()[0].reused);
}

#[test]
fn a_connection_is_used_again_as_the_servers_log_confirms() {
    let world = World::new();
    let ids: Vec<u64> = (0..20)
        .map(|_| world.get("/r/1").attempts()[0].connection)
        .collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    let summary = world.server.stop();
    assert_eq!(
        (summary.connections, summary.requests, summary.reused),
        (1, 20, 19)
    );
}

#[test]
fn a_request_that_says_close_is_the_last_on_its_connection() {
    // The server neither closes the connection nor announces that it will.
    let peer = Peer::responding(|_| response(200, "", ""));
    let world = World::new();
    for (value, idle) in [("keep-alive", 1), ("x, Close", 0)] {
        let request = Request::get(&peer.url("/")).unwrap();
        let request = request.header("Connection", value.as_bytes()).unwrap();
        assert_eq!(world.send(request).unwrap().status(), 200);
        assert_eq!(world.client.idle_connections(), idle, "{value}");
    }
}

#[test]
fn origins_do_not_share_connections() {
    let world = World::new();
    let by_name = world.server.base_url().replace("127.0.0.1", "localhost");
    world.get("/r/1");
    let response = world
        .send(Request::get(&format!("{by_name}/r/1")).unwrap())
        .unwrap();
    assert!(!response.attempts()[0].reused);
    assert_eq!(world.client.idle_connections(), 2);
}

#[test]
fn a_closed_connection_is_noticed_before_it_is_used() {
    let world = World::new();
    world.get("/fault/idle-close");
    until(|| world.server.summary().connections_open == 0);
    let response = world.get("/r/1");
    let endings: Vec<_> = response
        .attempts()
        .iter()
        .map(|attempt| &attempt.ending)
        .collect();
    assert_eq!(endings, [&Ending::Status(200)]);
    assert!(!response.attempts()[0].reused);
}

#[test]
fn idle_connections_expire() {
    let (limit, world) = with_growing(Duration::from_millis(50), |limit| {
        let world = World::with(|config| config.idle_timeout = limit);
        world.get("/r/1");
        (world.client.idle_connections() == 1).then_some((limit, world))
    });
    thread::sleep(2 * limit);
    assert!(!world.get("/r/1").attempts()[0].reused);
}

#[test]
fn idle_connections_to_an_origin_without_further_requests_expire() {
    with_growing(Duration::from_millis(50), |limit| {
        let world = World::with(|config| config.idle_timeout = limit);
        world.get("/r/1");
        thread::sleep(2 * limit);
        let by_name = world.server.base_url().replace("127.0.0.1", "localhost");
        let request = Request::get(&format!("{by_name}/r/1")).unwrap();
        assert_eq!(world.send(request).unwrap().status(), 200);
        let idle = world.client.idle_connections();
        assert!(idle <= 1, "{idle}");
        // The second expires as soon.
        (idle == 1).then_some(())
    });
}

#[test]
fn threads_share_a_reactor_and_its_connections() {
    let world = Arc::new(World::new());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let world = world.clone();
            thread::spawn(move || {
                (0..50)
                    .map(|_| world.get("/r/1").status())
                    .all(|s| s == 200)
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    let summary = world.server.summary();
    assert_eq!(summary.requests, 400);
    assert!(
        summary.connections <= 8,
        "{} connections",
        summary.connections
    );
}

#[test]
fn the_future_of_a_request_fits_mallocs_fast_path() {
    let world = World::new();
    let size = size_of_val(&world.client.send(world.request("/r/1")));
    assert!(size < 1024, "{size} bytes");
}

#[test]
fn names_of_headers_go_out_as_they_were_written_and_our_own_in_title_case() {
    let world = World::new();
    let request = |method: &str| {
        let url = format!("{}/echo", world.server.base_url());
        let request = Request::new(method, &url).unwrap();
        request.header("X-rEQUEST-id", b"1").unwrap()
    };
    let names = |request: Request| {
        let seen = json(&world.send(request).unwrap());
        let headers = seen["headers"].as_array().unwrap().iter();
        let names = headers.map(|field| field[0].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>().join(" ")
    };
    let own = "Host User-Agent Accept Accept-Encoding X-rEQUEST-id";
    assert_eq!(names(request("GET")), own);
    let post = request("POST").body("abc");
    assert_eq!(names(post), format!("{own} Content-Length"));
    // A header of the program replaces the default one, whatever its case.
    let accept = request("GET").header("aCCept", b"a").unwrap();
    let accept = accept.header("user-AGENT", b"b").unwrap();
    assert_eq!(
        names(accept),
        "Host Accept-Encoding X-rEQUEST-id aCCept user-AGENT"
    );
}

#[test]
fn a_request_in_flight_is_small() {
    let world = World::new();
    let future = world.client.send(world.request("/r/1"));
    // malloc's fast path ends at 1 KiB, and a batch adds a header to each future.
    assert!(size_of_val(&future) < 960, "{} bytes", size_of_val(&future));
}
