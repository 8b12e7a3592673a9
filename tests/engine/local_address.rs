//! The address of this machine that connections are opened from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::time::Duration;

use hecaton::{Client, Config, Endpoint, Kind, Phase, Proxy, Request};

use crate::proxies::{request, through};
use crate::{World, proxy_server};

/// Linux has all of 127.0.0.0/8.
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

fn from(address: IpAddr) -> World {
    World::with(|config| config.local_address = Some(address.into()))
}

#[test]
fn connections_come_from_it() {
    let world = from(OTHER);
    let response = world.get("/r/1");
    match response.attempts()[0].local() {
        Some(Endpoint::Ip(address)) => assert_eq!(address.ip(), OTHER),
        other => panic!("{other:?}"),
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let seen = std::thread::spawn(move || listener.accept().unwrap().1);
    let _ = world.send(Request::get(&url).unwrap().timeout(Duration::from_secs(5)));
    assert_eq!(seen.join().unwrap().ip(), OTHER, "as the server sees it");
}

#[test]
fn so_do_those_to_a_proxy() {
    let proxy = proxy_server::Proxy::http();
    let world = through("http", &proxy, |config| {
        config.local_address = Some(OTHER.into())
    });
    let response = world.send(request(&world, "/r/1")).unwrap();
    assert!(
        matches!(response.attempts()[0].local(), Some(Endpoint::Ip(address)) if address.ip() == OTHER)
    );
}

#[test]
fn only_addresses_of_its_kind_are_connected_to() {
    let world = from(IpAddr::V6(Ipv6Addr::LOCALHOST));
    let error = world.send(world.request("/r/1")).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Connect, Phase::Connect)
    );
    assert!(error.to_string().contains("no address of IPv6"), "{error}");
    assert!(error.to_string().contains("local_address ::1"), "{error}");

    let world = World::with(|config| {
        config.local_address = Some(OTHER.into());
        config
            .resolve
            .add("both.example:1", &["::1", "127.0.0.1"])
            .unwrap();
    });
    let error = world.send(Request::get("http://both.example:1/").unwrap());
    let error = error.unwrap_err();
    assert!(
        !error.to_string().contains("::1"),
        "it was not tried: {error}"
    );
}

#[test]
fn an_address_of_another_machine_is_an_error_that_names_it() {
    let world = from("203.0.113.9".parse().unwrap());
    let error = world.send(world.request("/r/1")).unwrap_err();
    assert_eq!((error.kind(), error.sent()), (Kind::Connect, false));
    assert!(
        error.to_string().contains("local_address 203.0.113.9"),
        "{error}"
    );
    assert!(error.os_error().is_some(), "{error}");
}

#[test]
fn a_local_address_excludes_a_unix_socket() {
    let mut config = Config::new(Duration::from_secs(1));
    config.proxy = Proxy::Off;
    config.local_address = Some(OTHER.into());
    config.unix_socket = Some("/a".into());
    let why = Client::try_new(config)
        .err()
        .expect("a refusal")
        .to_string();
    assert!(why.contains("exclude each other"), "{why}");
}

#[test]
fn a_local_address_may_have_a_zone() {
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let seen = std::thread::spawn(move || listener.accept().unwrap().1);
    let world = World::with(|config| config.local_address = Some("::1%lo".parse().unwrap()));
    let _ = world.send(Request::get(&url).unwrap().timeout(Duration::from_secs(5)));
    assert_eq!(
        seen.join().unwrap().ip(),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
        "as the server sees it"
    );

    let world =
        World::with(|config| config.local_address = Some("fe80::1%nowhere".parse().unwrap()));
    let error = world.send(Request::get(&url).unwrap()).unwrap_err();
    assert_eq!(error.kind(), Kind::Connect);
    for words in [
        "from local_address fe80::1%nowhere",
        "this machine has no network \"nowhere\"",
    ] {
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn so_may_a_known_address() {
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let known = format!("known.example:{port}");
    let seen = std::thread::spawn(move || listener.accept().unwrap());
    let world = World::with(|config| {
        config.resolve.add(&known, &["::1%lo"]).unwrap();
        config
            .resolve
            .add("other.example:1", &["fe80::1%nowhere"])
            .unwrap();
    });
    let url = format!("http://{known}/");
    let _ = world.send(Request::get(&url).unwrap().timeout(Duration::from_secs(5)));
    drop(seen.join().unwrap());
    let request = Request::get("http://other.example:1/").unwrap();
    let error = world.send(request).unwrap_err();
    assert_eq!(error.kind(), Kind::Resolve);
    assert!(
        error.to_string().contains("none of the networks"),
        "{error}"
    );
}
