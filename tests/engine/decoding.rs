//! Content codings are negotiated and decoded, bombs hit the cap, and damage is an error.

use std::io::Write;
use std::time::{Duration, Instant};

use hecaton::{Batch, Config, Kind, Phase, Protocol, Request};
use hecaton_e2e::peer::{Peer, Requests};
use hecaton_test_server::{Http2, Options, TestServer};

use crate::{World, json, with_growing};

const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

/// Without TLS, by HTTP/1.1 and by HTTP/2.
fn worlds() -> [World; 2] {
    worlds_with(|_| {})
}

fn worlds_with(change: fn(&mut Config)) -> [World; 2] {
    [Protocol::Auto, Protocol::Http2].map(|http| {
        let mut world = World::with(|config| {
            config.http = http;
            change(config);
        });
        let options = Options {
            http2: Some(Http2::default()),
            ..Options::default()
        };
        world.server = TestServer::start(options).unwrap();
        world
    })
}

#[test]
fn each_coding_is_requested_and_decoded() {
    for world in worlds() {
        let echo = json(&world.get("/echo")).to_string().to_lowercase();
        let echo: serde_json::Value = serde_json::from_str(&echo).unwrap();
        let expected = serde_json::json!(["accept-encoding", "gzip, deflate, br, zstd"]);
        let headers = echo["headers"].as_array().unwrap();
        assert!(headers.contains(&expected), "{headers:?}");
        for coding in CODINGS {
            for size in [0, 1, 100, 1_000_000] {
                let response = world.get(&format!("/encoded/{coding}/{size}"));
                assert_eq!(response.body().len(), size, "{coding}");
                assert_eq!(
                    response.header("content-encoding"),
                    Some(coding.as_bytes()),
                    "it stays visible"
                );
            }
        }
        let layered = world.get("/encoded/gzip,br/100000");
        assert!(layered.body().len() == 100_000 && layered.body().starts_with(b"The quick brown"));
    }
}

#[test]
fn the_connection_is_used_again_after_a_coded_body() {
    let world = World::new();
    for coding in CODINGS {
        world.get(&format!("/encoded/{coding}/100000"));
    }
    assert_eq!(world.server.stop().connections, 1);
}

#[test]
fn a_request_that_names_codings_or_a_range_gets_the_body_as_it_comes() {
    let world = World::new();
    for (name, value) in [("Accept-Encoding", "gzip"), ("Range", "bytes=0-9")] {
        let request = world.request("/encoded/gzip/1000");
        let request = request.header(name, value.as_bytes()).unwrap();
        let body = world.send(request).unwrap().into_body();
        assert_eq!(body[..2], [0x1f, 0x8b], "{name}");
        let request = world.request("/echo").header(name, value.as_bytes());
        let seen = json(&world.send(request.unwrap()).unwrap()).to_string();
        assert!(!seen.contains("zstd"), "{seen}");
    }
    let always = World::with(|config| config.decode_always = true);
    for (name, value, decoded) in [
        ("Accept-Encoding", "gzip", true),
        ("Range", "bytes=0-9", false),
    ] {
        let request = always.request("/encoded/gzip/1000");
        let request = request.header(name, value.as_bytes()).unwrap();
        let body = always.send(request).unwrap().into_body();
        assert_eq!(body[..2] != [0x1f, 0x8b], decoded, "{name}");
        let request = always.request("/echo").header(name, value.as_bytes());
        let seen = json(&always.send(request.unwrap()).unwrap()).to_string();
        assert!(seen.contains(value) && !seen.contains("zstd"), "{seen}");
    }
    let off = World::with(|config| {
        config.decode = false;
        config.decode_always = true;
    });
    assert_eq!(off.get("/encoded/gzip/1000").body()[..2], [0x1f, 0x8b]);
    assert!(
        !json(&off.get("/echo"))
            .to_string()
            .contains("Accept-Encoding")
    );
}

