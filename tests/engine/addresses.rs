//! A name with several addresses: all are tried, unreachable ones hold no request up, and errors name them.

use std::collections::{BTreeSet, HashSet};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::thread;
use std::time::Duration;

use hecaton::{Addresses, Client, Config, Kind, Outcome, Phase, Reactor, Request};
use hecaton_test_server::ClosedPort;
use socket2::{Domain, Socket, Type};

use crate::{World, json, until, with_growing};

/// An address that does not respond: a socket listens there, but its queue is full.
pub struct Lost {
    sockets: Vec<Socket>,
}

impl Lost {
    pub fn at(address: SocketAddr) -> Lost {
        let socket = || Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let listener = socket();
        // Connections of earlier tests may still wait for their end on this port.
        listener.set_reuse_address(true).unwrap();
        listener.bind(&address.into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut sockets = vec![listener];
        for _ in 0..4 {
            let filler = socket();
            filler.set_nonblocking(true).unwrap();
            let _ = filler.connect(&address);
            sockets.push(filler);
        }
        Lost { sockets }
    }

    /// The URL of its root, if it is alone on its port.
    pub fn url(&self) -> String {
        let address = self.sockets[0].local_addr().unwrap();
        format!("http://{}/", address.as_socket().unwrap())
    }

    /// Accepts connections once somebody more tries to reach it, and responds on each.
    pub fn recover_when_reached_for(self) {
        let address = self.sockets[0].local_addr().unwrap();
        let address = address.as_socket().unwrap();
        let before = reaching_for(address);
        thread::spawn(move || {
            until(|| !reaching_for(address).is_subset(&before));
            while let Ok((mut stream, _)) = self.sockets[0].accept() {
                thread::spawn(move || {
                    let _ = stream.read(&mut [0; 4096]);
                    let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
                });
            }
        });
    }
}

/// A GET of `many.example` on this port, which has these addresses.
pub fn get(port: u16, addresses: &[&str], change: impl FnOnce(&mut Config)) -> Outcome {
    let mut config = Config::new(Duration::from_secs(60));
    let mut known = Addresses::default();
    known
        .add(&format!("Many.example:{port}"), addresses)
        .unwrap();
    config.resolve = known;
    change(&mut config);
    let request = Request::get(&format!("http://many.example:{port}/echo")).unwrap();
    let reactor = Reactor::new().unwrap();
    reactor.block_on(Client::new(config).send(request))
}

pub fn port(world: &World) -> u16 {
    let url = world.server.base_url();
    url.rsplit(':').next().unwrap().parse().unwrap()
}

#[test]
fn an_address_that_is_known_is_not_looked_up_and_the_host_stays_that_of_the_url() {
    let world = World::new();
    let response = get(port(&world), &["127.0.0.1"], |_| {}).unwrap();
    let host = format!("many.example:{}", port(&world));
    assert!(json(&response).to_string().contains(&host));
}

#[test]
fn an_address_that_does_not_respond_has_a_head_start_of_250_ms_and_no_more() {
    let world = World::new();
    let _lost = Lost::at(SocketAddr::from(([127, 0, 0, 2], port(&world))));
    let response = get(port(&world), &["127.0.0.2", "127.0.0.1"], |config| {
        config.connect_timeout = Duration::from_secs(9);
    });
    let took = response.unwrap().attempts()[0].connect_time.unwrap();
    // TCP repeats its attempt at the lost address after a second, and still gets no response.
    assert!(
        took >= Duration::from_millis(245) && took < Duration::from_secs(8),
        "{took:?}"
    );
}

/// The sockets of this process that try to reach this address, by their inodes: the kernel lists them in state 02,
/// SYN_SENT.
fn reaching_for(address: SocketAddr) -> BTreeSet<String> {
    let SocketAddr::V4(four) = address else {
        return BTreeSet::new();
    };
    let octets = u32::from_le_bytes(four.ip().octets());
    let remote = format!("{octets:08X}:{:04X}", four.port());
    let own: HashSet<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    let inode = |line: &str| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let reaches = columns[2] == remote && columns[3] == "02";
        (reaches && own.contains(&format!("socket:[{}]", columns[9])))
            .then(|| columns[9].to_string())
    };
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().filter_map(inode).collect()
}

