//! Faults over HTTP/3: streams, connections, and requests that are refused or left unprocessed.

use crate::quic;
use crate::streams;
use crate::support;

use std::time::Duration;

use h3::error::{Code, StreamError};
use hecaton_test_server::{Http3, Options, TestServer};
use quic::{closed, code, connect, options, rest, start, whole};
use streams::run;
use support::eventually;

#[test]
fn goaway_names_the_first_stream_that_is_not_processed() {
    let server = start(Http3 {
        goaway_after: Some(3),
        ..Http3::default()
    });
    run(async {
        let client = connect(&server).await;
        let mut streams = Vec::new();
        for path in ["/delay/150", "/r/1", "/r/2", "/r/3", "/r/4"] {
            streams.push(client.request(path).await.unwrap());
        }
        // Earlier streams get responses; later ones learn that they were not processed.
        for late in streams.split_off(3) {
            let mut late = late;
            let error = whole(&mut late).await.err().unwrap();
            assert_eq!(code(error), Code::H3_REQUEST_REJECTED);
        }
        for mut stream in streams {
            whole(&mut stream).await.map(drop).unwrap();
        }
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.http3_unprocessed), (3, 2));
}

#[test]
fn a_path_asks_for_goaway_and_the_connection_ends_after_its_streams() {
    let server = start(Http3::default());
    run(async {
        let client = connect(&server).await;
        let mut slow = client.request("/delay/100").await.unwrap();
        assert_eq!(client.get("/fault/goaway").await.unwrap().body, b"ok\n");
        assert_eq!(whole(&mut slow).await.unwrap().body, b"late\n");
        assert_eq!(closed(&client).await, Code::H3_NO_ERROR);
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.aborted), (2, 0));
}

#[test]
fn a_refused_stream_is_served_when_it_comes_again() {
    let server = start(Http3 {
        refuse_first: true,
        ..Http3::default()
    });
    run(async {
        let client = connect(&server).await;
        let first = client.get("/r/1").await.err().unwrap();
        assert_eq!(code(first), Code::H3_REQUEST_REJECTED);
        assert_eq!(client.get("/r/1").await.unwrap().body.len(), 133);
        let always = client.get("/fault/refused-stream").await.err().unwrap();
        assert_eq!(code(always), Code::H3_REQUEST_REJECTED);
    });
    let summary = server.summary();
    let counts = (summary.requests, summary.duplicates, summary.aborted);
    assert_eq!(counts, (1, 1, 2));
}

