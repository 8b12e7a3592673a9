//! Fields behind a body: separate from the head, over both protocols, in whole bodies and streams, with
//! the limits of a head.

use hecaton::{Kind, Request};

use crate::World;
use crate::http2;
use crate::http2_peer::Peer;
use crate::scripted::Scripted;

fn chunked(trailers: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n{trailers}\r\n")
}

fn server(trailers: String) -> Scripted {
    Scripted::responding(move |_| chunked(&trailers))
}

#[test]
fn trailers_are_reported_with_the_body() {
    let world = World::new();
    let server = server("X-Sum: \t a \r\nX-Sum:b\r\nEmpty:\r\n".into());
    for _ in 0..2 {
        let response = world.send(Request::get(&server.url).unwrap()).unwrap();
        assert_eq!(response.body(), "body");
        let expected: [(&str, &[u8]); 3] = [("x-sum", b"a"), ("x-sum", b"b"), ("empty", b"")];
        assert!(response.trailers().eq(expected));
        assert_eq!(response.header("x-sum"), None);
    }
    assert_eq!(
        world.client.stats().opened,
        1,
        "the connection stays usable"
    );
    assert_eq!(world.get("/chunked/3").trailer_block(), b"x-chunks: 3\r\n");
    assert_eq!(world.get("/r/1").trailer_block(), b"");
}

#[test]
fn a_stream_has_them_at_its_end() {
    let world = World::new();
    let server = server("x-sum: a\r\n".into());
    world.run(async {
        let request = Request::get(&server.url).unwrap();
        let mut stream = world.client.open(request).await.unwrap();
        let mut body = Vec::new();
        while let Some(piece) = stream.chunk().await.unwrap() {
            body.extend_from_slice(&piece);
        }
        assert_eq!(body, b"body");
        assert_eq!(stream.trailer_block(), b"x-sum: a\r\n");
    });
    assert_eq!(world.client.idle_connections(), 1);
}

#[test]
fn over_http2_too() {
    let peer = Peer::start(10);
    let (client, reactor) = http2::client(|_| {});
    let request = || Request::get(&format!("{}/trailers", peer.url)).unwrap();
    let response = reactor.block_on(client.send(request())).unwrap();
    assert_eq!(
        (&response.body()[..], response.trailer_block()),
        (&b"body"[..], &b"x-trailer: 1\r\n"[..])
    );
    reactor.block_on(async {
        let mut stream = client.open(request()).await.unwrap();
        assert_eq!(stream.trailer_block(), b"");
        while stream.chunk().await.unwrap().is_some() {}
        assert_eq!(stream.trailer_block(), b"x-trailer: 1\r\n");
    });
    let (client, reactor) = http2::client(|config| config.max_header_fields = 2);
    let response = reactor.block_on(client.send(request())).unwrap();
    assert_eq!(response.trailers().count(), 1);
}

#[test]
fn trailers_have_the_limits_of_a_head() {
    let refused = |trailers: String, change: fn(&mut hecaton::Config)| {
        let (world, server) = (World::with(change), server(trailers));
        let error = world.send(Request::get(&server.url).unwrap()).unwrap_err();
        assert_eq!(error.kind(), Kind::Body, "{error}");
        error.detail().to_owned()
    };
    let many = refused("a: b\r\n".repeat(4), |config| config.max_header_fields = 3);
    assert!(many.contains("max_header_fields"), "{many}");
    let long = refused(format!("a: {}\r\n", "b".repeat(300)), |config| {
        config.max_header_bytes = 200
    });
    assert!(long.contains("max_header_bytes"), "{long}");
    let sum = refused("a: bcdefghi\r\n".repeat(30), |config| {
        config.max_header_bytes = 200
    });
    assert!(sum.contains("max_header_bytes"), "{sum}");
    for odd in [
        "no field\r\n",
        ": x\r\n",
        "a b: c\r\n",
        "a: \0\r\n",
        " folded: x\r\n",
    ] {
        let why = refused(odd.into(), |_| {});
        assert!(
            why.contains("a trailer is not a header field"),
            "{odd:?}: {why}"
        );
    }
    let (world, server) = (World::new(), server("a: b\r\n".repeat(900)));
    let response = world.send(Request::get(&server.url).unwrap()).unwrap();
    assert_eq!(response.trailers().count(), 900);
}
