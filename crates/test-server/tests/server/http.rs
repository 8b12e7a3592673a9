//! HTTP/1.1 as the test server serves it, over real sockets.

use crate::support;

use std::time::{Duration, SystemTime};

use support::{Client, server};

#[test]
fn a_connection_stays_open_for_one_request_after_another() {
    let server = server();
    let mut client = Client::new(&server);
    for number in 1..=3 {
        let echo = client.get("/echo?a=b").json();
        assert_eq!(
            (&echo["connection"], &echo["request"]),
            (&1.into(), &number.into())
        );
        assert_eq!(
            (&echo["method"], &echo["path"]),
            (&"GET".into(), &"/echo?a=b".into())
        );
        assert_eq!(echo["headers"], serde_json::json!([["Host", "test"]]));
    }
    assert_eq!(Client::new(&server).get("/echo").json()["connection"], 2);
}

#[test]
fn pipelined_requests_get_responses_in_order() {
    let server = server();
    let mut client = Client::new(&server);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let paths = [
        "/r/1",
        "/delay/30",
        "/chunked/2",
        "/status/404",
        "/bytes/100000",
        "/r/2",
        "/delay/1",
    ];
    client.send(paths.map(get).concat());
    assert_eq!(client.response().body.len(), 133);
    assert_eq!(client.response().text(), "late\n");
    assert_eq!(client.response().text(), "chunk 1\nchunk 2\n");
    assert_eq!(client.response().status, 404);
    assert_eq!(client.response().body.len(), 100_000);
    assert_eq!(client.response().body.len(), 133);
    assert_eq!(client.response().text(), "late\n");
}

#[test]
fn thousands_of_pipelined_requests_all_get_responses() {
    let server = server();
    let mut client = Client::new(&server);
    let mut writer = client.socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        for id in 0..5000 {
            let text = format!("GET /r/{id} HTTP/1.1\r\nHost: a\r\n\r\n");
            std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
        }
    });
    for _ in 0..5000 {
        assert_eq!(client.response().body.len(), 133);
    }
    sender.join().unwrap();
    assert_eq!(server.summary().requests, 5000);
}

#[test]
fn uploads_come_back_whole_by_length_and_by_chunks() {
    let server = server();
    let mut client = Client::new(&server);
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(client.response().json()["body"], "hello");
    client.send("PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhel");
    client.send("lo\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n");
    let echo = client.response().json();
    assert_eq!(
        (&echo["body"], &echo["method"]),
        (&"hello world".into(), &"PUT".into())
    );
    let long = "0123456789".repeat(100_000);
    client.request(
        "POST",
        "/echo",
        &format!("Content-Length: {}\r\n", long.len()),
    );
    client.send(&long);
    assert_eq!(client.response().json()["body"], long.as_str());
    assert_eq!(client.get("/echo").json()["request"], 4);
}

#[test]
fn one_hundred_continue_comes_before_the_body_and_after_earlier_responses() {
    let server = server();
    let mut client = Client::new(&server);
    let head =
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    client.send(format!("GET /delay/20 HTTP/1.1\r\nHost: a\r\n\r\n{head}"));
    assert_eq!(client.response().text(), "late\n");
    assert_eq!(client.head().status, 100);
    client.send("ok");
    assert_eq!(client.response().json()["body"], "ok");
    // A client that does not wait gets no 100 Continue.
    client.send(format!("{head}ok"));
    assert_eq!(client.response().status, 200);
}

#[test]
fn http_1_0_closes_unless_keep_alive_is_requested() {
    let server = server();
    let mut client = Client::new(&server);
    client.send("GET /r/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let response = client.response();
    assert_eq!(
        (response.header("connection"), response.body.len()),
        (Some("keep-alive"), 133)
    );
    client.send("GET /chunked/2 HTTP/1.0\r\n\r\n");
    let response = client.response();
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.text(), "chunk 1\nchunk 2\n");
}

#[test]
fn close_is_announced_and_done() {
    let server = server();
    for (path, header) in [("/close", ""), ("/r/1", "Connection: close\r\n")] {
        let mut client = Client::new(&server);
        client.request("GET", path, header);
        let response = client.response();
        assert_eq!(
            (response.status, response.header("connection")),
            (200, Some("close"))
        );
        assert_eq!(client.rest(), b"");
    }
    let mut client = Client::new(&server);
    assert_eq!(client.get("/eof").text(), "until the end\n");
}

