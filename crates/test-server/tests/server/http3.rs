//! HTTP/3 as the test server serves it, with the h3 crate as the client.

use crate::quic;
use crate::streams;
use crate::support;

use std::time::{Duration, Instant};

use bytes::Bytes;
use h3::error::Code;
use hecaton_test_server::{Certificate, Http2, Http3, Options, RoundSpec, TestServer, Tls};
use http::Request;
use quic::{config, connect, connect_with, options, start, whole};
use streams::run;
use support::{eventually, round};

#[test]
fn many_streams_of_one_connection_are_counted_as_requests() {
    let server = start(Http3::default());
    server.open_round(round(1, 100));
    let sum = run(async {
        let client = connect(&server).await;
        let mut streams = Vec::new();
        for id in 1..=100 {
            streams.push(client.request(&format!("/r/{id}")).await.unwrap());
        }
        let mut sum = 0u32;
        for mut stream in streams {
            let response = whole(&mut stream).await.unwrap();
            assert_eq!(response.body.len(), 133);
            assert_eq!(response.head.headers()["content-length"], "133");
            let check_value = std::str::from_utf8(&response.body[125..]).unwrap();
            sum = sum.wrapping_add(u32::from_str_radix(check_value, 16).unwrap());
        }
        client.leave().await;
        sum
    });
    let interval = server.close_round();
    assert_eq!(interval.expected_sum, sum);
    let counts = (
        interval.requests,
        interval.distinct,
        interval.duplicates,
        interval.foreign,
    );
    assert_eq!(counts, (100, 100, 0, 0));
    let connections = (interval.connections_opened, interval.connections_used);
    assert_eq!(connections, (1, 1));
    assert_eq!((interval.over_http3, interval.over_http2), (100, 0));
    assert_eq!((interval.tls_handshakes, interval.reused), (1, 99));
    assert!(interval.bytes_in > 0 && interval.bytes_out > interval.body_bytes_out);
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.http3_connections, summary.aborted), (1, 0));
}

#[test]
fn all_protocols_share_a_port_and_a_log() {
    let server = TestServer::start(Options {
        http2: Some(Http2::default()),
        ..options(Http3::default())
    });
    let server = server.unwrap();
    let address = server.address();
    run(async {
        let client = connect(&server).await;
        assert_eq!(client.connection.remote_address(), address);
        assert_eq!(client.get("/r/1").await.unwrap().body.len(), 133);
        let offer = client.get("/headers?alt-svc=h3%3D%22%3A443%22").await;
        assert_eq!(offer.unwrap().head.headers()["alt-svc"], "h3=\":443\"");
        let plain = tokio::net::TcpStream::connect(address).await;
        assert_eq!(plain.unwrap().peer_addr().unwrap(), address);
        client.leave().await;
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.connections), (2, 2));
}

#[test]
fn without_the_option_no_udp_port_is_bound() {
    let options = Options {
        tls: Some(Tls::default()),
        ..Options::default()
    };
    let server = TestServer::start(options).unwrap();
    std::net::UdpSocket::bind(server.address()).expect("a free port");
}

#[test]
fn http_3_needs_tls_and_its_newest_version() {
    let old = Tls {
        only_1_2: true,
        ..Tls::default()
    };
    for tls in [None, Some(old)] {
        let options = Options {
            tls,
            ..options(Http3::default())
        };
        let error = TestServer::start(options).err().unwrap().to_string();
        assert!(error.contains("HTTP/3 needs"), "{error}");
    }
}

#[test]
fn routes_respond_as_over_http_1() {
    let server = start(Http3::default());
    run(async {
        let client = connect(&server).await;
        let echo = client.get("/echo?a=b").await.unwrap().json();
        let seen = (&echo["protocol"], &echo["path"], &echo["tls"]["alpn"]);
        assert_eq!(seen, (&"HTTP/3".into(), &"/echo?a=b".into(), &"h3".into()));
        let authority = serde_json::json!([":authority", "localhost"]);
        assert_eq!(echo["headers"][0], authority);
        let status = client.get("/status/404").await.unwrap().head.status();
        assert_eq!(status, 404);
        let empty = client.get("/status/204").await.unwrap();
        assert_eq!((empty.head.status().as_u16(), empty.body.len()), (204, 0));
        let long = client.get("/bytes/3000000").await.unwrap();
        assert_eq!(long.body.len(), 3_000_000);
        let chunked = client.get("/chunked/2").await.unwrap();
        assert_eq!(chunked.body, b"chunk 1\nchunk 2\n");
        assert_eq!(chunked.trailers.unwrap()["x-chunks"], "2");
        let start = Instant::now();
        assert_eq!(client.get("/delay/60").await.unwrap().body, b"late\n");
        assert!(start.elapsed() >= Duration::from_millis(60));
        let encoded = client.get("/encoded/gzip/1000").await.unwrap();
        assert_eq!(encoded.head.headers()["content-encoding"], "gzip");
        let silent = client.get("/eof").await.unwrap();
        assert_eq!(silent.body, b"until the end\n");
        let head = Request::head("https://localhost/r/1").body(()).unwrap();
        let mut stream = client.begin(head).await.unwrap();
        stream.finish().await.unwrap();
        let head = whole(&mut stream).await.unwrap();
        assert_eq!(head.head.headers()["content-length"], "133");
        assert!(head.body.is_empty());
    });
    assert_eq!(server.summary().connections, 1);
}

