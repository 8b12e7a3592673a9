//! QUIC beneath HTTP/3: packets of the handshake, resets, and ways that end.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hecaton::{Batch, Config, Ending, Kind, Outcome, Phase, Reason, Request};
use quinn::{ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout, VarInt};
use ring::hmac::{HMAC_SHA256, Key};
use ring::rand::{SecureRandom, SystemRandom};

use crate::http2_faults::endings;
use crate::http3_peer::{Peer, Seen, Setup, World3, frame, ok, respond_to_all, wait_for};
use crate::lossy::Lossy;
use crate::tls_server::Authority;

fn address(peer: &Peer) -> SocketAddr {
    ([127, 0, 0, 1], peer.port).into()
}

/// A request that goes along the way.
fn along(way: &Lossy, method: &str, path: &str) -> Request {
    Request::new(method, &format!("https://{}{path}", way.address)).unwrap()
}

/// A server for which a connection is over after this time without a datagram.
fn impatient(silence: Duration) -> Peer {
    let silence = IdleTimeout::try_from(silence).unwrap();
    let change = |transport: &mut quinn::TransportConfig| {
        transport.max_idle_timeout(Some(silence));
    };
    Peer::with(change, respond_to_all)
}

#[test]
fn a_retry_packet_is_followed() {
    let mut setup = Setup::new();
    setup.retries = true;
    let world = World3::of(setup.serve(respond_to_all), |_| {});
    let request = world.request("POST", "/upload").body(vec![0; 100_000]);
    let outcome = world.send(request);
    assert_eq!(endings(&outcome), [Ending::Status(200)]);
    assert_eq!(&outcome.unwrap().body()[..], b"100000");
    assert_eq!(world.peer.connections(), 1);
}

#[test]
fn lost_packets_of_the_handshake_are_sent_again() {
    for count in 1..=3 {
        let patient = |config: &mut Config| config.connect_timeout = config.timeout;
        let world = World3::of(Peer::start(), patient);
        let way = Lossy::without_losses(address(&world.peer));
        way.lose(count);
        let outcome = world.send(along(&way, "POST", "/"));
        assert_eq!(endings(&outcome), [Ending::Status(200)], "{count}");
        assert_eq!(world.peer.connections(), 1);
        assert_eq!(way.stop().lost, count as u64);
    }
}

/// A server that replies to the first packet with the versions that it supports (RFC 9000 §17.2.1), and to no other.
fn of_versions(versions: &'static [u32]) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut packet = [0; 1500];
        let (_, client) = socket.recv_from(&mut packet).unwrap();
        let (theirs, rest) = connection_id(&packet[5..]);
        let (ours, _) = connection_id(rest);
        let versions = versions.iter().flat_map(|version| version.to_be_bytes());
        let versions: Vec<u8> = versions.collect();
        let reply = [&[0x80, 0, 0, 0, 0][..], ours, theirs, &versions].concat();
        socket.send_to(&reply, client).unwrap();
        // Otherwise the system would report that nobody listens.
        while socket.recv_from(&mut packet).is_ok() {}
    });
    address
}

/// The identifier of a connection with its length, and what follows.
fn connection_id(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(1 + usize::from(bytes[0]))
}

#[test]
fn a_server_without_a_common_version_of_quic_is_refused_at_once() {
    let world = World3::new();
    let url = format!("https://{}/", of_versions(&[0x1a2a_3a4a]));
    let error = world.send(Request::get(&url).unwrap()).unwrap_err();
    // As over TCP, where the handshake of TLS agrees on versions.
    assert_eq!((error.kind(), error.phase()), (Kind::Tls, Phase::Tls));
    assert!(!error.sent());
}

#[test]
fn a_list_of_versions_that_has_the_one_in_use_means_nothing() {
    let limit = Duration::from_millis(300);
    let world = World3::of(Peer::start(), |config| config.connect_timeout = limit);
    let url = format!("https://{}/", of_versions(&[0x1a2a_3a4a, 1]));
    let error = world.send(Request::get(&url).unwrap()).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Timeout, Phase::Connect)
    );
}

/// Makes identifiers of connections that say nothing, so that a server resets those that it does not know.
struct Random;

