//! Proxies: in turn, of single hosts, and those that cannot be connected to or say nothing.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use hecaton_e2e::peer::{Peer, Requests, response};
use hecaton_test_server::{ClosedPort, Options};

use crate::own_settings::hosts;
use crate::support::{Ending, World, count};

/// A proxy that responds to all itself.
fn proxy() -> Peer {
    Peer::responding(|request| {
        assert!(request.text.starts_with("GET http://"), "{request:?}");
        response(200, "", "")
    })
}

#[test]
fn requests_take_proxies_in_turn_and_a_host_has_its_own() {
    let world = World::new();
    let proxies = [proxy(), proxy(), proxy()];
    let [first, second, third] = proxies.each_ref().map(|it| it.url(""));
    let urls = (0..20).map(|n| format!("http://a.test/{n}"));
    let urls = urls.chain((0..7).map(|n| format!("http://b.test/{n}")));
    let list = world.write("urls.txt", urls);
    let file = hosts(&world, &format!("[\"b.test\"]\nproxy = {third:?}\n"));
    let arguments = ["--proxy", &first, "--proxy", &second, "--hosts", &file];
    world.run(&list, &[&arguments[..], &["--threads", "1"]].concat());
    let got = proxies.each_ref().map(|it| it.requests().len());
    assert_eq!(got, [10, 10, 7]);
    assert!(world.records().values().all(|record| record["ok"] == true));
}

#[test]
fn a_request_that_a_dead_proxy_lost_is_tried_through_the_next() {
    let world = World::new();
    let proxy = proxy();
    let alive = proxy.url("");
    let urls = (0..2).map(|n| format!("http://a.test/{n}"));
    let list = world.write("urls.txt", urls);
    let arguments = ["--proxy", &alive, "--proxy", "http://127.0.0.1:1"];
    world.run(&list, &[&arguments[..], &["-c", "1"]].concat());
    let records = world.records();
    assert!(
        records.values().all(|record| record["ok"] == true),
        "{records:?}"
    );
    assert_eq!(proxy.requests().len(), 2);
    let attempts = records
        .values()
        .map(|record| record["attempts"].as_u64().unwrap());
    assert_eq!(attempts.sum::<u64>(), 3);
}

/// Every request succeeded, and the failures were those of a proxy and not of the host.
fn assert_taken_by_others(world: &World, ended: &Ending) {
    let records = world.records();
    assert!(
        records.values().all(|record| record["ok"] == true),
        "{records:?}"
    );
    assert!(!ended.stderr.contains("in a row"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("take the other proxies"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_dead_proxy_is_no_failure_of_the_host() {
    let world = World::new();
    let proxy = proxy();
    let alive = proxy.url("");
    let urls = (0..40).map(|n| format!("http://a.test/{n}"));
    let list = world.write("urls.txt", urls);
    let closed = ClosedPort::take().unwrap();
    let dead = format!("http://{}", closed.address());
    // One failure would open the breaker, and no try is left after the first.
    let limits = ["--breaker", "1", "--retries", "0", "--threads", "1"];
    let arguments = ["--proxy", &alive, "--proxy", &dead];
    let ended = world.run(&list, &[&arguments[..], &limits].concat());
    assert_taken_by_others(&world, &ended);
    assert_eq!(proxy.requests().len(), 40);
}

#[test]
fn a_host_whose_proxies_are_all_dead_is_down() {
    let world = World::new();
    let urls = (0..40).map(|n| format!("http://a.test/{n}"));
    let list = world.write("urls.txt", urls);
    let closed = [ClosedPort::take().unwrap(), ClosedPort::take().unwrap()];
    let [one, other] = closed
        .each_ref()
        .map(|port| format!("http://{}", port.address()));
    let arguments = ["--proxy", &one, "--proxy", &other];
    let limits = ["--breaker", "3", "--breaker-cooldown", "10ms"];
    let limits = [&limits[..], &["--wait-out", "100ms", "--retries", "0"]].concat();
    let ended = world.run_to(3, &list, &[&arguments[..], &limits].concat());
    assert!(ended.stderr.contains("in a row"), "{}", ended.stderr);
    let records = world.records();
    assert_eq!(records.len(), 40);
    assert!(count(&records, "unreached") > 0);
}

/// A proxy of tunnels, which never reaches hosts below `.invalid` and says so to nobody.
fn tunnel_proxy() -> Peer {
    Peer::playing(|client, _| tunnel(client).unwrap_or_default())
}

fn tunnel(mut client: &TcpStream) -> Option<()> {
    let head = client.head()?;
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?;
    if target.contains(".invalid:") {
        // Until the client gives up.
        return client.read(&mut [0]).ok().map(drop);
    }
    let mut server = TcpStream::connect(target).ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut to_server = server.try_clone().ok()?;
    let mut from_client = client.try_clone().ok()?;
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    std::io::copy(&mut server, &mut client).ok().map(drop)
}

/// A server over TLS, and the option that trusts it.
fn secure() -> (World, [String; 2]) {
    let world = World::with(Options {
        tls: Some(hecaton_test_server::Tls::default()),
        ..Options::default()
    });
    let pem = world.server.ca_pem().expect("it has TLS").to_owned();
    let authority = world.write("ca.pem", std::iter::once(pem));
    let authority = authority.to_str().unwrap().to_owned();
    (world, ["--ca".to_owned(), authority])
}

#[test]
fn a_proxy_that_says_nothing_is_no_failure_of_the_host() {
    let (world, [ca, authority]) = secure();
    let list = world.list(0..20);
    let peers = [tunnel_proxy(), Peer::mute()];
    let [tunnels, silent] = peers.each_ref().map(|it| it.url(""));
    // One failure would open the breaker, and no try is left after the first.
    let limits = [
        "--breaker",
        "1",
        "--retries",
        "0",
        "--threads",
        "1",
        "-c",
        "4",
    ];
    let proxies = ["--proxy", &tunnels, "--proxy", &silent, &ca, &authority];
    let patience = ["--connect-timeout", "5s"];
    let ended = world.run(&list, &[&proxies[..], &limits, &patience].concat());
    assert_taken_by_others(&world, &ended);
}

#[test]
fn a_host_that_no_proxy_reaches_is_down_and_the_proxies_are_well() {
    let (world, [ca, authority]) = secure();
    let base = world.server.base_url().to_owned();
    let up = (0..20).map(|n| format!("{base}/r/{n}"));
    let down = (0..4).map(|n| format!("https://nowhere.invalid/{n}"));
    let list = world.write("urls.txt", up.chain(down));
    let peers = [tunnel_proxy(), tunnel_proxy()];
    let [one, other] = peers.each_ref().map(|it| it.url(""));
    let proxies = ["--proxy", &one, "--proxy", &other, &ca, &authority];
    let limits = [
        "--retries",
        "0",
        "--threads",
        "1",
        "--connect-timeout",
        "2s",
    ];
    world.run(&list, &[&proxies[..], &limits].concat());
    let records = world.records();
    assert_eq!(count(&records, "response"), 20);
    let lost = records.range(20..).map(|(_, record)| record);
    let kinds: Vec<_> = lost.map(|record| &record["error"]["kind"]).collect();
    assert_eq!(kinds, ["timeout"; 4]);
}
