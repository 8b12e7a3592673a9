//! HTTP/3: many requests share one connection, and all promises of HTTP/1.1 and HTTP/2 hold.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hecaton::{Client, Config, Endpoint, Kind, Phase, Protocol, Proxy, Reactor, Request, Version};

use crate::http3_peer::{
    HEADERS, NO_ERROR, Peer, REQUEST_CANCELLED, Seen, World3, field, frame, ok, respond_to_all,
    wait_for,
};
use crate::{until, with_growing};

#[test]
fn a_request_and_its_response() {
    let world = World3::new();
    let response = world.get("/anything?a=b").unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(&response.body()[..], b"ok");
    assert_eq!(
        response.header_block(),
        b"x-route: anything?a=b\r\ncontent-length: 2\r\n"
    );
    let attempt = &response.attempts()[0];
    assert_eq!(
        (attempt.version, attempt.sent, attempt.reused),
        (Some(Version::Http3), true, false)
    );
    assert!(
        attempt.connect_time.is_some()
            && attempt.send_time.is_some()
            && attempt.first_byte_time.is_some()
            && attempt.read_time.is_some()
    );
    let tls = attempt.tls().unwrap();
    assert_eq!((tls.version, tls.alpn.as_deref()), ("1.3", Some("h3")));
    assert_eq!(tls.certificates.len(), 1);
    match (attempt.peer(), attempt.local()) {
        (Some(Endpoint::Ip(peer)), Some(Endpoint::Ip(_))) => {
            assert_eq!(peer.port(), world.peer.port)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_share_one_connection_and_run_at_once() {
    let world = World3::new();
    let outcomes = world.batch(200, 50, "GET", "/delay/5");
    let ok = |outcome: &hecaton::Outcome| outcome.as_ref().unwrap().status() == 200;
    assert!(outcomes.iter().all(ok));
    assert_eq!(world.peer.connections(), 1);
    let first = |o: &hecaton::Outcome| !o.as_ref().unwrap().attempts()[0].reused;
    assert_eq!(outcomes.iter().filter(|outcome| first(outcome)).count(), 1);
    assert_eq!(world.client.idle_connections(), 1);
}

#[test]
fn another_connection_is_opened_when_the_server_allows_no_more_streams() {
    let peer = Peer::with(
        |transport| {
            transport.max_concurrent_bidi_streams(2_u32.into());
        },
        respond_to_all,
    );
    let world = World3::of(peer, |_| {});
    let outcomes = world.batch(20, 20, "GET", "/delay/20");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert!(world.peer.connections() > 1);
    let world = World3::of(
        Peer::with(
            |transport| {
                transport.max_concurrent_bidi_streams(2_u32.into());
            },
            respond_to_all,
        ),
        |config| config.per_origin = Some(1),
    );
    let outcomes = world.batch(20, 20, "GET", "/delay/2");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(world.peer.connections(), 1);
}

#[test]
fn a_server_that_allows_the_next_streams_late_gets_no_other_connection() {
    let peer = Peer::with(
        |transport| {
            transport.max_concurrent_bidi_streams(3_u32.into());
        },
        respond_to_all,
    );
    let world = World3::of(peer, |_| {});
    let outcomes = world.batch(300, 2, "GET", "/");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(world.peer.connections(), 1);
}

#[test]
fn bodies_of_all_sizes_come_and_go() {
    let world = World3::new();
    for size in [0, 1, 100, 1_200, 65_536, 3_000_000] {
        let response = world.get(&format!("/bytes/{size}")).unwrap();
        assert_eq!(response.body().len(), size);
        let request = world.request("POST", "/upload").body(vec![b'x'; size]);
        let response = world.send(request).unwrap();
        assert_eq!(&response.body()[..], size.to_string().as_bytes());
    }
    assert_eq!(world.peer.connections(), 1);
}

#[test]
fn trailers_and_interim_responses_and_heads_are_read() {
    let world = World3::new();
    let response = world.get("/trailers").unwrap();
    assert_eq!(&response.body()[..], b"body");
    assert_eq!(response.trailer_block(), b"x-trailer: 1\r\n");
    assert_eq!(&world.get("/early").unwrap().body()[..], b"ok");
    assert_eq!(world.get("/status/204").unwrap().status(), 204);
    let peer = Peer::serve(|raw, _| async move {
        while let Some(mut stream) = raw.request().await {
            stream.end_with(&ok(&field("content-length", "5"))).await;
        }
    });
    let world = World3::of(peer, |_| {});
    let response = world.send(world.request("HEAD", "/")).unwrap();
    assert_eq!(response.header("content-length"), Some(&b"5"[..]));
}

#[test]
fn the_body_waits_for_100_continue_and_stays_here_after_a_refusal() {
    let seen: Seen<usize> = Arc::default();
    let bodies = seen.clone();
    let peer = Peer::serve(move |raw, _| {
        let bodies = bodies.clone();
        async move {
            let mut stream = raw.request().await.unwrap();
            // `:status: 100`.
            stream.write(&frame(HEADERS, &[0, 0, 0xff, 0])).await;
            let body = stream.frame().await.unwrap().1;
            bodies.lock().unwrap().push(body.len());
            stream.respond(b"ok").await;
            let mut stream = raw.request().await.unwrap();
            // `:status: 403`.
            stream.end_with(&frame(HEADERS, &[0, 0, 0xff, 5])).await;
            let body = stream.frame().await.map_or(0, |(_, body)| body.len());
            bodies.lock().unwrap().push(body);
            raw.closed().await;
        }
    });
    let world = World3::of(peer, |config| {
        config.expect_timeout = Duration::from_secs(20)
    });
    let request = || {
        let request = world.request("POST", "/").body("abc");
        request.header("expect", b"100-continue").unwrap()
    };
    assert_eq!(world.send(request()).unwrap().status(), 200);
    assert_eq!(world.send(request()).unwrap().status(), 403);
    assert_eq!(wait_for(&seen, 2), [3, 0]);
}

#[test]
fn a_request_that_is_given_up_is_cancelled_on_both_sides_and_the_others_continue() {
    let seen: Seen<Option<u64>> = Arc::default();
    let codes = seen.clone();
    let peer = Peer::serve(move |raw, _| {
        let codes = codes.clone();
        async move {
            while let Some(mut stream) = raw.request().await {
                let codes = codes.clone();
                if stream.path() != "/stall" {
                    tokio::spawn(async move { stream.respond(b"ok").await });
                    continue;
                }
                tokio::spawn(async move {
                    let code = stream.stopped().await;
                    codes.lock().unwrap().push(code);
                    let reset = stream.recv.received_reset().await;
                    let code = reset.ok().flatten().map(quinn::VarInt::into_inner);
                    codes.lock().unwrap().push(code);
                });
            }
        }
    });
    let world = World3::of(peer, |_| {});
    let mut sent = 0;
    with_growing(Duration::from_millis(300), |limit| {
        let request = world.request("POST", "/stall").body_from(Never, None);
        let error = world.send(request.timeout(limit)).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
        sent += usize::from(error.sent());
        error.sent().then_some(())
    });
    assert!(world.get("/").is_ok());
    let cancelled = Some(u64::from(REQUEST_CANCELLED));
    assert_eq!(wait_for(&seen, 2 * sent), vec![cancelled; 2 * sent]);
    assert_eq!(world.peer.connections(), 1);
}

/// A body that never continues.
struct Never;

impl hecaton::Source for Never {
    fn poll_piece(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<Bytes>>> {
        std::task::Poll::Pending
    }
}

#[test]
fn each_limit_ends_its_phase() {
    let limit = Duration::from_millis(50);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", silent.local_addr().unwrap());
    for (phase, set) in [
        (
            Phase::Connect,
            (|c, l| c.connect_timeout = l) as fn(&mut Config, Duration),
        ),
        (Phase::Tls, |c, l| c.tls_timeout = Some(l)),
        (Phase::Total, |c, l| c.timeout = l),
    ] {
        let world = World3::of(Peer::start(), |config| set(config, limit));
        let error = world.send(Request::get(&url).unwrap()).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Timeout, phase));
        assert!(!error.sent());
    }
    with_growing(Duration::from_millis(200), |limit| {
        let world = World3::of(Peer::start(), |config| {
            config.first_byte_timeout = Some(limit);
        });
        let error = world.get("/stall").unwrap_err();
        assert_eq!(
            (error.kind(), error.phase()),
            (Kind::Timeout, Phase::FirstByte)
        );
        assert!(error.sent());
        let next = world.get("/");
        assert_eq!(world.peer.connections(), 1);
        let is_late = next
            .as_ref()
            .is_err_and(|error| error.kind() == Kind::Timeout);
        (!is_late).then(|| next.unwrap())
    });
    let peer = Peer::serve(|raw, _| async move {
        let mut stream = raw.request().await.unwrap();
        stream.write(&ok(&[])).await;
        raw.closed().await;
    });
    let world = World3::of(peer, |config| {
        config.read_timeout = Some(Duration::from_millis(200))
    });
    let error = world.get("/").unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Read));
    let peer = Peer::with(
        |transport| {
            transport.stream_receive_window(1000_u32.into());
        },
        |raw, _| async move {
            raw.closed().await;
        },
    );
    let world = World3::of(peer, |config| {
        config.send_timeout = Some(Duration::from_millis(200))
    });
    // More than what is taken before the server acknowledges it.
    let request = world.request("POST", "/").body(vec![0; 8 << 20]);
    let error = world.send(request).unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Send));
}

