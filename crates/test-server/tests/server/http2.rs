//! HTTP/2 as the test server serves it, with the h2 crate as the client.

use crate::streams;
use crate::support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hecaton_test_server::{Http2, Options, TestServer, Tls};
use http::Request;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use streams::{connect, get, request, run, shake, start, whole};
use support::{Client, eventually, round};
use tokio::net::TcpStream;

#[test]
fn many_streams_of_one_connection_are_counted_as_requests() {
    let server = start(Http2::default());
    server.open_round(round(1, 100));
    let sum = run(async {
        let client = connect(&server).await;
        let mut responses = Vec::new();
        for id in 1..=100 {
            responses.push(request(&client, &format!("/r/{id}")).await);
        }
        let mut sum = 0u32;
        for response in responses {
            let response = whole(response).await.unwrap();
            assert_eq!(response.body.len(), 133);
            assert_eq!(response.head.headers()["content-length"], "133");
            let check_value = std::str::from_utf8(&response.body[125..]).unwrap();
            sum = sum.wrapping_add(u32::from_str_radix(check_value, 16).unwrap());
        }
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
    assert_eq!(
        (interval.connections_opened, interval.connections_used),
        (1, 1)
    );
    assert!(interval.bytes_in > 0 && interval.bytes_out > interval.body_bytes_out);
    assert_eq!(server.summary().http2_connections, 1);
}

#[test]
fn both_protocols_share_a_port_and_a_log() {
    let server = start(Http2::default());
    assert_eq!(Client::new(&server).get("/r/1").status, 200);
    run(async {
        get(&connect(&server).await, "/r/1")
            .await
            .map(drop)
            .unwrap()
    });
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.requests, summary.duplicates), (2, 1));
    let kinds = (summary.connections, summary.http2_connections);
    assert_eq!(kinds, (2, 1));
}

#[test]
fn without_the_option_the_preface_is_refused() {
    let server = support::server();
    let mut client = Client::new(&server);
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert_eq!(client.response().status, 505);
}

#[test]
fn a_preface_in_pieces_is_understood() {
    let server = start(Http2::default());
    let mut client = Client::new(&server);
    for byte in b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        client.send([*byte]);
        // A pause, so that the test server mostly reads the pieces one by one.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    client.send([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    // The test server's SETTINGS: a frame of type 4 on stream 0.
    let head = client.exactly(9);
    assert_eq!((head[3], &head[5..]), (4, &[0; 4][..]));
}

/// A client gives up while the test server stands still: all its requests arrive in one piece, with the end behind
/// them.
#[test]
fn requests_given_up_before_they_were_read_are_counted() {
    let server = start(Http2::default());
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]); // SETTINGS
    for stream in (1u32..120).step_by(2) {
        let path = format!("/r/{stream}");
        // GET, http, and a literal for `:path` (RFC 7541, appendix A).
        let head = [&[0x82, 0x86, 0x04, path.len() as u8], path.as_bytes()].concat();
        bytes.extend([0, 0, head.len() as u8, 1, 5]); // HEADERS, the last of both
        bytes.extend(stream.to_be_bytes());
        bytes.extend(head);
        bytes.extend([0, 0, 4, 3, 0]); // RST_STREAM
        bytes.extend(stream.to_be_bytes());
        bytes.extend(8u32.to_be_bytes()); // CANCEL
    }
    let mut client = Client::new(&server);
    client.send(bytes);
    client.end_sending();
    let summary = eventually(&server, |summary| {
        (summary.http2_connections, summary.connections_open) == (1, 0)
    });
    assert_eq!((summary.requests, summary.aborted), (0, 60));
}