#[test]
fn head_has_the_length_and_no_body() {
    let server = server();
    let mut client = Client::new(&server);
    for (path, length) in [
        ("/r/1", "133"),
        ("/bytes/70000", "70000"),
        ("/status/404", "14"),
    ] {
        client.request("HEAD", path, "");
        assert_eq!(
            client.head().header("content-length"),
            Some(length),
            "{path}"
        );
    }
    client.request("HEAD", "/chunked/3", "");
    assert_eq!(client.head().header("transfer-encoding"), Some("chunked"));
    assert_eq!(client.get("/r/1").status, 200);
}

#[test]
fn every_method_and_status_is_served() {
    let server = server();
    let mut client = Client::new(&server);
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
        client.request(method, "/r/9", "");
        assert_eq!(client.response().body.len(), 133, "{method}");
    }
    for status in [200, 201, 301, 404, 418, 500, 599] {
        assert_eq!(client.get(&format!("/status/{status}")).status, status);
    }
    for status in [204, 304] {
        client.request("GET", &format!("/status/{status}"), "");
        let head = client.head();
        assert_eq!((head.status, head.header("content-length")), (status, None));
    }
    assert_eq!(client.get("/nowhere").status, 404);
    assert_eq!(
        client.get("/bytes/30").text(),
        "abcdefghijklmnopqrstuvwxyzabcd"
    );
}

#[test]
fn the_document_is_sent_on_request() {
    let server = server();
    let mut client = Client::new(&server);
    let plain = client.get("/r/5").check_value();
    client.request("GET", "/r/5", "Accept: application/json\r\n");
    let response = client.response();
    assert_eq!(response.header("content-type"), Some("application/json"));
    let document = response.json();
    assert_eq!(document["token"], format!("{plain:08x}"));
    assert_eq!(document["records"].as_array().unwrap().len(), 15);
}

#[test]
fn responses_carry_the_date() {
    let server = server();
    let before = SystemTime::now() - Duration::from_secs(1);
    let response = Client::new(&server).get("/r/1");
    let date = httpdate::parse_http_date(response.header("date").unwrap()).unwrap();
    assert!(date >= before && date <= SystemTime::now(), "{date:?}");
}

#[test]
fn invalid_requests_are_refused_and_other_connections_continue() {
    let server = server();
    let mut steady = Client::new(&server);
    assert_eq!(steady.get("/r/1").status, 200);
    let long = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(40_000)
    );
    let large = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 67108865\r\n\
                 Expect: 100-continue\r\n\r\n";
    let cases: [(&[u8], u16); 6] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET /r/1 HTTP/1.1\r\n\r\n", 400),
        (b"GET /r/1 HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (
            b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n",
            400,
        ),
        (long.as_bytes(), 431),
        (large.as_bytes(), 413),
    ];
    for (number, (bytes, status)) in cases.iter().enumerate() {
        let mut client = Client::new(&server);
        client.send(bytes);
        let response = client.response();
        assert_eq!(
            (response.status, response.header("connection")),
            (*status, Some("close"))
        );
        assert_eq!(client.rest(), b"");
        assert_eq!(server.summary().refused, number as u64 + 1);
    }
    assert_eq!(steady.get("/r/2").status, 200);
}

#[test]
fn a_request_that_comes_byte_by_byte_is_read() {
    let server = server();
    let mut client = Client::new(&server);
    for byte in b"GET /r/1 HTTP/1.1\r\nHost: a\r\n\r\n" {
        client.send([*byte]);
    }
    assert_eq!(client.response().body.len(), 133);
}

#[test]
fn a_client_that_ends_its_side_still_gets_its_responses() {
    let server = server();
    let mut client = Client::new(&server);
    client.request("GET", "/delay/30", "");
    client.request("GET", "/r/1", "");
    client.end_sending();
    assert_eq!(client.response().text(), "late\n");
    assert_eq!(client.response().body.len(), 133);
    assert_eq!(client.rest(), b"");
    assert_eq!(eventually_closed(&server).aborted, 0);
}

fn eventually_closed(server: &hecaton_test_server::TestServer) -> hecaton_test_server::Summary {
    support::eventually(server, |summary| summary.connections_open == 0)
}