#[test]
fn faults_of_one_stream_leave_the_others_alone() {
    let server = start(Http3::default());
    run(async {
        let client = connect(&server).await;
        let mut steady = client.request("/delay/100").await.unwrap();
        let reset = client.get("/fault/reset").await.err().unwrap();
        assert_eq!(code(reset), Code::H3_INTERNAL_ERROR);
        let mut cut = client.request("/fault/truncate-chunked").await.unwrap();
        cut.recv_response().await.unwrap();
        let (_, error) = rest(&mut cut).await;
        assert_eq!(code(error.unwrap()), Code::H3_INTERNAL_ERROR);
        // A client must compare the length with what comes. The h3 crate leaves that to its user.
        let short = client.get("/fault/truncate").await.unwrap();
        let promised = &short.head.headers()["content-length"];
        assert_eq!((promised.as_bytes(), short.body.len()), (&b"1000"[..], 500));
        for fault in ["stall-head", "stall-body", "drip"] {
            let path = format!("/fault/{fault}");
            let stalled = client.get(&path);
            let patience = Duration::from_millis(50);
            assert!(tokio::time::timeout(patience, stalled).await.is_err());
        }
        assert_eq!(whole(&mut steady).await.unwrap().body, b"late\n");
        let huge = client.get("/fault/huge-head").await.unwrap();
        assert!(huge.head.headers().len() > 1000);
        assert_eq!(client.get("/r/1").await.unwrap().body.len(), 133);
        client.leave().await;
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!(summary.connections, 1);
    let summary = eventually(&server, |summary| summary.aborted == 5);
    assert_eq!(summary.requests, 4, "{summary:?}");
}

#[test]
fn faults_of_a_connection_end_it() {
    let server = start(Http3::default());
    for (fault, ends_with) in [
        ("close", Some(Code::H3_NO_ERROR)),
        ("tls-cut", Some(Code::H3_INTERNAL_ERROR)),
        ("garbage", None),
    ] {
        run(async {
            let client = connect(&server).await;
            let failed = client.get(&format!("/fault/{fault}")).await;
            let failed = failed.err().unwrap();
            // The connection ends, and not its stream alone.
            let of_stream = matches!(failed, StreamError::RemoteTerminate { .. });
            assert!(!of_stream, "{fault}: {failed}");
            match ends_with {
                Some(code) => assert_eq!(closed(&client).await, code, "{fault}"),
                None => drop(client.connection.closed().await),
            }
        });
    }
    run(async {
        let client = connect(&server).await;
        let good = client.get("/fault/idle-close").await.unwrap();
        assert_eq!(good.body, b"ok\n");
        client.connection.closed().await;
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!(summary.connections, 4);
}

#[test]
fn streams_that_a_client_gives_up_are_aborts_and_their_connection_lives() {
    let server = start(Http3::default());
    run(async {
        let client = connect(&server).await;
        for path in ["/delay/30000", "/fault/stall-body", "/bytes/100000000"] {
            let mut stream = client.request(path).await.unwrap();
            while server.summary().peak_in_flight == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            stream.stop_sending(Code::H3_REQUEST_CANCELLED);
        }
        while server.summary().aborted < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(client.get("/r/1").await.unwrap().body.len(), 133);
    });
    let summary = server.summary();
    let counts = (summary.requests, summary.aborted, summary.connections);
    assert_eq!(counts, (1, 3, 1));
}

#[test]
fn streams_of_a_client_that_leaves_are_aborts() {
    let server = start(Http3::default());
    run(async {
        let client = connect(&server).await;
        let mut pending = Vec::new();
        for path in ["/delay/30000", "/fault/stall-head", "/fault/stall-body"] {
            pending.push(client.request(path).await.unwrap());
        }
        while server.summary().peak_in_flight < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        client.leave().await;
    });
    let summary = eventually(&server, |summary| summary.aborted == 3);
    assert_eq!(summary.requests, 0);
    eventually(&server, |summary| summary.connections_open == 0);
}

/// The end of the connection comes right behind the requests.
#[test]
fn requests_given_up_before_they_were_read_are_counted() {
    let server = start(Http3::default());
    for round in 1..=5 {
        run(async {
            let client = connect(&server).await;
            let mut pending = Vec::new();
            for id in 0..60 {
                let path = format!("/delay/{}", 30_000 + id);
                pending.push(client.request(&path).await.unwrap());
            }
            // As many frames as requests have been sent, and HTTP/3's own.
            while client.connection.stats().frame_tx.stream < 60 + 3 {
                tokio::task::yield_now().await;
            }
            client.leave().await;
        });
        let summary = eventually(&server, |summary| summary.aborted == 60 * round);
        assert_eq!(summary.requests, 0);
    }
}

#[test]
fn a_server_that_stops_tells_its_clients() {
    let server = start(Http3::default());
    run(async {
        let client = connect(&server).await;
        // The handshake is over.
        client.get("/r/1").await.map(drop).unwrap();
        let mut pending = client.request("/delay/30000").await.unwrap();
        drop(server);
        assert!(whole(&mut pending).await.is_err());
        assert_eq!(closed(&client).await, Code::H3_NO_ERROR);
    });
}

#[test]
fn chaos_harms_streams_and_never_their_connection() {
    let server = TestServer::start(Options {
        chaos: Some(
            "reset=20%,truncate=20%,garbage=20%,close=20%,500=10%"
                .parse()
                .unwrap(),
        ),
        ..options(Http3::default())
    });
    let server = server.unwrap();
    let (good, refused) = run(async {
        let client = connect(&server).await;
        let (mut good, mut refused) = (0, 0);
        for id in 0..200 {
            match client.get(&format!("/r/{id}")).await {
                Ok(response) => good += u64::from(response.body.len() == 133),
                Err(error) => refused += u64::from(code(error) == Code::H3_REQUEST_REJECTED),
            }
        }
        (good, refused)
    });
    let summary = server.summary();
    let chaos = summary.chaos.unwrap();
    assert_eq!(summary.connections, 1);
    assert_eq!(chaos["good"].count, good);
    assert_eq!(chaos["close"].count, refused);
    assert_eq!(chaos.values().map(|dealt| dealt.count).sum::<u64>(), 200);
}