#[test]
fn routes_respond_as_over_http_1() {
    let server = start(Http2::default());
    run(async {
        let client = connect(&server).await;
        let echo = get(&client, "/echo?a=b").await.unwrap();
        let echo: serde_json::Value = serde_json::from_slice(&echo.body).unwrap();
        assert_eq!(
            (&echo["protocol"], &echo["path"]),
            (&"HTTP/2".into(), &"/echo?a=b".into())
        );
        assert_eq!(
            echo["headers"][0],
            serde_json::json!([":authority", "test"])
        );
        assert_eq!(
            get(&client, "/status/404").await.unwrap().head.status(),
            404
        );
        let empty = get(&client, "/status/204").await.unwrap();
        assert_eq!((empty.head.status().as_u16(), empty.body.len()), (204, 0));
        assert_eq!(
            get(&client, "/bytes/3000000").await.unwrap().body.len(),
            3_000_000
        );
        let chunked = get(&client, "/chunked/2").await.unwrap();
        assert_eq!(chunked.body, b"chunk 1\nchunk 2\n");
        assert_eq!(chunked.trailers.unwrap()["x-chunks"], "2");
        let start = Instant::now();
        assert_eq!(get(&client, "/delay/60").await.unwrap().body, b"late\n");
        assert!(start.elapsed() >= Duration::from_millis(60));
        let encoded = get(&client, "/encoded/gzip/1000").await.unwrap();
        assert_eq!(encoded.head.headers()["content-encoding"], "gzip");
        assert_eq!(get(&client, "/eof").await.unwrap().body, b"until the end\n");
        assert_eq!(get(&client, "/r/1").await.unwrap().body.len(), 133);
    });
    assert_eq!(server.summary().connections, 1);
}

#[test]
fn uploads_are_read_within_the_windows() {
    let server = start(Http2::default());
    run(async {
        let client = connect(&server).await;
        let mut client = client.ready().await.unwrap();
        let request = Request::post("http://test/upload").body(()).unwrap();
        let (response, mut body) = client.send_request(request, false).unwrap();
        let mut left = Bytes::from(vec![b'x'; 5_000_000]);
        while !left.is_empty() {
            body.reserve_capacity(left.len());
            let capacity = std::future::poll_fn(|context| body.poll_capacity(context));
            let capacity = capacity.await.unwrap().unwrap();
            body.send_data(left.split_to(capacity.min(left.len())), false)
                .unwrap();
        }
        body.send_data(Bytes::new(), true).unwrap();
        let facts = whole(response).await.unwrap();
        let facts: serde_json::Value = serde_json::from_slice(&facts.body).unwrap();
        assert_eq!(facts["bytes"], 5_000_000);
    });
}

#[test]
fn the_gate_holds_streams_until_enough_are_there() {
    let server = start(Http2::default());
    server.open_round(hecaton_test_server::RoundSpec {
        gate: Some(10),
        ..round(1, 10)
    });
    run(async {
        let client = connect(&server).await;
        let mut responses = Vec::new();
        for id in 1..=10 {
            responses.push(request(&client, &format!("/r/{id}")).await);
        }
        for response in responses {
            whole(response).await.map(drop).unwrap();
        }
    });
    assert_eq!(server.close_round().peak_in_flight, 10);
}

#[test]
fn alpn_chooses_http_2_over_tls() {
    let server = TestServer::start(Options {
        tls: Some(Tls::default()),
        http2: Some(Http2::default()),
        ..Options::default()
    })
    .unwrap();
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(server.ca_pem().unwrap().as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    run(async {
        let socket = TcpStream::connect(server.address()).await.unwrap();
        let name = "localhost".to_owned().try_into().unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let socket = connector.connect(name, socket).await.unwrap();
        let client = shake(socket).await;
        let echo = get(&client, "/echo").await.unwrap();
        let echo: serde_json::Value = serde_json::from_slice(&echo.body).unwrap();
        let seen = (&echo["tls"]["alpn"], &echo["tls"]["sni"]);
        assert_eq!(seen, (&"h2".into(), &"localhost".into()));
        assert_eq!(
            get(&client, "/bytes/1000000").await.unwrap().body.len(),
            1_000_000
        );
    });
    let summary = server.summary();
    assert_eq!((summary.http2_connections, summary.tls_handshakes), (1, 1));
}

#[test]
fn the_limit_on_streams_is_sent() {
    let server = start(Http2 {
        max_streams: Some(2),
        ..Http2::default()
    });
    run(async {
        let client = connect(&server).await;
        get(&client, "/r/0").await.map(drop).unwrap();
        assert_eq!(client.current_max_send_streams(), 2);
        let mut responses = Vec::new();
        for id in 1..=8 {
            responses.push(request(&client, &format!("/r/{id}")).await);
        }
        for response in responses {
            whole(response).await.map(drop).unwrap();
        }
    });
    let summary = server.summary();
    assert_eq!(summary.requests, 9);
    assert!(summary.peak_in_flight <= 2, "{}", summary.peak_in_flight);
}
