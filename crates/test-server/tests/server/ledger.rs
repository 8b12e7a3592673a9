//! The ledger after requests whose counts are known.

use crate::support;

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use hecaton_test_server::{Interval, Options, RoundSpec, TestServer};
use support::{Client, eventually, round, server};

/// Requests the ids on this many connections at once, an equal share on each. Returns the checksum.
fn fetch(server: &TestServer, first: u64, count: u64, connections: u64) -> u32 {
    let share = count / connections;
    let start = Barrier::new(connections as usize);
    let worker = |number: u64| {
        let mut client = Client::new(server);
        start.wait();
        let ids = first + number * share..first + (number + 1) * share;
        ids.fold(0u32, |sum, id| {
            sum.wrapping_add(client.get(&format!("/r/{id}")).check_value())
        })
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..connections)
            .map(|number| scope.spawn(move || worker(number)))
            .collect();
        workers
            .into_iter()
            .fold(0u32, |sum, w| sum.wrapping_add(w.join().unwrap()))
    })
}

#[test]
fn an_honest_round_adds_up() {
    let server = server();
    let first = u64::MAX - 50; // The ids may run over the end of the numbers.
    server.open_round(round(first - 1000, 1000));
    let sum = fetch(&server, first - 1000, 1000, 4);
    let interval = server.close_round();
    assert_eq!(interval.expected_sum, sum);
    let counts = (
        interval.requests,
        interval.distinct,
        interval.duplicates,
        interval.foreign,
        interval.aborted,
    );
    assert_eq!(counts, (1000, 1000, 0, 0, 0));
    assert_eq!((interval.first, interval.count), (first - 1000, 1000));
    assert_eq!(
        (
            interval.connections_opened,
            interval.connections_used,
            interval.reused
        ),
        (4, 4, 996)
    );
    assert!(
        (1..=4).contains(&interval.peak_in_flight),
        "{}",
        interval.peak_in_flight
    );
    assert_eq!(interval.body_bytes_out, 133_000);
    assert!(interval.bytes_out > interval.body_bytes_out);
    assert!(interval.cpu_ns > 0 && interval.span_ns > 0);
    assert!(interval.lateness_p99_us >= interval.lateness_p50_us);
}

#[test]
fn bytes_are_counted_exactly() {
    let server = server();
    let mut client = Client::new(&server);
    server.open_round(round(1, 1));
    let request = "GET /r/1 HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(request);
    let response = client.response();
    let interval = server.close_round();
    assert_eq!(interval.bytes_in, request.len() as u64);
    assert_eq!(
        interval.bytes_out,
        (response.head.len() + response.body.len()) as u64
    );
}

#[test]
fn the_expected_sum_counts_ids_that_never_came() {
    let server = server();
    server.open_round(round(10, 3));
    let mut client = Client::new(&server);
    let check_values = [10, 11, 12].map(|id| client.get(&format!("/r/{id}")).check_value());
    let whole = server.close_round();
    assert_eq!(
        whole.expected_sum,
        check_values
            .iter()
            .fold(0u32, |sum, check_value| sum.wrapping_add(*check_value))
    );
    server.open_round(round(10, 3));
    let seen = client.get("/r/11").check_value();
    let interval = server.close_round();
    assert_eq!((interval.distinct, interval.requests), (1, 1));
    assert_ne!(interval.expected_sum, seen);
    assert_ne!(
        interval.expected_sum, whole.expected_sum,
        "the nonce of a round is new"
    );
}

#[test]
fn repeats_and_foreign_requests_are_counted() {
    let server = server();
    let mut client = Client::new(&server);
    client.get("/r/1");
    server.open_round(round(100, 10));
    for path in [
        "/r/100", "/r/100", "/r/100", "/r/109", "/r/110", "/r/99", "/echo", "/ledger",
    ] {
        client.get(path);
    }
    let interval = server.close_round();
    let counts = (
        interval.requests,
        interval.distinct,
        interval.duplicates,
        interval.foreign,
    );
    assert_eq!(counts, (7, 2, 2, 3));
    assert_eq!(
        (
            interval.connections_opened,
            interval.connections_used,
            interval.reused
        ),
        (0, 1, 7)
    );
    client.get("/r/1");
    let summary = server.summary();
    assert_eq!(
        (summary.requests, summary.items, summary.duplicates),
        (9, 8, 3)
    );
    assert_eq!(
        (summary.distinct, summary.rounds, summary.connections),
        (5, 1, 1)
    );
}

#[test]
fn foreign_requests_alone_use_no_connection_of_the_round() {
    let server = server();
    server.open_round(round(100, 10));
    Client::new(&server).get("/r/5");
    let interval = server.close_round();
    assert_eq!(
        (interval.connections_opened, interval.connections_used),
        (1, 0)
    );
}

