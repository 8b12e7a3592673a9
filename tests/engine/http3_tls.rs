//! TLS over QUIC: the same certificates are accepted and refused as over TCP, with the same reasons. And forks.

use std::sync::Arc;

use hecaton::{Kind, Phase, Reason, Request};

use crate::forked::dropped_in_a_child;
use crate::http3_peer::{Peer, Seen, Setup, World3, respond_to_all};
use crate::tls_server::Authority;

const NEWEST: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

#[test]
fn a_certificate_is_refused_for_the_same_reasons_as_over_tcp() {
    let peer = Peer::start();
    let other = Authority::new().pem;
    let untrusting = World3::of(peer, |config| config.ca = Some(other.as_str().into()));
    let error = untrusting.get("/").unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Tls, Phase::Tls));
    assert_eq!(
        error.reason(),
        Some(Reason::CertificateUntrusted),
        "{error}"
    );
    assert!(!error.sent());
    let World3 { peer, .. } = untrusting;
    let pinning = World3::of(peer, |config| {
        config.pins = vec!["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".into()]
    });
    let error = pinning.get("/").unwrap_err();
    assert_eq!(
        error.reason(),
        Some(Reason::CertificateNotPinned),
        "{error}"
    );
    let World3 { peer, .. } = pinning;
    let careless = World3::of(peer, |config| {
        config.ca = Some(other.as_str().into());
        config.verify = false;
    });
    assert_eq!(careless.get("/").unwrap().status(), 200);
    let port = careless.peer.port;
    let elsewhere = World3::of(careless.peer, |config| {
        let place = format!("elsewhere.example:{port}");
        config.resolve.add(&place, &["127.0.0.1"]).unwrap();
    });
    let url = format!("https://elsewhere.example:{port}/");
    let error = elsewhere.send(Request::get(&url).unwrap()).unwrap_err();
    assert_eq!(
        error.reason(),
        Some(Reason::CertificateWrongHost),
        "{error}"
    );
}

#[test]
fn a_client_certificate_is_shown_and_a_missing_one_is_named() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let mine = clients.sign(&["me"]);
    let server = || {
        let identity = authority.sign(&["localhost"]);
        identity.server_for(&clients, NEWEST)
    };
    let tls = server();
    let peer = Setup::of(authority, tls).serve(respond_to_all);
    let world = World3::of(peer, |config| {
        config.client_cert = Some(mine.pem.as_str().into());
        config.client_key = Some(mine.key_pem.as_str().into());
    });
    assert_eq!(world.get("/").unwrap().status(), 200);
    let world = World3::of(world.peer, |_| {});
    // The alert may come during the handshake, before the settings are sent, or instead of the response.
    for _ in 0..20 {
        let error = world.get("/").unwrap_err();
        assert_eq!(error.kind(), Kind::Tls, "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}

#[test]
fn a_server_that_does_not_speak_http3_is_named() {
    let authority = Authority::new();
    let mut tls = authority.sign(&["localhost"]).server(NEWEST);
    tls.alpn_protocols = vec![b"other".into()];
    let peer = Setup::of(authority, tls).serve(respond_to_all);
    let world = World3::of(peer, |_| {});
    let error = world.get("/").unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Tls, Phase::Tls));
    assert!(error.to_string().contains("ALPN"), "{error}");
}

#[test]
fn a_child_of_fork_sends_nothing_and_the_parents_connection_lives() {
    let seen: Seen<usize> = Arc::default();
    let closed = seen.clone();
    let peer = Peer::serve(move |raw, number| {
        let closed = closed.clone();
        async move {
            let connection = raw.connection.clone();
            respond_to_all(raw, number).await;
            connection.closed().await;
            closed.lock().unwrap().push(number);
        }
    });
    let world = World3::of(peer, |_| {});
    world.get("/").unwrap();
    let World3 {
        peer,
        client,
        reactor,
    } = world;
    let (client, reactor, written) = dropped_in_a_child(client, reactor);
    assert_eq!(written, b"");
    let world = World3 {
        peer,
        client,
        reactor,
    };
    assert!(world.get("/").unwrap().attempts()[0].reused);
    assert!(seen.lock().unwrap().is_empty());
    assert_eq!(world.peer.connections(), 1);
}