#[test]
fn a_body_that_is_too_large_is_not_read() {
    let world = World3::of(Peer::start(), |config| config.max_body = 999);
    assert_eq!(world.get("/bytes/1000").unwrap_err().kind(), Kind::Body);
    assert_eq!(world.get("/bytes/999").unwrap().body().len(), 999);
    assert_eq!(world.peer.connections(), 1);
}

#[test]
fn an_idle_connection_is_closed_with_a_word() {
    let seen: Seen<Option<u64>> = Arc::default();
    let codes = seen.clone();
    let peer = Peer::serve(move |raw, _| {
        let codes = codes.clone();
        async move {
            let mut stream = raw.request().await.unwrap();
            stream.respond(b"ok").await;
            let code = raw.closed().await;
            codes.lock().unwrap().push(code);
        }
    });
    let world = World3::of(peer, |_| {});
    world.get("/").unwrap();
    assert_eq!(world.client.idle_connections(), 1);
    world.client.close_idle();
    assert_eq!(world.client.idle_connections(), 0);
    // No thread waits: the keeper drives.
    assert_eq!(wait_for(&seen, 1), [Some(u64::from(NO_ERROR))]);
    let world = World3::of(world.peer, |config| {
        config.idle_timeout = Duration::from_millis(300)
    });
    world.get("/").unwrap();
    assert_eq!(wait_for(&seen, 2).len(), 2);
    until(|| world.client.idle_connections() == 0);
}