#[test]
fn without_a_round_the_interval_is_empty() {
    let server = server();
    Client::new(&server).get("/r/1");
    assert_eq!(server.close_round(), Interval::default());
    assert_eq!(server.summary().requests, 1);
}

fn gated(first: u64, count: u64, width: usize) -> RoundSpec {
    RoundSpec {
        gate: Some(width),
        ..round(first, count)
    }
}

#[test]
fn the_gate_shows_the_true_concurrency() {
    let server = server();
    for (connections, width) in [(1, 1), (3, 8), (8, 8)] {
        server.open_round(gated(1, 2 * connections, width));
        thread::scope(|scope| {
            let client = scope.spawn(|| fetch(&server, 1, 2 * connections, connections));
            // Whoever watches a client that has too few in flight opens the gate.
            while !client.is_finished() {
                let few = server.summary().peak_in_flight == connections;
                let opened = connections < width as u64 && few && server.open_gate();
                assert!(connections < width as u64 || !opened);
                thread::sleep(Duration::from_millis(1));
            }
        });
        let interval = server.close_round();
        assert_eq!(
            interval.peak_in_flight, connections,
            "{connections} behind a gate of {width}"
        );
        assert_eq!((interval.distinct, interval.foreign), (2 * connections, 0));
    }
}

#[test]
fn pipelined_requests_are_in_flight_together() {
    let server = server();
    let mut client = Client::new(&server);
    server.open_round(gated(1, 5, 5));
    for id in 1..=5 {
        client.request("GET", &format!("/r/{id}"), "");
    }
    (1..=5).for_each(|_| assert_eq!(client.response().status, 200));
    assert_eq!(server.close_round().peak_in_flight, 5);
}

#[test]
fn closing_the_round_opens_the_gate() {
    let server = server();
    let mut client = Client::new(&server);
    server.open_round(gated(1, 2, 2));
    client.request("GET", "/r/1", "");
    eventually(&server, |summary| summary.peak_in_flight == 1);
    let interval = server.close_round();
    assert_eq!(
        (
            interval.requests,
            interval.distinct,
            interval.peak_in_flight
        ),
        (0, 1, 1)
    );
    assert_eq!(client.response().status, 200);
}

#[test]
fn a_client_that_leaves_before_its_response_is_an_abort() {
    let server = server();
    server.open_round(round(1, 1));
    let mut client = Client::new(&server);
    client.request("GET", "/delay/40", "");
    client.request("GET", "/delay/40", "");
    eventually(&server, |summary| summary.peak_in_flight == 2);
    drop(client);
    assert_eq!(
        eventually(&server, |summary| summary.connections_open == 0).aborted,
        2
    );
    let interval = server.close_round();
    assert_eq!(
        (interval.aborted, interval.requests, interval.foreign),
        (2, 0, 2)
    );
}

#[test]
fn a_response_that_outlasts_its_round_is_not_counted_in_the_next() {
    let server = server();
    let mut client = Client::new(&server);
    client.request("GET", "/delay/50", "");
    eventually(&server, |summary| summary.peak_in_flight == 1);
    server.open_round(gated(1, 2, 2));
    client.response();
    client.request("GET", "/r/1", "");
    eventually(&server, |summary| summary.distinct == 1);
    server.open_round(round(5, 1));
    client.response();
    assert_eq!(client.get("/r/5").status, 200);
    let interval = server.close_round();
    let counts = (
        interval.requests,
        interval.distinct,
        interval.foreign,
        interval.peak_in_flight,
    );
    assert_eq!(counts, (1, 1, 0, 1));
    assert_eq!((server.summary().requests, server.summary().rounds), (3, 2));
}

#[test]
fn an_upload_that_breaks_off_is_an_abort() {
    let server = server();
    let mut client = Client::new(&server);
    client.request("POST", "/r/1", "Content-Length: 10\r\n");
    client.send("half");
    eventually(&server, |summary| summary.bytes_in > 50);
    drop(client);
    assert_eq!(
        eventually(&server, |summary| summary.aborted == 1).requests,
        0
    );
}

#[test]
fn the_ledger_is_served_as_json_and_not_counted() {
    let server = server();
    let mut client = Client::new(&server);
    client.get("/r/7");
    client.get("/ledger");
    let seen = client.get("/ledger").json();
    assert_eq!(
        (&seen["requests"], &seen["distinct"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&seen["connections"], &seen["connections_open"]),
        (&1.into(), &1.into())
    );
    assert_eq!(server.summary().requests, 1);
}

#[test]
fn two_servers_have_separate_logs_and_keys() {
    let (one, other) = (server(), TestServer::start(Options::default()).unwrap());
    let check_values = [&one, &other].map(|server| Client::new(server).get("/r/1").check_value());
    assert_ne!(check_values[0], check_values[1]);
    assert_eq!(one.stop().requests, 1);
    assert_eq!(other.summary().requests, 1);
}
