//! Delays hold, depend on the seed, and are measured.

use crate::support;

use std::time::{Duration, Instant};

use hecaton_test_server::{Delay, Options, RoundSpec, TestServer};
use support::{Client, round};

fn delayed(text: &str, count: u64) -> RoundSpec {
    RoundSpec {
        delay: text.parse().unwrap(),
        ..round(1, count)
    }
}

#[test]
fn no_response_comes_before_its_delay() {
    let server = support::server();
    server.open_round(delayed("30ms", 5));
    let delay = Duration::from_millis(30);
    let times = times(&mut Client::new(&server), 1..6);
    assert!(times.iter().all(|time| *time >= delay), "{times:?}");
    let interval = server.close_round();
    assert!(interval.span_ns >= 150_000_000, "{interval:?}");
    // Lateness is measured from the planned instant: it does not contain the delay. One request followed another, so at
    // least three of the five were this late within the span. The server states lateness to two digits, rounded up.
    let late_ns = interval.lateness_p50_us.saturating_sub(1) * 1000 * 50 / 51;
    assert!(
        150_000_000 + 3 * late_ns <= interval.span_ns,
        "{interval:?}"
    );
}

#[test]
fn delays_of_many_connections_run_side_by_side() {
    let server = support::server();
    server.open_round(delayed("300ms", 40));
    let mut clients: Vec<_> = (0..40).map(|_| Client::new(&server)).collect();
    for (id, client) in (1..).zip(&mut clients) {
        client.request("GET", &format!("/r/{id}"), "");
    }
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.response().status, 200));
    let interval = server.close_round();
    assert_eq!(interval.peak_in_flight, 40);
    assert!(interval.span_ns >= 300_000_000, "{interval:?}");
}

#[test]
fn delays_of_different_lengths_end_each_in_its_turn() {
    let server = support::server();
    let lengths = [90, 30, 60, 30];
    let start = Instant::now();
    let mut clients = lengths.map(|_| Client::new(&server));
    for (client, ms) in clients.iter_mut().zip(lengths) {
        client.request("GET", &format!("/delay/{ms}"), "");
    }
    for (client, ms) in clients.iter_mut().zip(lengths) {
        assert_eq!(client.response().text(), "late\n");
        assert!(
            start.elapsed() >= Duration::from_millis(ms),
            "{:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_gated_round_ignores_the_delay() {
    let server = support::server();
    server.open_round(RoundSpec {
        gate: Some(1),
        ..delayed("3600s", 1)
    });
    assert_eq!(Client::new(&server).get("/r/1").status, 200);
    assert_eq!(server.close_round().requests, 1);
}

#[test]
fn foreign_ids_are_delayed_alike() {
    let server = support::server();
    server.open_round(delayed("30ms", 1));
    let start = Instant::now();
    Client::new(&server).get("/r/77");
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn between_rounds_the_options_hold() {
    let options = Options {
        body_bytes: 50,
        delay: Delay::Fixed(Duration::from_millis(20)),
        ..Options::default()
    };
    let server = TestServer::start(options).unwrap();
    let mut client = Client::new(&server);
    let start = Instant::now();
    assert_eq!(client.get("/r/1").body.len(), 50);
    assert!(start.elapsed() >= Duration::from_millis(20));
    server.open_round(round(1, 1));
    assert_eq!(client.get("/r/1").body.len(), 133);
    server.close_round();
    assert_eq!(client.get("/r/1").body.len(), 50);
}

/// How long each of the requests of one connection takes.
fn times(client: &mut Client, ids: std::ops::Range<u64>) -> Vec<Duration> {
    let timed = |id| {
        let start = Instant::now();
        client.get(&format!("/r/{id}"));
        start.elapsed()
    };
    ids.map(timed).collect()
}

/// Whether one of twenty tries takes less than `limit`, and each at least `least`: a busy machine makes some of them longer.
fn within(least: Duration, limit: Duration, mut time: impl FnMut() -> Duration) -> bool {
    (0..20).any(|_| {
        let took = time();
        assert!(took >= least, "{took:?}");
        took < limit
    })
}

#[test]
fn each_response_waits_one_round_trip_and_the_first_of_a_connection_one_more() {
    let server = support::server();
    let round_trip = Duration::from_millis(300);
    server.open_round(RoundSpec {
        round_trip,
        ..round(1, 21)
    });
    let mut client = Client::new(&server);
    let mut ids = 1..;
    let mut next = || {
        let id = ids.next().unwrap();
        times(&mut client, id..id + 1)[0]
    };
    assert!(next() >= 2 * round_trip);
    assert!(within(round_trip, 2 * round_trip, next));
}

#[test]
fn a_connection_used_before_the_round_waits_no_round_trip_of_opening() {
    let server = support::server();
    let mut client = Client::new(&server);
    client.get("/r/1");
    let round_trip = Duration::from_millis(300);
    let whole = round_trip + Duration::from_millis(100);
    assert!(within(whole, whole + round_trip, || {
        server.open_round(RoundSpec {
            round_trip,
            ..delayed("100ms", 1)
        });
        let took = times(&mut client, 1..2)[0];
        server.close_round();
        took
    }));
}