#[test]
fn what_http3_cannot_do_is_refused_with_a_sentence() {
    let refused = |change: fn(&mut Config)| {
        let mut config = Config::new(Duration::from_secs(1));
        config.http = Protocol::Http3;
        change(&mut config);
        Client::try_new(config).err().unwrap().to_string()
    };
    let why = refused(|config| config.unix_socket = Some("/tmp/socket".into()));
    assert!(why.contains("Unix socket"), "{why}");
    let why = refused(|config| config.proxy = Proxy::Url("http://127.0.0.1:1".into()));
    assert!(why.contains("proxy"), "{why}");
    let world = World3::new();
    let plain = Request::get("http://localhost:1/").unwrap();
    let error = world.send(plain).unwrap_err();
    assert_eq!(error.kind(), Kind::Connect);
    assert!(error.to_string().contains("https"), "{error}");
}

#[test]
fn a_port_where_nobody_listens_is_known_at_once() {
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", free.local_addr().unwrap());
    drop(free);
    let world = World3::of(Peer::start(), |config| {
        config.connect_timeout = Duration::from_secs(20)
    });
    let error = world.send(Request::get(&url).unwrap()).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Connect, Phase::Connect)
    );
    assert_eq!(error.reason(), Some(hecaton::Reason::ConnectionRefused));
}

