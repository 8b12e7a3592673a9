//! Ends of HTTP/3 connections, and bodies that are cut: never a success.

use std::sync::Arc;
use std::time::Duration;

use hecaton::{Ending, Kind, Phase, Reason};

use crate::http2_faults::endings;
use crate::http3_peer::{
    DATA, HEADERS, INTERNAL_ERROR, NO_ERROR, Peer, Seen, World3, field, frame, ok, respond_to_all,
    wait_for,
};
use crate::{until, with_growing};

#[test]
fn a_body_with_fewer_or_more_bytes_than_announced_is_no_success() {
    for (length, body, reason) in [
        ("5", &b"four"[..], Some(Reason::BodyCutShort)),
        ("5", b"", Some(Reason::BodyCutShort)),
        ("3", b"four", None),
    ] {
        let peer = Peer::serve(move |raw, _| async move {
            while let Some(mut stream) = raw.request().await {
                let head = ok(&field("content-length", length));
                stream.end_with(&[head, frame(DATA, body)].concat()).await;
            }
        });
        let world = World3::of(peer, |_| {});
        let error = world.get("/").unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Read));
        assert_eq!(error.reason(), reason, "{error}");
    }
}

#[test]
fn a_stream_that_ends_within_a_frame_is_no_success() {
    for cut in [1, 3, 5, 7] {
        let peer = Peer::serve(move |raw, _| async move {
            let mut stream = raw.request().await.unwrap();
            let body = frame(DATA, b"body");
            stream
                .end_with(&[ok(&[]), body[..cut].to_vec()].concat())
                .await;
            raw.closed().await;
        });
        let world = World3::of(peer, |_| {});
        let error = world.get("/").unwrap_err();
        assert_eq!(error.kind(), Kind::Body, "{cut}: {error}");
    }
}

#[test]
fn the_end_of_the_connection_cuts_a_body_with_and_without_a_length() {
    for code in [NO_ERROR, INTERNAL_ERROR] {
        for head in [ok(&[]), ok(&field("content-length", "4"))] {
            // A request whose connection ends before the client has read its head is sent again.
            let error = with_growing(Duration::from_millis(50), |pause| {
                let head = head.clone();
                let peer = Peer::serve(move |raw, _| {
                    let head = head.clone();
                    async move {
                        let mut stream = raw.request().await.unwrap();
                        stream.write(&[head, frame(DATA, b"bod")].concat()).await;
                        tokio::time::sleep(pause).await;
                        raw.connection.close(code.into(), b"");
                    }
                });
                let outcome = World3::of(peer, |_| {}).get("/");
                let is_resent = endings(&outcome).contains(&Ending::Resent);
                (!is_resent).then(|| outcome.unwrap_err())
            });
            assert_eq!(error.attempts().len(), 1);
            assert_eq!(error.reason(), Some(Reason::BodyCutShort), "{error}");
        }
    }
}

#[test]
fn a_connection_that_ends_before_a_response_is_left_once_by_idempotent_requests() {
    for (method, code, expected) in [
        ("GET", NO_ERROR, &[Ending::Resent, Ending::Status(200)][..]),
        ("POST", NO_ERROR, &[Ending::Failed]),
        ("GET", INTERNAL_ERROR, &[Ending::Failed]),
    ] {
        let peer = Peer::serve(move |raw, number| async move {
            if number == 0 {
                let _stream = raw.request().await.unwrap();
                raw.connection.close(code.into(), b"");
            } else {
                respond_to_all(raw, number).await;
            }
        });
        let world = World3::of(peer, |_| {});
        let outcome = world.send(world.request(method, "/"));
        assert_eq!(
            endings(&outcome),
            expected,
            "{method} {code:#x} {:?}",
            outcome.err().map(|error| error.to_string())
        );
    }
}

#[test]
fn a_connection_that_ended_while_it_was_idle_is_not_used() {
    let peer = Peer::serve(|raw, number| async move {
        if number == 0 {
            let mut stream = raw.request().await.unwrap();
            stream.respond(b"ok").await;
            stream.stopped().await;
            raw.connection.close(NO_ERROR.into(), b"");
        } else {
            respond_to_all(raw, number).await;
        }
    });
    let world = World3::of(peer, |_| {});
    world.get("/").unwrap();
    until(|| world.client.idle_connections() == 0);
    let outcome = world.send(world.request("POST", "/"));
    assert_eq!(endings(&outcome), [Ending::Status(200)]);
    assert_eq!(world.peer.connections(), 2);
}

#[test]
fn a_response_that_is_whole_stays_so_when_the_server_stops_the_upload() {
    let peer = Peer::serve(|raw, _| async move {
        let mut stream = raw.request().await.unwrap();
        let _ = stream.recv.stop(NO_ERROR.into());
        stream.respond(b"early").await;
        raw.closed().await;
    });
    let world = World3::of(peer, |_| {});
    let request = world.request("POST", "/").body(vec![0; 20 << 20]);
    assert_eq!(&world.send(request).unwrap().body()[..], b"early");
}

#[test]
fn a_path_that_went_dead_is_left_after_one_request() {
    let seen: Seen<usize> = Arc::default();
    let numbers = seen.clone();
    let peer = Peer::serve(move |raw, number| {
        let numbers = numbers.clone();
        async move {
            numbers.lock().unwrap().push(number);
            if number > 0 {
                return respond_to_all(raw, number).await;
            }
            let mut stream = raw.request().await.unwrap();
            stream.respond(b"ok").await;
            let _stream = raw.request().await;
            raw.closed().await;
        }
    });
    let world = World3::of(peer, |_| {});
    world.get("/").unwrap();
    // The server lives and acknowledges, so the connection stays although one request timed out.
    let request = world.request("GET", "/");
    let request = request.timeout(Duration::from_millis(300));
    let error = world.send(request).unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    assert_eq!(wait_for(&seen, 1), [0]);
}

#[test]
fn trailers_and_frames_of_unknown_types_are_no_error() {
    let peer = Peer::serve(|raw, _| async move {
        // A stream of an unknown type, and an unknown setting were sent before.
        let mut odd = raw.connection.open_uni().await.unwrap();
        let _ = odd.write_all(b"\x40\x21anything").await;
        let mut stream = raw.request().await.unwrap();
        let unknown = frame(0x21, b"abc");
        let trailers = frame(HEADERS, &[&[0, 0][..], &field("a", "b")].concat());
        let parts = [
            unknown.clone(),
            ok(&[]),
            unknown.clone(),
            frame(DATA, b"bo"),
            unknown.clone(),
            frame(DATA, b""),
            frame(DATA, b"dy"),
            trailers,
            unknown,
        ];
        stream.end_with(&parts.concat()).await;
        raw.closed().await;
    });
    let world = World3::of(peer, |_| {});
    let response = world.get("/").unwrap();
    assert_eq!(&response.body()[..], b"body");
    assert_eq!(response.trailer_block(), b"a: b\r\n");
}
