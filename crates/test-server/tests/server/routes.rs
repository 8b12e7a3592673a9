//! The routes that tests of clients need: codings, redirects, cookies, credentials, uploads, pauses.

use crate::support;

use std::io::Read;
use std::time::{Duration, Instant};

use support::{Client, Response, server};

fn get(path: &str) -> Response {
    Client::new(&server()).get(path)
}

#[test]
fn encoded_bodies_decode_to_the_requested_text() {
    let response = get("/encoded/gzip/100000");
    assert_eq!(response.header("content-encoding"), Some("gzip"));
    assert!(response.body.len() < 10_000);
    let mut text = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&response.body[..]);
    decoder.read_to_string(&mut text).unwrap();
    assert_eq!(text.len(), 100_000);
    assert!(text.starts_with("The quick brown fox"));
    for coding in ["deflate", "br", "zstd"] {
        let response = get(&format!("/encoded/{coding}/100"));
        assert_eq!(response.header("content-encoding"), Some(coding));
    }
    let layers = get("/encoded/gzip,br/100?layers=2");
    let header = layers.header("content-encoding");
    assert_eq!(header, Some("gzip, br, gzip, br"));
}

#[test]
fn damaged_codings_do_not_decode() {
    for kind in ["corrupt", "truncated"] {
        let response = get(&format!("/encoded/gzip-{kind}/100000"));
        assert_eq!(response.status, 200);
        let mut decoder = flate2::read::GzDecoder::new(&response.body[..]);
        assert!(decoder.read_to_end(&mut Vec::new()).is_err(), "{kind}");
    }
}

#[test]
fn a_bomb_is_small_on_the_wire() {
    let server = server();
    let mut client = Client::new(&server);
    let response = client.get("/bomb/gzip/50");
    assert_eq!(response.header("content-encoding"), Some("gzip"));
    assert!(response.body.len() < 100_000, "{}", response.body.len());
    let mut decoder = flate2::read::GzDecoder::new(&response.body[..]);
    let length = std::io::copy(&mut decoder, &mut std::io::sink()).unwrap();
    assert_eq!(length, 50 * 1024 * 1024);
    assert_eq!(client.get("/r/1").status, 200);
}

#[test]
fn redirects_lead_through_their_hops_to_the_end() {
    let server = server();
    let mut client = Client::new(&server);
    let mut location = "/redirect/307/3?to=http%3A%2F%2Fother%2Fpath".to_owned();
    let mut seen = Vec::new();
    while location.starts_with('/') {
        let response = client.get(&location);
        assert_eq!(response.status, 307);
        location = response.header("location").unwrap().to_owned();
        seen.push(location.clone());
    }
    assert_eq!(seen.len(), 3);
    assert_eq!(location, "http://other/path");
    let last = client.get("/redirect/302/1");
    assert_eq!(last.header("location"), Some("/echo"));
    let again = client.get("/redirect-loop");
    assert_eq!(again.header("location"), Some("/redirect-loop"));
}

#[test]
fn headers_of_the_query_are_sent_with_any_status() {
    let response = get("/headers?Sunset=Sat,+31+Dec+2033+23:59:59+GMT&Deprecation=%401688169599");
    assert_eq!(response.status, 200);
    assert_eq!(response.header("deprecation"), Some("@1688169599"));
    let sunset = response.header("sunset");
    assert_eq!(sunset, Some("Sat, 31 Dec 2033 23:59:59 GMT"));
    let response = get("/status/503?Retry-After=1");
    let seen = (response.status, response.header("retry-after"));
    assert_eq!(seen, (503, Some("1")));
    assert_eq!(get("/headers?X=a%0d%0aY:b").status, 400);
}

