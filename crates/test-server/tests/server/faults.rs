//! Every fault, as a client sees it on its socket.

use crate::support;

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use support::{Client, eventually, server};

fn request(server: &hecaton_test_server::TestServer, fault: &str) -> Client {
    let mut client = Client::new(server);
    client.request("GET", &format!("/fault/{fault}"), "");
    client
}

#[test]
fn truncate_sends_half_of_what_it_promises() {
    let server = server();
    let mut client = request(&server, "truncate");
    assert_eq!(client.head().header("content-length"), Some("1000"));
    assert_eq!(client.rest().len(), 500);
}

#[test]
fn truncate_chunked_ends_inside_a_chunk() {
    let server = server();
    let mut client = request(&server, "truncate-chunked");
    assert_eq!(client.head().header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.rest(), b"8\r\nchunk 1\n\r\n8\r\nchun");
}

#[test]
fn reset_and_close_come_before_any_response() {
    let server = server();
    assert_eq!(
        request(&server, "reset").error().kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(request(&server, "close").rest(), b"");
}

#[test]
fn garbage_is_not_http() {
    let server = server();
    let bytes = request(&server, "garbage").rest();
    assert!(!bytes.is_empty());
    let mut headers = [httparse::EMPTY_HEADER; 16];
    assert!(httparse::Response::new(&mut headers).parse(&bytes).is_err());
}

#[test]
fn stalls_last_until_the_client_goes() {
    let server = server();
    let mut client = request(&server, "stall-body");
    assert_eq!(client.head().header("content-length"), Some("1000"));
    client.exactly(500);
    let mut silent = request(&server, "stall-head");
    eventually(&server, |summary| summary.peak_in_flight == 2);
    for client in [&mut client, &mut silent] {
        let patience = Duration::from_millis(50);
        client.socket.set_read_timeout(Some(patience)).unwrap();
        assert_eq!(client.error().kind(), ErrorKind::WouldBlock);
    }
    drop((client, silent));
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.aborted, summary.requests), (2, 0));
}

#[test]
fn drip_sends_a_byte_each_tenth_of_a_second() {
    let server = server();
    let start = Instant::now();
    let mut client = request(&server, "drip");
    client.head();
    assert_eq!(client.exactly(18), b"1\r\nx\r\n".repeat(3));
    assert!(
        start.elapsed() >= Duration::from_millis(150),
        "{:?}",
        start.elapsed()
    );
    drop(client);
    eventually(&server, |summary| summary.aborted == 1);
}

#[test]
fn huge_head_is_a_mebibyte_and_then_a_good_response() {
    let server = server();
    let mut client = request(&server, "huge-head");
    let response = client.response();
    assert!(response.head.len() >= 1024 * 1024);
    assert_eq!(response.text(), "ok\n");
    assert_eq!(client.get("/r/1").status, 200);
}

#[test]
fn idle_close_responds_well_and_then_closes() {
    let server = server();
    let mut client = request(&server, "idle-close");
    let response = client.response();
    assert_eq!(
        (response.text(), response.header("connection")),
        ("ok\n", None)
    );
    assert_eq!(client.rest(), b"");
    assert_eq!(
        eventually(&server, |summary| summary.connections_open == 0).requests,
        1
    );
}

#[test]
fn the_server_survives_all_of_them() {
    let server = server();
    let mut steady = Client::new(&server);
    let faults = [
        "truncate",
        "truncate-chunked",
        "reset",
        "close",
        "garbage",
        "stall-head",
        "stall-body",
        "drip",
        "huge-head",
        "idle-close",
    ];
    for fault in faults {
        drop(request(&server, fault));
        assert_eq!(steady.get("/r/1").body.len(), 133, "after {fault}");
    }
    let summary = eventually(&server, |summary| summary.connections_open == 1);
    assert_eq!(summary.requests + summary.aborted, 20);
    assert_eq!(steady.get("/fault/none").status, 404);
}
