//! A server's signals for requests that it did nothing for: GOAWAY and H3_REQUEST_REJECTED.

use std::sync::Arc;

use hecaton::{Ending, Kind, Outcome};

use crate::http2_faults::endings;
use crate::http3_peer::{
    INTERNAL_ERROR, NO_ERROR, Peer, REQUEST_REJECTED, Seen, VERSION_FALLBACK, World3, ok,
    respond_to_all,
};

#[test]
fn requests_that_a_goaway_leaves_out_are_resent_and_the_others_get_responses() {
    for method in ["GET", "POST"] {
        let seen: Seen<u64> = Arc::default();
        let responses = seen.clone();
        let peer = Peer::serve(move |mut raw, number| {
            let responses = responses.clone();
            async move {
                if number > 0 {
                    while let Some(mut stream) = raw.request().await {
                        responses.lock().unwrap().push(stream.send.id().index());
                        stream.respond(b"ok").await;
                    }
                    return;
                }
                let mut first = raw.request().await.unwrap();
                let mut others = Vec::new();
                for _ in 1..5 {
                    others.push(raw.request().await.unwrap());
                }
                raw.go_away(4).await;
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                responses.lock().unwrap().push(0);
                first.respond(b"ok").await;
                raw.closed().await;
            }
        });
        let world = World3::of(peer, |_| {});
        let outcomes = world.batch(5, 5, method, "/");
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        let resent = |o: &&Outcome| endings(o) == [Ending::Resent, Ending::Status(200)];
        assert_eq!(outcomes.iter().filter(resent).count(), 4);
        assert_eq!(
            seen.lock().unwrap().len(),
            5,
            "each request got one response"
        );
        assert_eq!(world.peer.connections(), 2);
    }
}

#[test]
fn a_goaway_before_and_after_a_request_leads_to_another_connection() {
    let peer = Peer::serve(|mut raw, number| async move {
        if number == 0 {
            let mut stream = raw.request().await.unwrap();
            stream.respond(b"ok").await;
            raw.go_away(4).await;
            raw.closed().await;
        } else {
            respond_to_all(raw, number).await;
        }
    });
    let world = World3::of(peer, |_| {});
    for _ in 0..3 {
        assert_eq!(
            world.send(world.request("POST", "/")).unwrap().status(),
            200
        );
    }
    assert_eq!(world.peer.connections(), 2);
}

#[test]
fn a_goaway_during_a_response_does_not_cut_it() {
    let peer = Peer::serve(|mut raw, _| async move {
        let mut stream = raw.request().await.unwrap();
        stream.write(&ok(&[])).await;
        raw.go_away(4).await;
        stream
            .end_with(&crate::http3_peer::frame(0, b"whole"))
            .await;
        raw.closed().await;
    });
    let world = World3::of(peer, |_| {});
    assert_eq!(&world.get("/").unwrap().body()[..], b"whole");
}

#[test]
fn a_rejected_request_is_resent_whatever_its_method() {
    let peer = Peer::serve(|raw, number| async move {
        if number == 0 {
            let mut stream = raw.request().await.unwrap();
            let _ = stream.send.reset(REQUEST_REJECTED.into());
            raw.closed().await;
        } else {
            respond_to_all(raw, number).await;
        }
    });
    let world = World3::of(peer, |_| {});
    let outcome = world.send(world.request("POST", "/").body("abc"));
    assert_eq!(endings(&outcome), [Ending::Resent, Ending::Status(200)]);
}

#[test]
fn a_reset_is_a_failure_in_each_phase_whatever_its_code() {
    for code in [NO_ERROR, INTERNAL_ERROR, VERSION_FALLBACK, 0, 0x1_0000] {
        let peer = Peer::serve(move |raw, _| async move {
            while let Some(mut stream) = raw.request().await {
                match stream.path().as_str() {
                    "/head" => {}
                    "/interim" => {
                        stream
                            .write(&crate::http3_peer::frame(1, &[0, 0, 0xd8]))
                            .await
                    }
                    "/body" => stream.write(&ok(&[])).await,
                    _ => {
                        let body = crate::http3_peer::frame(0, b"ok");
                        stream.write(&[ok(&[]), body].concat()).await;
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                    }
                }
                let _ = stream.send.reset(code.into());
            }
        });
        let world = World3::of(peer, |_| {});
        for path in ["/head", "/interim", "/body", "/end"] {
            let outcome = world.get(path);
            assert_eq!(endings(&outcome), [Ending::Failed], "{path} {code:#x}");
            let error = outcome.unwrap_err();
            assert!(
                matches!(error.kind(), Kind::Protocol | Kind::Body) && error.sent(),
                "{error}"
            );
        }
        assert_eq!(world.peer.connections(), 1);
    }
}
