//! Faults over HTTP/2: streams, connections, and requests that are refused or left unprocessed.

use crate::streams;
use crate::support;

use std::time::Duration;

use h2::Reason;
use hecaton_test_server::{Http2, Options, TestServer};
use streams::{connect, get, reason, request, run, start, whole};
use support::eventually;

#[test]
fn goaway_names_the_last_stream_that_is_processed() {
    let server = start(Http2::default());
    run(async {
        let client = connect(&server).await;
        let slow = request(&client, "/delay/150").await;
        let last = request(&client, "/fault/goaway").await;
        let late = [
            request(&client, "/r/1").await,
            request(&client, "/r/2").await,
        ];
        // Earlier streams get responses; later ones learn that they were not processed.
        assert_eq!(whole(last).await.unwrap().body, b"ok\n");
        for response in late {
            let error = whole(response).await.err().unwrap();
            assert!(error.is_go_away() && error.is_remote(), "{error:?}");
            assert_eq!(error.reason(), Some(Reason::NO_ERROR));
        }
        assert_eq!(whole(slow).await.unwrap().body, b"late\n");
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.items), (2, 0));
    assert_eq!(summary.http2_unprocessed, 2);
}

#[test]
fn goaway_comes_after_the_given_number_of_streams() {
    let server = start(Http2 {
        goaway_after: Some(3),
        ..Http2::default()
    });
    run(async {
        let client = connect(&server).await;
        let mut responses = Vec::new();
        for id in 1..=5 {
            responses.push(request(&client, &format!("/r/{id}")).await);
        }
        let mut good = 0;
        for response in responses {
            good += u32::from(whole(response).await.is_ok());
        }
        assert_eq!(good, 3);
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.http2_unprocessed), (3, 2));
}

#[test]
fn a_refused_stream_is_served_when_it_comes_again() {
    let server = start(Http2 {
        refuse_first: true,
        ..Http2::default()
    });
    run(async {
        let client = connect(&server).await;
        let first = get(&client, "/r/1").await;
        assert_eq!(reason(first), Some(Reason::REFUSED_STREAM));
        assert_eq!(get(&client, "/r/1").await.unwrap().body.len(), 133);
        let always = get(&client, "/fault/refused-stream").await;
        assert_eq!(reason(always), Some(Reason::REFUSED_STREAM));
    });
    let summary = server.summary();
    let counts = (summary.requests, summary.duplicates, summary.aborted);
    assert_eq!(counts, (1, 1, 2));
}

#[test]
fn faults_of_one_stream_leave_the_others_alone() {
    let server = start(Http2::default());
    run(async {
        let client = connect(&server).await;
        let steady = request(&client, "/delay/100").await;
        let reset = get(&client, "/fault/reset").await;
        assert_eq!(reason(reset), Some(Reason::INTERNAL_ERROR));
        let cut = request(&client, "/fault/truncate-chunked").await;
        let mut cut = cut.await.expect("a head").into_body();
        let mut seen = 0;
        let end = loop {
            match cut.data().await.expect("no orderly end") {
                Ok(data) => seen += data.len(),
                Err(error) => break error,
            }
        };
        assert_eq!((seen, end.reason()), (500, Some(Reason::INTERNAL_ERROR)));
        let short = get(&client, "/fault/truncate").await;
        assert_eq!(reason(short), Some(Reason::PROTOCOL_ERROR));
        for fault in ["stall-head", "stall-body", "drip"] {
            let path = format!("/fault/{fault}");
            let stalled = get(&client, &path);
            let patience = Duration::from_millis(50);
            assert!(tokio::time::timeout(patience, stalled).await.is_err());
        }
        assert_eq!(whole(steady).await.unwrap().body, b"late\n");
        assert_eq!(get(&client, "/r/1").await.unwrap().body.len(), 133);
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!(summary.connections, 1);
    let summary = eventually(&server, |summary| summary.aborted == 5);
    assert_eq!(summary.requests, 3, "{summary:?}");
}

#[test]
fn faults_of_a_connection_end_it() {
    let server = start(Http2::default());
    for fault in ["close", "garbage", "tls-cut"] {
        run(async {
            let client = connect(&server).await;
            let result = get(&client, &format!("/fault/{fault}")).await;
            assert!(result.is_err(), "{fault}");
        });
    }
    run(async {
        let client = connect(&server).await;
        assert_eq!(
            get(&client, "/fault/idle-close").await.unwrap().body,
            b"ok\n"
        );
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!(summary.connections, 4);
}

#[test]
fn streams_of_a_client_that_leaves_are_aborts() {
    let server = start(Http2::default());
    run(async {
        let client = connect(&server).await;
        let pending = [
            request(&client, "/delay/30000").await,
            request(&client, "/fault/stall-head").await,
            request(&client, "/fault/stall-body").await,
        ];
        loop {
            tokio::time::sleep(Duration::from_millis(5)).await;
            if server.summary().peak_in_flight == 3 {
                break;
            }
        }
        drop(pending);
    });
    let summary = eventually(&server, |summary| summary.aborted == 3);
    assert_eq!(summary.requests, 0);
    eventually(&server, |summary| summary.connections_open == 0);
}

#[test]
fn chaos_harms_streams_and_never_their_connection() {
    let server = TestServer::start(Options {
        http2: Some(Http2::default()),
        chaos: Some(
            "reset=20%,truncate=20%,garbage=20%,close=20%,500=10%"
                .parse()
                .unwrap(),
        ),
        ..Options::default()
    })
    .unwrap();
    let (good, refused) = run(async {
        let client = connect(&server).await;
        let (mut good, mut refused) = (0, 0);
        for id in 0..200 {
            match get(&client, &format!("/r/{id}")).await {
                Ok(response) => good += u64::from(response.body.len() == 133),
                Err(error) => {
                    assert!(error.is_reset() || error.is_library(), "{error:?}");
                    refused += u64::from(error.reason() == Some(Reason::REFUSED_STREAM));
                }
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
