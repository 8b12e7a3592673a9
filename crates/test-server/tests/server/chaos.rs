//! Random faults, as clients see them and as the ledger counts them.

use crate::streams;
use crate::support;

use std::future::poll_fn;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use h2::Reason;
use hecaton_test_server::{Http2, Options, TestServer};
use http::Request;
use support::{Client, eventually};

fn start(chaos: &str) -> TestServer {
    let options = Options {
        chaos: Some(chaos.parse().unwrap()),
        ..Options::default()
    };
    TestServer::start(options).expect("a test server on a free port")
}

/// All bytes that a new connection gets for one request, and whether the end was orderly.
fn raw(server: &TestServer, path: &str) -> (Vec<u8>, bool) {
    let mut client = Client::new(server);
    client.request("GET", path, "Connection: close\r\n");
    let mut bytes = Vec::new();
    let orderly = client.socket.read_to_end(&mut bytes).is_ok();
    (bytes, orderly)
}

#[test]
fn each_random_fault_is_seen_and_counted_under_its_name() {
    for name in [
        "reset", "truncate", "500", "garbage", "close", "slow", "early",
    ] {
        let server = start(&format!("{name}=100%"));
        let start = Instant::now();
        let (bytes, orderly) = raw(&server, "/r/3");
        let text = String::from_utf8_lossy(&bytes);
        let body = text
            .split_once("\r\n\r\n")
            .map_or(0, |(_, body)| body.len());
        assert_eq!(orderly, name != "reset", "{name}");
        match name {
            "reset" | "close" => assert_eq!(text, ""),
            "truncate" => assert_eq!(body, 500),
            "early" => assert!(text.starts_with("HTTP/1.1 413 "), "{text}"),
            "500" => assert!(text.starts_with("HTTP/1.1 500 "), "{text}"),
            "garbage" => assert!(!text.starts_with("HTTP/"), "{text}"),
            _ => {
                assert_eq!(body, 133);
                assert!(start.elapsed() >= Duration::from_millis(160));
            }
        }
        // Other paths are left alone.
        assert_eq!(Client::new(&server).get("/bytes/5").body.len(), 5);
        let chaos = server.summary().chaos.unwrap();
        let dealt = chaos[name];
        assert_eq!((dealt.count, dealt.ids, dealt.squares), (1, 3, 9), "{name}");
        assert_eq!(chaos["good"].count, 0);
    }
}

#[test]
fn a_stall_lasts_until_the_client_goes() {
    let server = start("stall=100%");
    let mut client = Client::new(&server);
    client.request("GET", "/r/1", "");
    eventually(&server, |summary| summary.peak_in_flight == 1);
    drop(client);
    let summary = eventually(&server, |summary| summary.aborted == 1);
    assert_eq!(summary.chaos.unwrap()["stall"].count, 1);
}

#[test]
fn an_early_response_comes_before_the_body_and_the_end_right_after_it() {
    let server = start("early=100%");
    let mut client = Client::new(&server);
    client.request("POST", "/r/3", "Content-Length: 300000\r\n");
    // Nothing of the body has been sent.
    let response = client.response();
    assert_eq!(response.status, 413);
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(client.rest(), b"");
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    let early = summary.chaos.unwrap()["early"];
    assert_eq!((early.count, early.ids, early.squares), (1, 3, 9));
    // Bytes on their way are not read: the connection is reset after the response.
    let mut client = Client::new(&server);
    // The reset may come while this is written; the response is there all the same.
    let _ = client.socket.write_all(
        format!(
            "POST /r/4 HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n{}",
            "x".repeat(100_000)
        )
        .as_bytes(),
    );
    assert_eq!(client.response().status, 413);
}

#[test]
fn an_early_response_ends_its_stream_alone() {
    let options = Options {
        chaos: Some("early=100%".parse().unwrap()),
        http2: Some(Http2::default()),
        ..Options::default()
    };
    let server = TestServer::start(options).expect("a test server on a free port");
    streams::run(async {
        let client = streams::connect(&server).await;
        let request = Request::post("http://test/r/3").body(()).unwrap();
        let mut ready = client.clone().ready().await.unwrap();
        let (response, mut body) = ready.send_request(request, false).unwrap();
        assert_eq!(response.await.unwrap().status(), 413);
        let reset = poll_fn(|context| body.poll_reset(context)).await;
        assert_eq!(reset.unwrap(), Reason::NO_ERROR);
        // The connection stays open.
        let whole = streams::get(&client, "/bytes/5").await.unwrap();
        assert_eq!(whole.body.len(), 5);
    });
    let summary = server.summary();
    assert_eq!((summary.connections, summary.aborted), (1, 0));
    assert_eq!(summary.chaos.unwrap()["early"].count, 1);
}

#[test]
fn a_connection_ends_without_notice_and_requests_after_it_are_counted() {
    let options = Options {
        chaos: Some("slow=0%".parse().unwrap()),
        close_after: 2,
        ..Options::default()
    };
    let server = TestServer::start(options).expect("a test server on a free port");
    let mut client = Client::new(&server);
    for id in [1, 2] {
        let response = client.get(&format!("/r/{id}"));
        assert_eq!(
            (response.status, response.header("connection")),
            (200, None)
        );
    }
    assert_eq!(client.rest(), b"");
    // Like a client that has not seen the end yet.
    client.request("GET", "/r/5", "");
    client.send("POST /r/6 HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\nx");
    drop(client);
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.aborted), (2, 0));
    let chaos = summary.chaos.unwrap();
    let late = chaos["unprocessed"];
    assert_eq!((late.count, late.ids, late.squares), (2, 11, 61));
    assert_eq!((chaos["good"].count, chaos["good"].ids), (2, 3));
}

#[test]
fn the_counts_of_all_faults_add_up_to_the_requests() {
    let server = start("500=20%,slow=5%");
    let mut client = Client::new(&server);
    let (mut ids, mut squares, mut failed) = (0, 0, 0);
    for id in (0..100).chain(0..50) {
        failed += u64::from(client.get(&format!("/r/{id}")).status == 500);
        ids += id;
        squares += id * id;
    }
    let chaos = server.summary().chaos.unwrap();
    assert_eq!(chaos["500"].count, failed);
    assert!(failed > 0);
    let all: Vec<_> = chaos.values().collect();
    assert_eq!(all.iter().map(|dealt| dealt.count).sum::<u64>(), 150);
    assert_eq!(all.iter().map(|dealt| dealt.ids).sum::<u64>(), ids);
    assert_eq!(all.iter().map(|dealt| dealt.squares).sum::<u64>(), squares);
}

#[test]
fn without_chaos_the_summary_has_none() {
    assert_eq!(support::server().summary().chaos, None);
}
