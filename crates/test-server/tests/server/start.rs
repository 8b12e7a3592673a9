//! Starting, stopping, and many connections.

use crate::support;

use std::net::TcpListener;

use hecaton_test_server::{Options, StartError, TestServer};
use support::{Client, eventually, server};

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let error = TestServer::start(Options {
        listen,
        ..Options::default()
    })
    .err()
    .unwrap();
    assert!(
        matches!(error, StartError::PortInUse(address) if address == listen),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains(&listen.to_string()) && text.contains("port is in use"),
        "{text}"
    );
}

#[test]
fn an_address_of_another_machine_is_an_error_that_names_it() {
    let listen = "192.0.2.1:0".parse().unwrap();
    let error = TestServer::start(Options {
        listen,
        ..Options::default()
    })
    .err()
    .unwrap();
    assert!(matches!(error, StartError::Listen { .. }), "{error}");
    assert!(error.to_string().contains("192.0.2.1:0"), "{error}");
}

#[test]
fn a_core_that_does_not_exist_is_an_error_that_names_it() {
    for core in [900, 1_000_000] {
        let error = TestServer::start(Options {
            core: Some(core),
            ..Options::default()
        })
        .err()
        .unwrap();
        assert!(matches!(error, StartError::Pin { .. }), "{error}");
        assert!(error.to_string().contains(&core.to_string()), "{error}");
    }
}

#[test]
fn the_server_listens_on_ipv6_too() {
    let listen = "[::1]:0".parse().unwrap();
    match TestServer::start(Options {
        listen,
        ..Options::default()
    }) {
        Ok(server) => {
            assert!(
                server.base_url().starts_with("http://[::1]:"),
                "{}",
                server.base_url()
            );
            assert_eq!(Client::new(&server).get("/r/1").status, 200);
        }
        // A machine without IPv6 says so.
        Err(error) => assert!(matches!(error, StartError::Listen { .. }), "{error}"),
    }
}

#[test]
fn a_stopped_server_has_closed_its_connections_and_freed_its_port() {
    let server = server();
    let listen = server.address();
    assert_eq!(server.base_url(), format!("http://{listen}"));
    let mut client = Client::new(&server);
    client.get("/r/1");
    assert_eq!(server.stop().requests, 1);
    assert_eq!(client.rest(), b"");
    let again = TestServer::start(Options {
        listen,
        ..Options::default()
    })
    .unwrap();
    assert_eq!(Client::new(&again).get("/r/1").status, 200);
}

#[test]
fn many_connections_are_served_at_once() {
    let server = server();
    // This process holds both ends, and other tests theirs.
    let count = 2000.min(server.capacity() / 3);
    let mut clients: Vec<_> = (0..count).map(|_| Client::new(&server)).collect();
    for (id, client) in clients.iter_mut().enumerate() {
        client.request("GET", &format!("/r/{id}"), "");
    }
    clients
        .iter_mut()
        .for_each(|client| assert_eq!(client.response().body.len(), 133));
    let summary = server.summary();
    assert_eq!((summary.connections_open, summary.distinct), (count, count));
    drop(clients);
    assert_eq!(
        eventually(&server, |summary| summary.connections_open == 0).aborted,
        0
    );
}