#[test]
fn uploads_are_read_within_the_windows() {
    let server = start(Http3::default());
    run(async {
        let client = connect(&server).await;
        let request = Request::post("https://localhost/upload").body(()).unwrap();
        let mut stream = client.begin(request).await.unwrap();
        for _ in 0..50 {
            let piece = Bytes::from(vec![b'x'; 100_000]);
            stream.send_data(piece).await.unwrap();
        }
        stream.finish().await.unwrap();
        let facts = whole(&mut stream).await.unwrap().json();
        assert_eq!(facts["bytes"], 5_000_000);
        let request = Request::post("https://localhost/early").body(()).unwrap();
        let mut stream = client.begin(request).await.unwrap();
        assert_eq!(whole(&mut stream).await.unwrap().head.status(), 413);
        // The server reads no more of it, which is no error of the stream.
        let unread = stream.send_data(Bytes::from_static(b"x")).await;
        assert_eq!(quic::code(unread.unwrap_err()), Code::H3_NO_ERROR);
    });
}

#[test]
fn the_gate_holds_streams_until_enough_are_there() {
    let server = start(Http3::default());
    server.open_round(RoundSpec {
        gate: Some(10),
        ..round(1, 10)
    });
    run(async {
        let client = connect(&server).await;
        let mut streams = Vec::new();
        for id in 1..=10 {
            streams.push(client.request(&format!("/r/{id}")).await.unwrap());
        }
        for mut stream in streams {
            whole(&mut stream).await.map(drop).unwrap();
        }
    });
    assert_eq!(server.close_round().peak_in_flight, 10);
}

#[test]
fn sessions_are_resumed_and_counted() {
    let server = start(Http3::default());
    run(async {
        let config = config(&server);
        for resumed in [false, true, true] {
            let client = connect_with(&server, config.clone()).await.unwrap();
            let echo = client.get("/echo").await.unwrap().json();
            assert_eq!(echo["tls"]["resumed"], resumed);
        }
    });
    let summary = server.summary();
    assert_eq!((summary.tls_handshakes, summary.tls_resumed), (3, 2));
}

#[test]
fn a_bad_certificate_is_a_failed_handshake() {
    let server = TestServer::start(Options {
        tls: Some(Tls {
            certificate: Certificate::Expired,
            ..Tls::default()
        }),
        ..options(Http3::default())
    });
    let server = server.unwrap();
    run(async {
        let error = connect_with(&server, config(&server)).await.err().unwrap();
        assert!(matches!(error, quinn::ConnectionError::TransportError(_)));
    });
    let summary = eventually(&server, |summary| summary.tls_failed == 1);
    assert_eq!((summary.tls_handshakes, summary.connections_open), (0, 0));
}

#[test]
fn the_limit_on_streams_is_sent() {
    let server = start(Http3 {
        max_streams: Some(2),
        ..Http3::default()
    });
    run(async {
        let client = connect(&server).await;
        let paths = (0..8).map(|id| format!("/r/{id}"));
        let mut all = tokio::task::JoinSet::new();
        for path in paths {
            let client = client.clone();
            all.spawn(async move { client.get(&path).await.map(drop) });
        }
        while let Some(done) = all.join_next().await {
            done.unwrap().unwrap();
        }
    });
    let summary = server.summary();
    assert_eq!(summary.requests, 8);
    assert!(summary.peak_in_flight <= 2, "{}", summary.peak_in_flight);
}

#[test]
fn a_retry_packet_makes_clients_prove_their_address() {
    let server = start(Http3 {
        retry: true,
        ..Http3::default()
    });
    run(async {
        let client = connect(&server).await;
        assert_eq!(client.get("/r/1").await.unwrap().body.len(), 133);
    });
    assert_eq!(server.summary().connections, 1);
}

#[test]
fn early_data_is_accepted_if_the_options_say_so() {
    for early_data in [false, true] {
        let server = start(Http3 {
            early_data,
            ..Http3::default()
        });
        run(async {
            let config = quic::early(&server);
            let first = connect_with(&server, config.clone()).await.unwrap();
            first.get("/r/1").await.map(drop).unwrap();
            drop(first);
            let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
            let connecting = endpoint.connect_with(config, server.address(), "localhost");
            let accepted = match connecting.unwrap().into_0rtt() {
                Ok((_connection, accepted)) => accepted.await,
                Err(_) => false,
            };
            assert_eq!(accepted, early_data);
        });
    }
}