impl ConnectionIdGenerator for Random {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; 8];
        SystemRandom::new().fill(&mut bytes).unwrap();
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[test]
fn a_stateless_reset_ends_the_connection_and_only_safe_requests_are_resent() {
    // As a server that has restarted: the key for resets is the same, and all connections are forgotten.
    let key = Key::new(HMAC_SHA256, &[7; 32]);
    let mut endpoint = EndpointConfig::new(Arc::new(key));
    endpoint.cid_generator(|| Box::new(Random));
    for method in ["GET", "POST"] {
        let mut before = Setup::new();
        let mut after = Setup::of(Authority::new(), before.tls.clone());
        before.endpoint = endpoint.clone();
        after.endpoint = endpoint.clone();
        let (before, after) = (before.serve(respond_to_all), after.serve(respond_to_all));
        let way = Lossy::without_losses(address(&before));
        let world = World3::of(before, |_| {});
        world.send(along(&way, "GET", "/")).unwrap();
        way.lead_to(address(&after));
        let outcome = world.send(along(&way, method, "/"));
        // An acknowledgement that leaves late may bring the reset before the request, which then has a new connection.
        let resent = endings(&outcome).contains(&Ending::Resent);
        match outcome {
            Ok(response) => assert_eq!((response.status(), after.connections()), (200, 1)),
            Err(error) => {
                assert_eq!(method, "POST", "{error}");
                assert_eq!(error.reason(), Some(Reason::ConnectionClosed));
                assert!(error.sent() && after.connections() == 0);
            }
        }
        assert!(!resent || method == "GET");
    }
}

/// A datagram that arrived before the end may be read after it, and is then a sign of life for one request more. A new
/// connection has one more request's time than the one before.
#[test]
fn a_way_that_ended_is_left_after_a_request_that_heard_nothing() {
    let world = World3::new();
    let way = Lossy::without_losses(address(&world.peer));
    world.send(along(&way, "GET", "/")).unwrap();
    way.end_for_all();
    let send = |number: u64| {
        let limit = Duration::from_millis(300 * number);
        world.send(along(&way, "POST", "/").timeout(limit))
    };
    let error = send(1).unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
    let outcome = (2..10).map(send).find(Result::is_ok);
    assert_eq!(outcome.map(|outcome| outcome.unwrap().status()), Some(200));
    assert!(world.peer.connections() > 1);
}

#[test]
fn a_server_that_vanishes_within_a_response_ends_it_before_its_limit() {
    let begun: Seen<()> = Arc::default();
    let says = begun.clone();
    let silence = IdleTimeout::from(VarInt::from_u32(5000));
    let peer = Peer::with(
        |transport| {
            transport.max_idle_timeout(Some(silence));
        },
        move |raw, _| {
            let says = says.clone();
            async move {
                let mut stream = raw.request().await.unwrap();
                stream.write(&[ok(&[]), frame(0, b"part")].concat()).await;
                says.lock().unwrap().push(());
                raw.closed().await;
            }
        },
    );
    let way = Lossy::without_losses(address(&peer));
    let world = World3::of(peer, |_| {});
    let mut batch = Batch::new(world.client.clone(), 1);
    // The sent part of the response may arrive late. A GET would then be sent again, a POST is not.
    batch.push((), along(&way, "POST", "/"));
    let mut outcomes: Vec<((), Outcome)> = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            wait_for(&begun, 1);
            way.end_for_all();
        });
        while !batch.is_empty() {
            world.reactor.block_on(batch.wait(&mut outcomes));
        }
    });
    let error = outcomes.pop().unwrap().1.unwrap_err();
    assert_ne!(error.kind(), Kind::Timeout, "{error}");
    assert_eq!(endings(&Err(error)), [Ending::Failed]);
}

#[test]
fn a_connection_that_was_silent_for_too_long_is_not_used() {
    let world = World3::of(impatient(Duration::from_secs(1)), |_| {});
    world.get("/").unwrap();
    thread::sleep(Duration::from_secs(3));
    let outcome = world.send(world.request("POST", "/"));
    assert_eq!(endings(&outcome), [Ending::Status(200)]);
    assert_eq!(world.peer.connections(), 2);
}

/// The client shows every ten seconds that it is alive, so a server that ends silent connections keeps this one.
#[test]
fn a_connection_stays_open_while_a_request_waits_for_long() {
    let world = World3::of(impatient(Duration::from_secs(18)), |_| {});
    assert_eq!(world.get("/delay/20000").unwrap().status(), 200);
    assert_eq!(world.peer.connections(), 1);
}

#[test]
fn a_wait_for_a_stream_has_the_limit_of_waiting() {
    let one = |transport: &mut quinn::TransportConfig| {
        transport.max_concurrent_bidi_streams(VarInt::from_u32(1));
    };
    let world = World3::of(Peer::with(one, respond_to_all), |config| {
        config.per_origin = Some(1);
        config.queue_timeout = Some(Duration::from_millis(200));
    });
    assert!(world.get("/").is_ok());
    let mut batch = Batch::new(world.client.clone(), 2);
    batch.push(0, world.request("GET", "/stall"));
    batch.push(1, world.request("GET", "/"));
    let mut outcomes = Vec::new();
    world.reactor.block_on(batch.wait(&mut outcomes));
    let (tag, outcome) = &outcomes[0];
    let error = outcome.as_ref().unwrap_err();
    assert_eq!(
        (*tag, error.kind(), error.phase(), error.sent()),
        (1, Kind::Timeout, Phase::Queue, false)
    );
}
