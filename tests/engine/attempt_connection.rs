//! The connection of each attempt: its two ends, and what its TLS handshake agreed on.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hecaton::{
    Attempt, Client, Config, Endpoint, Protocol, Proxy, Reactor, Request, TlsFacts, TlsVersion,
};
use hecaton_test_server::{ClosedPort, Http2, Options, TestServer, Tls};
use rustls::HandshakeKind;
use rustls::version::TLS12;

use crate::World;
use crate::proxies::{request, through};
use crate::proxy_server::{self, TlsFront, read_head};
use crate::tls::{Trusting, serve};
use crate::tls_server::{Authority, Server, keep_alive};

fn address(end: Option<&Endpoint>) -> SocketAddr {
    match end {
        Some(Endpoint::Ip(address)) => *address,
        other => panic!("no address: {other:?}"),
    }
}

fn tls(attempt: &Attempt) -> &TlsFacts {
    attempt.tls().expect("there was a handshake")
}

#[test]
fn an_attempt_names_both_ends_of_its_connection_and_attempts_on_one_connection_share_them() {
    let world = World::new();
    let responses = [world.get("/r/1"), world.get("/r/2")];
    let [first, second] = responses.each_ref().map(|response| &response.attempts()[0]);
    assert_eq!(address(first.peer()), world.server.address());
    let local = address(first.local());
    assert!(local.ip().is_loopback() && local.port() != 0);
    assert!(second.reused && first.tls().is_none());
    let (first, second) = (first.facts.as_ref(), second.facts.as_ref());
    assert!(Arc::ptr_eq(first.unwrap(), second.unwrap()));
}

#[test]
fn a_stream_and_an_error_name_both_ends_too() {
    let world = World::new();
    let stream = world.run(world.client.open(world.request("/bytes/1000")));
    let stream = stream.unwrap();
    assert_eq!(address(stream.attempts()[0].peer()), world.server.address());
    let error = world.send(world.request("/fault/close")).unwrap_err();
    let last = error.attempts().last().unwrap();
    assert_eq!(address(last.peer()), world.server.address());
}

#[test]
fn without_a_connection_there_is_no_peer() {
    let closed = ClosedPort::take().unwrap();
    let world = World::new();
    let error = world.send(Request::get(&format!("http://{}/", closed.address())).unwrap());
    let error = error.unwrap_err();
    assert_eq!(
        (error.attempts()[0].peer(), error.attempts()[0].local()),
        (None, None)
    );
}

#[test]
fn a_proxy_is_the_peer_even_if_it_refuses_to_connect() {
    let proxy = proxy_server::Proxy::http();
    let world = through("http", &proxy, |_| {});
    let response = world.send(request(&world, "/r/1")).unwrap();
    assert_eq!(address(response.attempts()[0].peer()).port(), proxy.port);

    let refusing = proxy_server::Proxy::start(|client, _| {
        read_head(client)?;
        client.write_all(b"HTTP/1.1 502 No\r\n\r\n")
    });
    let world = through("http", &refusing, |_| {});
    let error = world.send(Request::get("https://origin.invalid/").unwrap());
    let error = error.unwrap_err();
    assert_eq!(address(error.attempts()[0].peer()).port(), refusing.port);
}

#[test]
fn behind_a_proxy_with_tls_of_its_own_the_certificates_are_those_of_the_origin() {
    let authority = Authority::new();
    let identity = authority.sign(&["origin.invalid"]);
    let server = Server::start(identity.server_any(), keep_alive);
    let front = TlsFront::new(authority.sign(&["127.0.0.1"]).server_any());
    let mut config = Config::new(Duration::from_secs(60));
    config.ca = Some(authority.pem.as_str().into());
    config.proxy = Proxy::Url(format!("https://127.0.0.1:{}", front.port));
    let url = format!("https://origin.invalid:{}/", server.port);
    let client = Client::new(config);
    let sent = client.send(Request::get(&url).unwrap());
    let response = Reactor::new().unwrap().block_on(sent).unwrap();
    let attempt = &response.attempts()[0];
    assert_eq!(address(attempt.peer()).port(), front.port);
    assert_eq!(
        tls(attempt).certificates[..],
        [identity.certificate.to_vec()]
    );
}

#[test]
fn tls_names_version_cipher_protocol_and_certificates_on_each_attempt() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let server = serve(&identity);
    let trusting = Trusting::new(&authority);
    for reused in [false, true] {
        let response = trusting.get(&server.url()).unwrap();
        let attempt = &response.attempts()[0];
        assert_eq!(attempt.reused, reused);
        let facts = tls(attempt);
        assert_eq!(facts.version, "1.3");
        assert!(facts.cipher.starts_with("TLS_AES") || facts.cipher.starts_with("TLS_CHACHA20"));
        assert_eq!(facts.certificates[..], [identity.certificate.to_vec()]);
    }
    let older = Server::start(identity.server(&[&TLS12]), keep_alive);
    let older_client = Trusting::with(&authority, |config| config.tls_min = TlsVersion::Tls12);
    let response = older_client.get(&older.url()).unwrap();
    let facts = tls(&response.attempts()[0]);
    assert_eq!(facts.version, "1.2");
    assert!(facts.cipher.starts_with("TLS_ECDHE_"), "{}", facts.cipher);
}

#[test]
fn a_resumed_session_still_names_the_certificates_in_one_copy() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let server = Server::start(identity.server_any(), keep_alive);
    let trusting = Trusting::with(&authority, |config| config.idle_timeout = Duration::ZERO);
    let facts = [(); 3].map(|()| {
        let response = trusting.get(&server.url()).unwrap();
        tls(&response.attempts()[0]).clone()
    });
    assert!(
        server
            .seen()
            .iter()
            .any(|seen| seen.kind == Some(HandshakeKind::Resumed)),
        "none was resumed"
    );
    for one in &facts {
        assert_eq!(one.certificates[..], [identity.certificate.to_vec()]);
        assert!(Arc::ptr_eq(&one.certificates, &facts[0].certificates));
    }
}

#[test]
fn a_refused_certificate_leaves_the_peer_without_tls() {
    let authority = Authority::new();
    let server = serve(&authority.sign(&["localhost"]));
    let error = Trusting::new(&Authority::new())
        .get(&server.url())
        .unwrap_err();
    let attempt = &error.attempts()[0];
    assert_eq!(address(attempt.peer()).port(), server.port);
    assert!(attempt.tls().is_none());
}

#[test]
fn streams_of_one_http2_connection_share_its_facts() {
    let server = TestServer::start(Options {
        tls: Some(Tls::default()),
        http2: Some(Http2::default()),
        ..Options::default()
    })
    .unwrap();
    let mut config = Config::new(Duration::from_secs(60));
    config.ca = server.ca_pem().map(|pem| pem.into());
    config.proxy = Proxy::Off;
    config.http = Protocol::Auto;
    let (client, reactor) = (Client::new(config), Reactor::new().unwrap());
    let facts = ["/r/1", "/r/2"].map(|path| {
        let request = Request::get(&format!("{}{path}", server.base_url())).unwrap();
        let response = reactor.block_on(client.send(request)).unwrap();
        response.attempts()[0].facts.clone().unwrap()
    });
    assert_eq!(facts[0].tls.as_ref().unwrap().alpn.as_deref(), Some("h2"));
    assert_eq!(address(facts[0].peer.as_ref()), server.address());
    assert!(Arc::ptr_eq(&facts[0], &facts[1]));
}