#[test]
fn the_sockets_that_lost_are_closed_while_the_client_lives_on() {
    let world = World::new();
    let nowhere = SocketAddr::from(([127, 0, 0, 2], port(&world)));
    let _lost = Lost::at(nowhere);
    let before = reaching_for(nowhere);
    for (limit, kind) in [(9000, None), (350, Some(Kind::Timeout))] {
        let mut config = Config::new(Duration::from_secs(60));
        let host = format!("many.example:{}", port(&world));
        let winner = if kind.is_none() {
            "127.0.0.1"
        } else {
            "127.0.0.2"
        };
        config.resolve.add(&host, &["127.0.0.2", winner]).unwrap();
        config.connect_timeout = Duration::from_millis(limit);
        let client = Client::new(config);
        let mut is_tried = false;
        let outcome = world.run(async {
            let request = Request::get(&format!("http://{host}/r/1")).unwrap();
            let mut sending = pin!(client.send(request));
            loop {
                let turn = tokio::time::timeout(Duration::from_millis(5), sending.as_mut());
                let ended = turn.await;
                is_tried |= reaching_for(nowhere) != before;
                if let Ok(outcome) = ended {
                    return outcome;
                }
            }
        });
        assert!(is_tried, "the first address is tried first");
        assert_eq!(outcome.err().map(|error| error.kind()), kind);
        // Only the connection to the winner stays open.
        assert_eq!(client.idle_connections(), usize::from(kind.is_none()));
        assert_eq!(reaching_for(nowhere), before);
    }
}

#[test]
fn addresses_that_refuse_are_passed_over_at_once() {
    let world = World::new();
    let mut all: Vec<String> = (10..40).map(|n| format!("127.0.0.{n}")).collect();
    all.push("127.0.0.1".into());
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    // Thirty head starts would take seven seconds.
    assert_eq!(get(port(&world), &all, |_| {}).unwrap().status(), 200);
}

#[test]
fn an_error_names_every_address_that_was_tried() {
    let closed = ClosedPort::take().unwrap();
    let port = closed.address().port();
    let error = get(port, &["127.0.0.1", "127.0.0.2"], |_| {}).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Connect, Phase::Connect, false)
    );
    let message = error.to_string();
    for word in ["many.example", "127.0.0.1 (", "127.0.0.2 (", "refused"] {
        assert!(message.contains(word), "no {word:?} in: {message}");
    }
}

#[test]
fn the_connect_timeout_covers_all_addresses_and_its_error_names_them() {
    let world = World::new();
    let lost = |last: u8| Lost::at(SocketAddr::from(([127, 0, 0, last], port(&world))));
    let _both = [lost(2), lost(3)];
    with_growing(Duration::from_millis(600), |limit| {
        let error = get(port(&world), &["127.0.0.2", "127.0.0.3"], |config| {
            config.connect_timeout = limit;
        });
        let error = error.unwrap_err();
        assert_eq!(
            (error.kind(), error.phase()),
            (Kind::Timeout, Phase::Connect)
        );
        let said = error.to_string();
        said.contains("tried 127.0.0.2, 127.0.0.3").then_some(())
    });
}

#[test]
fn addresses_that_can_not_be_used_are_refused() {
    let mut known = Addresses::default();
    for (host, addresses) in [
        ("host", &["127.0.0.1"][..]),
        ("host:0x", &["127.0.0.1"]),
        (":80", &["127.0.0.1"]),
        ("host:80", &["localhost"]),
        ("host:80", &[]),
    ] {
        let error = known.add(host, addresses).unwrap_err().to_string();
        assert!(error.starts_with("resolve: "), "{error}");
    }
    assert_eq!(known, Addresses::default());
}

#[test]
fn localhost_and_names_under_it_are_loopback_whatever_the_system_says() {
    let world = World::new();
    for host in ["localhost", "shop.localhost", "a.b.LocalHost."] {
        let url = format!("http://{host}:{}/r/1", port(&world));
        let response = world.send(Request::get(&url).unwrap());
        assert_eq!(response.expect(host).status(), 200);
    }
    let host = format!("shop.localhost:{}", port(&world));
    let elsewhere = World::with(|config| config.resolve.add(&host, &["127.0.0.9"]).unwrap());
    let request = Request::get(&format!("http://{host}/")).unwrap();
    let error = elsewhere.send(request).unwrap_err().to_string();
    assert!(
        error.contains("127.0.0.9 (") && !error.contains("127.0.0.1"),
        "{error}"
    );
}
