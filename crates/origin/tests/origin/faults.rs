//! Every fault, as a client sees it on its socket.

use crate::support;

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use support::{Client, eventually, origin};

fn ask(origin: &hecaton_origin::Origin, fault: &str) -> Client {
    let mut client = Client::new(origin);
    client.request("GET", &format!("/fault/{fault}"), "");
    client
}

#[test]
fn truncate_sends_half_of_what_it_promises() {
    let origin = origin();
    let mut client = ask(&origin, "truncate");
    assert_eq!(client.head().header("content-length"), Some("1000"));
    assert_eq!(client.rest().len(), 500);
}

#[test]
fn truncate_chunked_ends_inside_a_chunk() {
    let origin = origin();
    let mut client = ask(&origin, "truncate-chunked");
    assert_eq!(client.head().header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.rest(), b"8\r\nchunk 1\n\r\n8\r\nchun");
}

#[test]
fn reset_and_close_come_before_any_answer() {
    let origin = origin();
    assert_eq!(
        ask(&origin, "reset").error().kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(ask(&origin, "close").rest(), b"");
}

#[test]
fn garbage_is_not_http() {
    let origin = origin();
    let bytes = ask(&origin, "garbage").rest();
    assert!(!bytes.is_empty());
    let mut headers = [httparse::EMPTY_HEADER; 16];
    assert!(httparse::Response::new(&mut headers).parse(&bytes).is_err());
}

#[test]
fn stalls_last_until_the_client_goes() {
    let origin = origin();
    let mut client = ask(&origin, "stall-body");
    assert_eq!(client.head().header("content-length"), Some("1000"));
    client.exactly(500);
    let mut silent = ask(&origin, "stall-head");
    eventually(&origin, |summary| summary.peak_in_flight == 2);
    for client in [&mut client, &mut silent] {
        let patience = Duration::from_millis(50);
        client.socket.set_read_timeout(Some(patience)).unwrap();
        assert_eq!(client.error().kind(), ErrorKind::WouldBlock);
    }
    drop((client, silent));
    let summary = eventually(&origin, |summary| summary.connections_open == 0);
    assert_eq!((summary.aborted, summary.requests), (2, 0));
}

#[test]
fn drip_sends_a_byte_each_tenth_of_a_second() {
    let origin = origin();
    let mut client = ask(&origin, "drip");
    client.head();
    let start = Instant::now();
    assert_eq!(client.exactly(18), b"1\r\nx\r\n".repeat(3));
    assert!(
        start.elapsed() >= Duration::from_millis(150),
        "{:?}",
        start.elapsed()
    );
    drop(client);
    eventually(&origin, |summary| summary.aborted == 1);
}

#[test]
fn huge_head_is_a_mebibyte_and_then_a_good_answer() {
    let origin = origin();
    let mut client = ask(&origin, "huge-head");
    let answer = client.answer();
    assert!(answer.head.len() >= 1024 * 1024);
    assert_eq!(answer.text(), "ok\n");
    assert_eq!(client.get("/r/1").status, 200);
}

#[test]
fn idle_close_answers_well_and_then_closes() {
    let origin = origin();
    let mut client = ask(&origin, "idle-close");
    let answer = client.answer();
    assert_eq!((answer.text(), answer.header("connection")), ("ok\n", None));
    assert_eq!(client.rest(), b"");
    assert_eq!(
        eventually(&origin, |summary| summary.connections_open == 0).requests,
        1
    );
}

#[test]
fn the_origin_survives_all_of_them() {
    let origin = origin();
    let mut steady = Client::new(&origin);
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
        drop(ask(&origin, fault));
        assert_eq!(steady.get("/r/1").body.len(), 133, "after {fault}");
    }
    let summary = eventually(&origin, |summary| summary.connections_open == 1);
    assert_eq!(summary.requests + summary.aborted, 20);
    assert_eq!(steady.get("/fault/none").status, 404);
}