#[test]
fn a_damaged_or_short_coding_is_an_error() {
    for world in worlds() {
        for coding in CODINGS {
            for damage in ["corrupt", "truncated"] {
                let path = format!("/encoded/{coding}-{damage}/100000");
                let error = world.send(world.request(&path)).unwrap_err();
                assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Read));
                assert!(error.detail().contains("undecodable"), "{path}: {error}");
            }
        }
    }
}

#[test]
fn a_bomb_hits_the_cap() {
    for world in worlds_with(|config| config.max_body = 1 << 20) {
        for coding in CODINGS {
            assert_eq!(
                world.get(&format!("/bomb/{coding}/1")).body().len(),
                1 << 20
            );
            let request = world.request(&format!("/bomb/{coding}/10240"));
            let error = world.send(request).unwrap_err();
            assert_eq!(error.kind(), Kind::Body, "{coding}");
            assert!(error.detail().contains("1048576"), "{coding}: {error}");
        }
    }
}

#[test]
fn a_streamed_bomb_comes_in_small_pieces() {
    for world in worlds() {
        for coding in CODINGS {
            let request = world.request(&format!("/bomb/{coding}/16"));
            let mut stream = world.run(world.client.open(request)).unwrap();
            let mut size = 0;
            while let Some(piece) = world.run(stream.chunk()).unwrap() {
                assert!(!piece.is_empty() && piece.len() <= 64 << 10);
                size += piece.len();
            }
            assert_eq!(size, 16 << 20, "{coding}");
        }
    }
}

#[test]
fn a_body_that_decodes_to_nothing_delays_neither_deadlines_nor_other_requests() {
    let peer = Peer::playing(|mut stream, _| {
        stream.head();
        let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\xff";
        stream.write_all(head).unwrap();
        // Blocks of no bytes (RFC 1951 §3.2.4).
        let blocks = b"\x00\x00\x00\xff\xff".repeat(1 << 14);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(30) && stream.write_all(&blocks).is_ok() {}
    });
    let world = World::new();
    with_growing(Duration::from_millis(700), |limit| {
        let mut batch = Batch::new(world.client.clone(), 2);
        let endless = Request::get(&peer.url("/")).unwrap();
        batch.push("endless", endless.timeout(limit));
        batch.push("other", world.request("/delay/100"));
        let (mut ended, begun) = (Vec::new(), Instant::now());
        while !batch.is_empty() {
            world.run(batch.wait(&mut ended));
        }
        assert!(begun.elapsed() < limit + Duration::from_secs(20));
        let endless = ended.iter().position(|(tag, _)| *tag == "endless").unwrap();
        let error = ended[endless].1.as_ref().unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
        (endless == 1).then_some(())
    });
}

/// The outcome of a request to a server that sends this response and closes the connection.
fn outcome_of(response: &'static [u8], method: &str) -> Result<hecaton::Response, hecaton::Error> {
    let peer = Peer::closing(response);
    let world = World::new();
    world.send(Request::new(method, &peer.url("/")).unwrap())
}

#[test]
fn no_body_needs_no_decoding() {
    for (said, method) in [
        (
            &b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n"[..],
            "HEAD",
        ),
        (
            b"HTTP/1.1 204 No Content\r\nContent-Encoding: br\r\n\r\n",
            "GET",
        ),
        (
            b"HTTP/1.1 304 Not Modified\r\nContent-Encoding: zstd\r\n\r\n",
            "GET",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
            "GET",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET",
        ),
    ] {
        assert!(outcome_of(said, method).unwrap().body().is_empty());
    }
}

#[test]
fn an_unknown_coding_is_left_and_bytes_behind_the_end_are_an_error() {
    let unknown = b"HTTP/1.1 200 OK\r\nContent-Encoding: unknown\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(outcome_of(unknown, "GET").unwrap().body(), "ok");
    // An empty stream of br, and one byte behind its end.
    let trailing = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n\x06x";
    let error = outcome_of(trailing, "GET").unwrap_err();
    assert!(error.detail().contains("follows the end"), "{error}");
}
