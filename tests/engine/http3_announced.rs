//! HTTP/3 to origins that announce it by `Alt-Svc`, and TCP when UDP does not work. No request is sent twice.

use std::io::Write;
use std::net::UdpSocket;
use std::sync::Mutex;
use std::time::Duration;

use hecaton::{Client, Config, Ending, Protocol, Proxy, Reactor, Request, Version};

use crate::http3_peer::{Peer, World3, respond_to_all};
use crate::tls_server::{Server, Session, read_whole_head};

/// A TLS server that responds to `/PORT` with the announcement of HTTP/3 on that port, and counts requests by the words
/// of their headers.
fn announcing(peer: &Peer) -> Server {
    let identity = peer.authority.sign(&["localhost"]);
    Server::start(identity.server_any(), announce)
}

/// The requests that came over TCP.
static OVER_TCP: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn announce(session: &mut Session) {
    loop {
        let head = read_whole_head(session);
        let Some(path) = head.split_whitespace().nth(1) else {
            return;
        };
        OVER_TCP.lock().unwrap().push(path.to_owned());
        let port = path.trim_start_matches('/').split('/').next().unwrap();
        let announced = match port {
            "none" => String::new(),
            "clear" => "alt-svc: clear\r\n".to_owned(),
            port => format!("alt-svc: h3=\":{port}\"; ma=60\r\n"),
        };
        let response = format!("HTTP/1.1 200 OK\r\n{announced}content-length: 2\r\n\r\nok");
        let written = session.write_all(response.as_bytes());
        if written.and_then(|()| session.flush()).is_err() {
            return;
        }
    }
}

fn world(peer: Peer) -> World3 {
    World3::of(peer, |config| config.http = Protocol::Any)
}

/// The version over which a request was responded to, in its only attempt.
fn version(world: &World3, url: &str) -> Version {
    let sent = world.send(Request::get(url).unwrap());
    let response = sent.unwrap();
    let attempts = response.attempts();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].ending, Ending::Status(200));
    attempts[0].version.unwrap()
}

#[test]
fn an_announced_service_is_used_by_the_next_request() {
    // On a busy machine QUIC may be so late that TCP is faster, but not each time.
    let is_used = (0..20).map(|_| {
        let peer = Peer::start();
        let server = announcing(&peer);
        let world = world(peer);
        let url = format!("https://localhost:{}/{}", server.port, world.peer.port);
        assert_eq!(version(&world, &url), Version::Http1);
        let second = version(&world, &url);
        (second == Version::Http3).then_some((world, url))
    });
    let (world, url) = { is_used }.find_map(|used| used).expect("HTTP/3");
    assert_eq!(version(&world, &url), Version::Http3);
    assert_eq!(world.peer.connections(), 1);
    let seen = OVER_TCP.lock().unwrap();
    let path = format!("/{}", world.peer.port);
    assert_eq!(seen.iter().filter(|one| **one == path).count(), 1);
}

#[test]
fn without_an_announcement_or_after_its_end_nothing_is_tried() {
    let peer = Peer::start();
    let server = announcing(&peer);
    let world = world(peer);
    let url = format!("https://localhost:{}", server.port);
    for path in ["/none", "/none", "/clear", "/none"] {
        assert_eq!(version(&world, &format!("{url}{path}")), Version::Http1);
    }
    assert_eq!(world.peer.connections(), 0);
}

#[test]
fn where_udp_does_not_work_tcp_serves_and_the_origin_is_left_alone() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap().port()
    };
    for port in [silent.local_addr().unwrap().port(), closed] {
        let peer = Peer::start();
        let server = announcing(&peer);
        let world = world(peer);
        let url = format!("https://localhost:{}/{port}/{}", server.port, server.port);
        let opened: Vec<u64> = (0..4)
            .map(|_| {
                assert_eq!(version(&world, &url), Version::Http1);
                world.client.stats().opened
            })
            .collect();
        // The second opens another connection, and the others use it.
        assert_eq!(opened, [1, 2, 2, 2]);
        let path = format!("/{port}/{}", server.port);
        let seen = OVER_TCP.lock().unwrap();
        assert_eq!(seen.iter().filter(|one| **one == path).count(), 4);
    }
}

#[test]
fn a_server_with_another_certificate_over_quic_is_not_used() {
    let other = Peer::start();
    let peer = Peer::start();
    let server = announcing(&peer);
    let world = world(peer);
    let url = format!("https://localhost:{}/{}", server.port, other.port);
    assert_eq!(version(&world, &url), Version::Http1);
    assert_eq!(version(&world, &url), Version::Http1);
    assert_eq!(other.connections(), 0);
}

#[test]
fn the_default_does_not_heed_announcements() {
    let peer = Peer::serve(respond_to_all);
    let server = announcing(&peer);
    let mut config = Config::new(Duration::from_secs(30));
    config.proxy = Proxy::Off;
    config.ca = Some(peer.authority.pem.as_str().into());
    let (client, reactor) = (Client::new(config), Reactor::new().unwrap());
    let url = format!("https://localhost:{}/{}", server.port, peer.port);
    for _ in 0..3 {
        let response = reactor.block_on(client.send(Request::get(&url).unwrap()));
        assert_eq!(
            response.unwrap().attempts()[0].version,
            Some(Version::Http1)
        );
    }
    assert_eq!(peer.connections(), 0);
}
