//! The test server's evidence against clients that cheat, and the paths that strangers cannot use.

use hecaton_test_server::{Interim, Options, RoundSpec, TestServer};

use crate::support::{Client, eventually, round, server};

const WORD: u64 = 0x0123_4567_89ab_cdef;

fn named(count: u64) -> RoundSpec {
    RoundSpec {
        word: Some(WORD),
        ..round(1, count)
    }
}

#[test]
fn requests_without_the_word_of_the_round_are_counted_as_stray_alone() {
    let server = server();
    server.open_round(named(2));
    let mut own = Client::new(&server);
    let check_values = [1, 2].map(|id| own.get(&format!("/r/{WORD:016x}/{id}")).check_value());
    let strays = ["/r/1", "/r/00000000000000ff/2", "/bytes/8", "/r/2"];
    let stray = strays.map(|path| {
        let mut stranger = Client::new(&server);
        let body = stranger.get(path).body;
        assert_eq!(stranger.rest(), b"", "its connection ends");
        body
    });
    let interval = server.close_round();
    assert_eq!(
        (interval.stray, interval.requests, interval.distinct),
        (4, 2, 2)
    );
    assert_eq!(
        (interval.foreign, interval.duplicates, interval.reused),
        (0, 0, 1)
    );
    assert_eq!(
        (interval.connections_opened, interval.connections_used),
        (1, 1)
    );
    assert_eq!(interval.body_bytes_out, 2 * 133);
    assert_eq!(
        interval.expected_sum,
        check_values[0].wrapping_add(check_values[1])
    );
    // A stray request does not get the check value either.
    let text = String::from_utf8_lossy(&stray[0]).into_owned();
    assert!(
        !text.ends_with(&format!("{:08x}", check_values[0])),
        "{text}"
    );
}

#[test]
fn a_wrong_id_with_the_right_word_is_foreign() {
    let server = server();
    server.open_round(named(1));
    Client::new(&server).get(&format!("/r/{WORD:016x}/7"));
    let interval = server.close_round();
    assert_eq!((interval.foreign, interval.stray), (1, 0));
}

#[test]
fn requests_that_do_not_wait_for_the_response_before_them_are_counted() {
    let server = server();
    server.open_round(round(1, 10));
    let mut client = Client::new(&server);
    let request = |id| format!("GET /r/{id} HTTP/1.1\r\nHost: a\r\n\r\n");
    client.send((1..=4).map(request).collect::<String>());
    (1..=4).for_each(|_| drop(client.response()));
    (5..=8).for_each(|id| drop(client.get(&format!("/r/{id}"))));
    assert_eq!(server.close_round().pipelined, 3);
}

#[test]
fn the_beginning_of_a_request_does_not_come_with_the_one_before_it() {
    let server = server();
    server.open_round(round(1, 10));
    let mut client = Client::new(&server);
    client.send("GET /r/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /r");
    client.response();
    client.send("/2 HTTP/1.1\r\nHost: a\r\n\r\n");
    client.response();
    // An empty line behind a request does not count.
    client.send("GET /r/3 HTTP/1.1\r\nHost: a\r\n\r\n\r\n");
    client.response();
    client.get("/r/4");
    assert_eq!(server.close_round().pipelined, 1);
}

#[test]
fn a_request_sent_at_the_beginning_of_a_response_is_counted_as_early() {
    let server = server();
    let cut = RoundSpec {
        cuts: 1,
        ..round(1, 1)
    };
    // The rest of the response comes soon; on a busy machine it may be there before the next request is sent.
    let is_seen = || {
        server.open_round(cut.clone());
        let mut hasty = Client::new(&server);
        hasty.request("GET", "/r/1", "");
        hasty.head();
        hasty.request("GET", "/r/1", "");
        hasty.exactly(133);
        hasty.response();
        server.close_round().pipelined == 1
    };
    assert!((0..1000).any(|_| is_seen()), "never seen");

    server.open_round(cut);
    Client::new(&server).get("/r/1");
    let interval = server.close_round();
    assert_eq!((interval.pipelined, interval.held.at_least(1000)), (0, 1));
}

#[test]
fn requests_that_differ_from_the_rounds_are_counted() {
    let server = server();
    let path = |id| format!("/r/{WORD:016x}/{id}");
    let accept = "Accept: application/json\r\n";
    for (json, otherwise) in [(true, 2), (false, 1)] {
        server.open_round(RoundSpec { json, ..named(3) });
        let mut client = Client::new(&server);
        for (id, method, headers) in [(1, "GET", accept), (2, "GET", ""), (3, "POST", accept)] {
            client.request(method, &path(id), headers);
            client.response();
        }
        assert_eq!(server.close_round().otherwise, otherwise);
    }
}