#[test]
fn addresses_are_checked_and_chosen_as_over_tcp() {
    let world = World3::of(Peer::start(), |config| {
        config.allow_address = hecaton::AllowAddress::Public
    });
    let error = world.get("/").unwrap_err();
    assert_eq!(error.reason(), Some(hecaton::Reason::AddressForbidden));
    let world = World3::of(Peer::start(), |config| {
        config.local_address = Some("127.0.0.5".parse().unwrap())
    });
    let response = world.get("/").unwrap();
    match response.attempts()[0].local() {
        Some(Endpoint::Ip(local)) => assert_eq!(local.ip().to_string(), "127.0.0.5"),
        other => panic!("{other:?}"),
    }
    let url = format!("https://127.0.0.1:{}/", world.peer.port);
    assert!(
        world.send(Request::get(&url).unwrap()).is_ok(),
        "an IP address"
    );
}

#[test]
fn a_stream_is_read_piece_by_piece() {
    let world = World3::new();
    let mut streaming = world
        .reactor
        .block_on(world.client.open(world.request("GET", "/bytes/200000")))
        .unwrap();
    let mut received = 0;
    while let Some(piece) = world.reactor.block_on(streaming.chunk()).unwrap() {
        received += piece.len();
    }
    assert_eq!(received, 200_000);
}

#[test]
fn other_threads_share_the_connection() {
    let world = World3::new();
    world.get("/").unwrap();
    let failed: Mutex<Vec<String>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    if let Err(error) = world.get("/delay/1") {
                        failed.lock().unwrap().push(error.to_string());
                    }
                }
            });
        }
    });
    assert_eq!(*failed.lock().unwrap(), [""; 0]);
    assert_eq!(world.peer.connections(), 1);
}

/// The UDP sockets of this process, by the system's list.
#[cfg(target_os = "linux")]
fn udp_sockets() -> usize {
    let is_udp = |entry: &std::fs::DirEntry| {
        let Ok(link) = std::fs::read_link(entry.path()) else {
            return false;
        };
        let link = link.to_string_lossy().into_owned();
        let inode = link
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'));
        inode.is_some_and(|inode| {
            let udp = std::fs::read_to_string("/proc/self/net/udp").unwrap();
            let udp6 = std::fs::read_to_string("/proc/self/net/udp6").unwrap_or_default();
            let ends = |line: &str| line.split_whitespace().nth(9) == Some(inode);
            udp.lines().chain(udp6.lines()).any(ends)
        })
    };
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    all.filter_map(Result::ok).filter(is_udp).count()
}

/// Runs in a process of its own, because other tests have UDP sockets.
#[test]
#[cfg(target_os = "linux")]
fn a_client_without_http3_opens_no_udp_socket() {
    use fork::{Fork, fork, waitpid};
    let world = crate::World::new();
    match fork().unwrap() {
        Fork::Child => {
            hecaton::forget_inherited();
            let before = udp_sockets();
            let mut config = Config::new(Duration::from_secs(10));
            config.proxy = Proxy::Off;
            let (client, reactor) = (Client::new(config), Reactor::new().unwrap());
            let request = Request::get(&format!("{}/r/1", world.server.base_url())).unwrap();
            let done = reactor.block_on(client.send(request)).is_ok();
            let code = i32::from(!(done && udp_sockets() == before));
            std::process::exit(code);
        }
        Fork::Parent(child) => {
            let status = waitpid(child).unwrap();
            assert_eq!(status, 0, "a request succeeds without a UDP socket");
        }
    }
}
