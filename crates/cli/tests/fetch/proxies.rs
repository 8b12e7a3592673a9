//! Proxies: in turn, of single hosts, and those that cannot be connected to or say nothing.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hecaton_test_server::{ClosedPort, Options};

use crate::own_settings::hosts;
use crate::support::{Ending, World, count};

/// A proxy that responds to all itself; its URL, and how many requests it got.
fn proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count: Arc<AtomicUsize> = Arc::default();
    let counted = count.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let counted = counted.clone();
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap())
                    .lines()
                    .map_while(Result::ok);
                while let Some(first) = lines.next() {
                    while lines.next().is_some_and(|line| !line.is_empty()) {}
                    assert!(first.starts_with("GET http://"), "{first}");
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                }
            });
        }
    });
    (url, count)
}

#[test]
fn requests_take_proxies_in_turn_and_a_host_has_its_own() {
    let world = World::new();
    let ((first, firsts), (second, seconds), (third, thirds)) = (proxy(), proxy(), proxy());
    let urls = (0..20).map(|n| format!("http://a.test/{n}"));
    let urls = urls.chain((0..7).map(|n| format!("http://b.test/{n}")));
    let list = world.write("urls.txt", urls);
    let file = hosts(&world, &format!("[\"b.test\"]\nproxy = {third:?}\n"));
    let arguments = ["--proxy", &first, "--proxy", &second, "--hosts", &file];
    world.run(&list, &[&arguments[..], &["--threads", "1"]].concat());
    let got = |of: &AtomicUsize| of.load(Ordering::SeqCst);
    assert_eq!((got(&firsts), got(&seconds), got(&thirds)), (10, 10, 7));
    assert!(world.records().values().all(|record| record["ok"] == true));
}

#[test]
fn a_request_that_a_dead_proxy_lost_is_tried_through_the_next() {
    let world = World::new();
    let (alive, count) = proxy();
    let urls = (0..2).map(|n| format!("http://a.test/{n}"));
    let list = world.write("urls.txt", urls);
    let arguments = ["--proxy", &alive, "--proxy", "http://127.0.0.1:1"];
    world.run(&list, &[&arguments[..], &["-c", "1"]].concat());
    let records = world.records();
    assert!(
        records.values().all(|record| record["ok"] == true),
        "{records:?}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 2);
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
    let (alive, count) = proxy();
    let urls = (0..40).map(|n| format!("http://a.test/{n}"));
    let list = world.write("urls.txt", urls);
    let closed = ClosedPort::take().unwrap();
    let dead = format!("http://{}", closed.address());
    // One failure would open the breaker, and no try is left after the first.
    let limits = ["--breaker", "1", "--retries", "0", "--threads", "1"];
    let arguments = ["--proxy", &alive, "--proxy", &dead];
    let ended = world.run(&list, &[&arguments[..], &limits].concat());
    assert_taken_by_others(&world, &ended);
    assert_eq!(count.load(Ordering::SeqCst), 40);
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

/// A proxy that accepts connections and says nothing.
fn silent_proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let held: Vec<_> = listener.incoming().flatten().collect();
        drop(held);
    });
    url
}

/// A proxy of tunnels, which never reaches hosts below `.invalid` and says so to nobody.
fn tunnel_proxy() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || tunnel(client));
        }
    });
    url
}

fn tunnel(mut client: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let target = first
        .strip_prefix("CONNECT ")?
        .split(' ')
        .next()?
        .to_owned();
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    }
    if target.contains(".invalid:") {
        // Until the client gives up.
        return reader.read_line(&mut line).ok().map(drop);
    }
    let mut server = TcpStream::connect(target).ok()?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut to_server = server.try_clone().ok()?;
    std::thread::spawn(move || std::io::copy(&mut reader, &mut to_server));
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
    let (tunnels, silent) = (tunnel_proxy(), silent_proxy());
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
    let (one, other) = (tunnel_proxy(), tunnel_proxy());
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
