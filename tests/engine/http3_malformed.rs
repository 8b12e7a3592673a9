//! Servers that violate HTTP/3, and responses that are malformed.

use std::time::Duration;

use hecaton::{Ending, Kind, Reason};

use crate::http2_faults::endings;
use crate::http3_peer::{
    DATA, GOAWAY, HEADERS, Peer, SETTINGS, World3, field, frame, ok, respond_to_all,
};

/// The code with which the client ends a connection on which the server sends this in place of a response.
fn code_after(response: Vec<u8>) -> Option<u64> {
    let (say, said) = std::sync::mpsc::channel();
    let peer = Peer::serve(move |raw, _| {
        let (say, response) = (say.clone(), response.clone());
        async move {
            let mut stream = raw.request().await.unwrap();
            stream.end_with(&response).await;
            let _ = say.send(raw.closed().await);
        }
    });
    let world = World3::of(peer, |_| {});
    let outcome = world.get("/");
    assert_eq!(endings(&outcome), [Ending::Failed]);
    let error = outcome.unwrap_err();
    assert!(
        matches!(error.kind(), Kind::Protocol | Kind::Body),
        "{error}"
    );
    said.recv_timeout(Duration::from_secs(20)).unwrap()
}

#[test]
fn frames_in_a_wrong_order_end_the_connection_with_the_code_of_the_rfc() {
    let trailers = || frame(HEADERS, &[&[0, 0][..], &field("a", "b")].concat());
    for (response, code) in [
        (frame(DATA, b"x"), 0x105),
        ([ok(&[]), frame(SETTINGS, b"")].concat(), 0x105),
        ([ok(&[]), frame(GOAWAY, b"\0")].concat(), 0x105),
        ([ok(&[]), trailers(), frame(DATA, b"x")].concat(), 0x105),
        ([ok(&[]), trailers(), trailers()].concat(), 0x105),
        ([ok(&[]), frame(0x2, b"")].concat(), 0x105),
        ([ok(&[]), frame(0x5, b"\0")].concat(), 0x108),
        (
            [ok(&[]), frame(DATA, b"body")[..6].to_vec()].concat(),
            0x106,
        ),
        // A field of the dynamic table, which there is not.
        (frame(HEADERS, b"\0\0\x80"), 0x200),
    ] {
        assert_eq!(code_after(response), Some(code));
    }
}

#[test]
fn a_malformed_response_fails_alone() {
    let heads = [
        frame(HEADERS, &[&[0, 0][..], &field("a", "b")].concat()),
        ok(&field("Capital", "x")),
        ok(&field("connection", "close")),
        ok(&field("a", "b\nc")),
        ok(&[0xd9]),
        ok(&field("content-length", "x")),
        ok(&[field("content-length", "1"), field("content-length", "2")].concat()),
        // `:status: 1234` and `:status: 101`.
        frame(HEADERS, b"\0\0\x5f\x09\x041234"),
        frame(HEADERS, b"\0\0\x5f\x09\x03101"),
        // No final head.
        frame(HEADERS, &[0, 0, 0xd8]),
        Vec::new(),
    ];
    for head in heads {
        let peer = Peer::serve(move |raw, _| {
            let head = head.clone();
            async move {
                let mut stream = raw.request().await.unwrap();
                stream.end_with(&head).await;
                respond_to_all(raw, 0).await;
            }
        });
        let world = World3::of(peer, |_| {});
        let outcome = world.get("/");
        assert_eq!(endings(&outcome), [Ending::Failed]);
        let error = outcome.unwrap_err();
        assert_eq!(error.reason(), Some(Reason::ResponseMalformed), "{error}");
        assert_eq!(world.get("/").unwrap().status(), 200);
        assert_eq!(world.peer.connections(), 1);
    }
}

#[test]
fn heads_that_are_too_large_end_their_stream_alone() {
    let long = "x".repeat(70_000);
    for head in [
        ok(&field("a", &long)),
        ok(&field("a", "b").repeat(11)),
        ok(&field("a", &long.repeat(4))),
    ] {
        let peer = Peer::serve(move |raw, _| {
            let head = head.clone();
            async move {
                let mut stream = raw.request().await.unwrap();
                stream.end_with(&head).await;
                respond_to_all(raw, 0).await;
            }
        });
        let world = World3::of(peer, |config| {
            config.max_header_bytes = 1000;
            config.max_header_fields = 10;
        });
        let error = world.get("/").unwrap_err();
        assert_eq!(error.reason(), Some(Reason::HeadTooLarge), "{error}");
        assert_eq!(world.get("/").unwrap().status(), 200);
        assert_eq!(world.peer.connections(), 1);
    }
}

#[test]
fn too_many_interim_responses_end_the_request() {
    let peer = Peer::serve(|raw, _| async move {
        let mut stream = raw.request().await.unwrap();
        let interim = frame(HEADERS, &[0, 0, 0xd8]);
        stream.write(&interim.repeat(101)).await;
        stream.respond(b"ok").await;
        raw.closed().await;
    });
    let world = World3::of(peer, |_| {});
    assert_eq!(world.get("/").unwrap_err().kind(), Kind::Protocol);
}

#[test]
fn a_server_that_violates_the_control_stream_loses_the_connection() {
    for (bytes, code) in [
        (frame(SETTINGS, b""), 0x105),
        (frame(DATA, b""), 0x105),
        (frame(GOAWAY, b"\x01"), 0x108),
        (frame(GOAWAY, b""), 0x106),
    ] {
        let (say, said) = std::sync::mpsc::channel();
        let peer = Peer::serve(move |mut raw, _| {
            let (say, bytes) = (say.clone(), bytes.clone());
            async move {
                let _stream = raw.request().await;
                let _ = raw.control.write_all(&bytes).await;
                let _ = say.send(raw.closed().await);
            }
        });
        let world = World3::of(peer, |_| {});
        let error = world.get("/").unwrap_err();
        assert_eq!(error.reason(), Some(Reason::ResponseMalformed), "{error}");
        let seen = said.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(seen, Some(code));
    }
    let peer = Peer::serve(|mut raw, _| async move {
        let _stream = raw.request().await;
        let _ = raw.control.finish();
        raw.closed().await;
    });
    let world = World3::of(peer, |_| {});
    assert_eq!(world.get("/").unwrap_err().kind(), Kind::Protocol);
}