#[test]
fn cookies_are_set_and_reported() {
    let server = server();
    let mut client = Client::new(&server);
    let response = client.get("/cookies/set?a=1%3B%20Path%3D/x&b=2");
    let lines: Vec<_> = response.head.lines().collect();
    assert!(lines.contains(&"Set-Cookie: a=1; Path=/x"), "{lines:?}");
    assert!(lines.contains(&"Set-Cookie: b=2"), "{lines:?}");
    client.request("GET", "/cookies", "Cookie: a=1; b=x=y\r\n");
    let expected = serde_json::json!({"cookies": {"a": "1", "b": "x=y"}});
    assert_eq!(client.response().json(), expected);
}

#[test]
fn a_path_with_basic_credentials_is_refused_without_them() {
    let server = server();
    let mut client = Client::new(&server);
    let closed = client.get("/basic/user/pass");
    assert_eq!(closed.status, 401);
    assert!(
        closed
            .header("www-authenticate")
            .unwrap()
            .starts_with("Basic ")
    );
    let right = "Authorization: Basic dXNlcjpwYXNz\r\n";
    client.request("GET", "/basic/user/pass", right);
    assert_eq!(client.response().status, 200);
    client.request("GET", "/basic/user/other", right);
    assert_eq!(client.response().status, 401);
}

#[test]
fn uploads_are_summed_up() {
    let server = server();
    let mut client = Client::new(&server);
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    let facts = client.response().json();
    assert_eq!(facts["bytes"], 5);
    assert_eq!(facts["crc32"], 0x3610_a686);
    assert_eq!(facts["chunked"], true);
    let long = vec![b'x'; 70 * 1024 * 1024];
    let length = format!("Content-Length: {}\r\n", long.len());
    client.request("PUT", "/upload", &length);
    client.send(&long);
    let facts = client.response().json();
    assert_eq!(
        (&facts["bytes"], &facts["chunked"]),
        (&long.len().into(), &false.into())
    );
}

#[test]
fn an_early_response_does_not_wait_for_the_body() {
    let server = server();
    for headers in [
        "Content-Length: 1000000\r\n",
        "Content-Length: 9\r\nExpect: 100-continue\r\n",
    ] {
        let mut client = Client::new(&server);
        client.request("POST", "/early", headers);
        let response = client.response();
        let seen = (response.status, response.header("connection"));
        assert_eq!(seen, (413, Some("close")));
        assert_eq!(client.rest(), b"");
    }
    assert_eq!(server.summary().requests, 2);
}

#[test]
fn pieces_come_with_pauses_between_them() {
    let server = server();
    let mut client = Client::new(&server);
    let start = Instant::now();
    client.request("GET", "/pieces/3/4/60", "");
    let head = client.head();
    assert_eq!(head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.exactly(9), b"4\r\nxxxx\r\n");
    assert_eq!(client.exactly(23), b"4\r\nxxxx\r\n4\r\nxxxx\r\n0\r\n\r\n");
    assert!(start.elapsed() >= Duration::from_millis(120));
}

#[test]
fn invalid_arguments_are_an_error() {
    let server = server();
    let mut client = Client::new(&server);
    for path in [
        "/encoded/lzw/1",
        "/encoded/gzip/99999999999",
        "/encoded/gzip",
        "/bomb/gzip/x",
        "/redirect/200/1",
        "/redirect/302/0",
        "/pieces/1/0/1",
        "/basic/user",
    ] {
        assert_eq!(client.get(path).status, 400, "{path}");
    }
}

#[test]
fn a_unix_socket_serves_as_tcp_does() {
    let path = std::env::temp_dir().join(format!("hecaton-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let options = || hecaton_test_server::Options {
        unix: Some(path.clone()),
        ..hecaton_test_server::Options::default()
    };
    let server = hecaton_test_server::TestServer::start(options()).unwrap();
    let taken = hecaton_test_server::TestServer::start(options())
        .err()
        .unwrap();
    assert!(
        taken.to_string().contains(path.to_str().unwrap()),
        "{taken}"
    );
    let mut socket = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let request = "GET /r/1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    std::io::Write::write_all(&mut socket, request.as_bytes()).unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert_eq!(server.stop().requests, 1);
    assert!(!path.exists());
}