#[test]
fn connections_that_carry_nothing_are_seen() {
    let server = server();
    server.open_round(named(4));
    let idle: Vec<Client> = (0..5).map(|_| Client::new(&server)).collect();
    eventually(&server, |seen| seen.connections_open == 5);
    let mut client = Client::new(&server);
    (1..=3).for_each(|id| drop(client.get(&format!("/r/{WORD:016x}/{id}"))));
    drop(idle);
    eventually(&server, |seen| seen.connections_open == 1);
    client.get(&format!("/r/{WORD:016x}/4"));
    assert_eq!(server.close_round().peak_ahead, 6);
    server.open_round(named(4));
    (1..=4).for_each(|id| drop(client.get(&format!("/r/{WORD:016x}/{id}"))));
    assert_eq!(server.close_round().peak_ahead, 0);
}

#[test]
fn a_server_of_rounds_serves_nothing_else() {
    let options = Options {
        rounds_only: true,
        ..Options::default()
    };
    let server = TestServer::start(options).unwrap();
    let mut client = Client::new(&server);
    for path in [
        "/encoded/br/60000000",
        "/bomb/gzip/10",
        "/delay/5",
        "/echo",
        "/bytes/100000000000",
    ] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
    for path in ["/r/1", "/bytes/20"] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
}

#[test]
fn a_request_that_comes_while_a_response_is_held_is_counted_too() {
    let server = server();
    server.open_round(RoundSpec {
        gate: Some(2),
        ..round(1, 2)
    });
    let mut client = Client::new(&server);
    client.request("GET", "/r/1", "");
    eventually(&server, |seen| seen.peak_in_flight == 1);
    client.request("GET", "/r/2", "");
    (1..=2).for_each(|_| drop(client.response()));
    assert_eq!(server.close_round().pipelined, 1);
}

#[test]
fn responses_are_held_and_cut_in_one_round() {
    let server = server();
    let spec = RoundSpec {
        gate: Some(1),
        cuts: 40,
        ..round(1, 40)
    };
    server.open_round(spec);
    let mut client = Client::new(&server);
    (1..=40).for_each(|id| drop(client.get(&format!("/r/{id}"))));
    let interval = server.close_round();
    assert_eq!((interval.distinct, interval.cycles.len()), (40, 39));
    let cut = interval.held.at_least(1000);
    assert!((10..=40).contains(&cut), "{cut}");
    assert!(interval.held_ns >= cut * 1_000_000);
}

#[test]
fn connections_open_at_once_are_distinguished_from_consecutive_ones() {
    let server = server();
    server.open_round(round(1, 10));
    for id in 1..=3 {
        drop(Client::new(&server).get(&format!("/r/{id}")));
        eventually(&server, |seen| seen.connections_open == 0);
    }
    let interval = server.close_round();
    assert_eq!(
        (interval.connections_used, interval.peak_connections),
        (3, 1)
    );
}

#[test]
fn strangers_get_only_harmless_responses_unless_faults_are_allowed() {
    for (faults, status) in [(false, 403), (true, 200)] {
        let server = TestServer::start(Options {
            exposed: true,
            faults,
            ..Options::default()
        })
        .unwrap();
        let mut client = Client::new(&server);
        assert_eq!(client.get("/r/1").status, 200);
        for path in ["/bomb/gzip/1", "/pieces/1/1/1"] {
            assert_eq!(client.get(path).status, status, "{path}");
        }
        let late = client.get("/delay/20").status;
        assert_eq!(late, 200);
    }
}

#[test]
fn a_round_of_new_connections_closes_those_that_were_open_before() {
    let server = server();
    let (mut used, mut unused) = (Client::new(&server), Client::new(&server));
    used.get("/r/1");
    eventually(&server, |seen| seen.connections_open == 2);
    server.open_round(RoundSpec {
        new_connections: true,
        ..round(1, 2)
    });
    assert_eq!((used.rest(), unused.rest()), (Vec::new(), Vec::new()));
    let mut new = Client::new(&server);
    assert_eq!(new.get("/r/1").status, 200);
    let interval = server.close_round();
    assert_eq!((interval.distinct, interval.connections_used), (1, 1));
    // A round without that option leaves connections alone.
    server.open_round(round(1, 1));
    assert_eq!(new.get("/r/1").status, 200);
}

#[test]
fn interim_responses_come_before_the_final_one_and_never_over_http_1_0() {
    let server = server();
    server.open_round(RoundSpec {
        interim: Interim::Always,
        ..round(1, 2)
    });
    let mut client = Client::new(&server);
    client.request("GET", "/r/1", "");
    assert_eq!(client.head().status, 103);
    let last = client.response();
    assert_eq!((last.status, last.body.len()), (200, 133));
    assert_eq!(client.rest(), b"", "its connection ends");
    let mut old = Client::new(&server);
    old.send("GET /r/2 HTTP/1.0\r\n\r\n");
    assert_eq!(old.head().status, 200);
    assert_eq!(server.close_round().expected_sum, {
        let sum = last.check_value();
        let second = String::from_utf8(old.rest()).unwrap();
        sum.wrapping_add(u32::from_str_radix(&second[second.len() - 8..], 16).unwrap())
    });
}
