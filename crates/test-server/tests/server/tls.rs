//! TLS as the test server serves it, with rustls as the client.

use crate::support;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use hecaton_test_server::{Certificate, Options, StartError, TestServer, Tls};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use support::eventually;

type Stream = StreamOwned<ClientConnection, TcpStream>;

fn start(tls: Tls) -> TestServer {
    let options = Options {
        tls: Some(tls),
        ..Options::default()
    };
    TestServer::start(options).expect("a test server on a free port")
}

fn showing(certificate: Certificate) -> TestServer {
    start(Tls {
        certificate,
        ..Tls::default()
    })
}

/// A client that trusts the test server's authority, and shows a certificate of it on demand.
fn config(server: &TestServer, with_certificate: bool) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(server.ca_pem().unwrap().as_bytes()).unwrap();
    roots.add(ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    if !with_certificate {
        return Arc::new(builder.with_no_client_auth());
    }
    let pem = server.client_pem().unwrap().as_bytes();
    let certificate = CertificateDer::from_pem_slice(pem).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
    let config = builder.with_client_auth_cert(vec![certificate], key);
    Arc::new(config.unwrap())
}

fn connect(server: &TestServer, config: &Arc<ClientConfig>, name: &str) -> Stream {
    let socket = TcpStream::connect(server.address()).unwrap();
    let patience = Some(Duration::from_secs(20));
    socket.set_read_timeout(patience).unwrap();
    let name = name.to_owned().try_into().unwrap();
    let connection = ClientConnection::new(config.clone(), name).unwrap();
    StreamOwned::new(connection, socket)
}

/// Sends a request, and reads up to the end of the connection.
fn request(stream: &mut Stream, path: &str) -> std::io::Result<String> {
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

fn get(server: &TestServer, path: &str) -> std::io::Result<String> {
    request(
        &mut connect(server, &config(server, false), "127.0.0.1"),
        path,
    )
}

#[test]
fn paths_are_served_over_tls_as_in_plaintext() {
    let server = start(Tls::default());
    assert!(server.base_url().starts_with("https://127.0.0.1:"));
    let response = get(&server, "/r/1").unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert_eq!(response.split_once("\r\n\r\n").unwrap().1.len(), 133);
    assert!(get(&server, "/bytes/1000000").unwrap().len() > 1_000_000);
    assert!(get(&server, "/chunked/3").unwrap().contains("X-Chunks: 3"));
    assert!(
        get(&server, "/fault/truncate")
            .unwrap()
            .contains("Content-Length: 1000")
    );
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!(
        (summary.requests, summary.tls_handshakes, summary.tls_failed),
        (4, 4, 0)
    );
}

#[test]
fn the_echo_shows_what_the_handshake_agreed_on() {
    let server = start(Tls {
        names: vec!["named.example".to_owned()],
        ..Tls::default()
    });
    let mut stream = connect(&server, &config(&server, false), "named.example");
    let response = request(&mut stream, "/echo").unwrap();
    let echo: serde_json::Value =
        serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(echo["tls"]["sni"], "named.example");
    assert_eq!(echo["tls"]["version"], "1.3");
    assert_eq!(echo["tls"]["client_certificate"], false);
}

#[test]
fn sessions_are_resumed_and_counted() {
    let server = start(Tls::default());
    let config = config(&server, false);
    for _ in 0..3 {
        request(&mut connect(&server, &config, "localhost"), "/r/1").unwrap();
    }
    let summary = server.summary();
    assert_eq!((summary.tls_handshakes, summary.tls_resumed), (3, 2));
}

#[test]
fn each_bad_certificate_is_bad_in_its_own_way() {
    let cases = [
        (Certificate::Expired, "expired"),
        (Certificate::NotYetValid, "not valid yet"),
        (Certificate::WrongHost, "not valid for name"),
        (Certificate::SelfSigned, "UnknownIssuer"),
    ];
    for (certificate, reason) in cases {
        let server = showing(certificate.clone());
        let error = get(&server, "/r/1").unwrap_err().to_string();
        assert!(error.contains(reason), "{certificate}: {error}");
        let summary = eventually(&server, |summary| summary.tls_failed == 1);
        assert_eq!((summary.tls_handshakes, summary.connections), (0, 1));
        assert_eq!(certificate.to_string().parse(), Ok(certificate));
    }
}

#[test]
fn a_client_certificate_is_demanded_if_the_options_say_so() {
    let server = start(Tls {
        client_certificate: true,
        ..Tls::default()
    });
    assert!(get(&server, "/r/1").is_err());
    let mut known = connect(&server, &config(&server, true), "localhost");
    let response = request(&mut known, "/echo").unwrap();
    assert!(
        response.contains("\"client_certificate\":true"),
        "{response}"
    );
    assert_eq!(server.summary().tls_failed, 1);
}

#[test]
fn an_old_version_is_used_if_the_options_say_so() {
    let server = start(Tls {
        only_1_2: true,
        ..Tls::default()
    });
    let response = get(&server, "/echo").unwrap();
    assert!(response.contains("\"version\":\"1.2\""), "{response}");
}

#[test]
fn a_given_certificate_is_shown_and_an_invalid_one_is_an_error() {
    let made = start(Tls::default());
    let (chain, key) = (made.certificate_pem().unwrap(), made.client_pem().unwrap());
    let given = |chain: &str, key: &str| Options {
        tls: Some(Tls {
            certificate: Certificate::Given {
                chain: chain.to_owned(),
                key: key.to_owned(),
            },
            ..Tls::default()
        }),
        ..Options::default()
    };
    // The client's own certificate and key belong together; the leaf and the client's key do not.
    let server = TestServer::start(given(key, key)).unwrap();
    assert_eq!(server.certificate_pem(), Some(key));
    for options in [given(chain, key), given("nothing", key), given(chain, "")] {
        let error = TestServer::start(options).err().unwrap();
        assert!(matches!(error, StartError::Tls(_)), "{error}");
    }
}

#[test]
fn a_stalled_handshake_lasts_until_the_client_goes() {
    let server = start(Tls {
        stall: true,
        ..Tls::default()
    });
    let mut stream = connect(&server, &config(&server, false), "localhost");
    let patience = Some(Duration::from_millis(60));
    stream.sock.set_read_timeout(patience).unwrap();
    let error = request(&mut stream, "/r/1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    eventually(&server, |summary| summary.connections_open == 1);
    drop(stream);
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.connections, summary.tls_handshakes), (1, 0));
}

#[test]
fn a_cut_has_no_close_notify_and_a_close_has_one() {
    let server = start(Tls::default());
    assert!(get(&server, "/eof").unwrap().ends_with("until the end\n"));
    let error = get(&server, "/fault/tls-cut").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    let error = get(&server, "/fault/reset").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn bytes_that_are_no_tls_are_a_failed_handshake() {
    let server = start(Tls::default());
    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    let summary = eventually(&server, |summary| summary.connections_open == 0);
    assert_eq!((summary.tls_failed, summary.requests), (1, 0));
}

#[test]
fn a_simulated_round_trip_counts_the_handshake_of_the_version_in_use() {
    let round_trip = Duration::from_millis(200);
    for (only_1_2, opening) in [(false, 2), (true, 3)] {
        let server = start(Tls {
            only_1_2,
            ..Tls::default()
        });
        server.open_round(hecaton_test_server::RoundSpec {
            round_trip,
            ..support::round(1, 1)
        });
        let begun = std::time::Instant::now();
        assert!(get(&server, "/r/1").unwrap().starts_with("HTTP/1.1 200"));
        assert!(begun.elapsed() >= (opening + 1) * round_trip, "{only_1_2}");
    }
}
