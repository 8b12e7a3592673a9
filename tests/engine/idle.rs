//! Idle connections while nobody waits: old or ended ones are closed, and HTTP/2's pings get an acknowledgement.

use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use hecaton::{Client, Request};
use hecaton_e2e::peer::{Peer, Requests, response};

use crate::World;
use crate::http2::client;
use crate::http2_peer::{NO_ERROR, PING, Raw};

const ENOUGH: Duration = Duration::from_secs(20);

fn received(reports: &Receiver<()>) {
    reports
        .recv_timeout(ENOUGH)
        .expect("the server reported nothing");
}

fn wait_until_none_is_idle(client: &Client) {
    for _ in 0..2000 {
        if client.stats().idle == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{:?}", client.stats());
}

/// A server that responds to one request of each connection. Then it hangs up if `hangs_up`, and reports when the
/// client has.
fn server(hangs_up: bool) -> (Peer, Receiver<()>) {
    let (report, reports) = channel();
    let peer = Peer::playing(move |mut stream, _| {
        stream.head();
        let _ = stream.write_all(response(200, "", "").as_bytes());
        if hangs_up {
            stream.shutdown(std::net::Shutdown::Write).unwrap();
        }
        // Until the client closes the connection.
        let _ = stream.read_to_end(&mut Vec::new());
        let _ = report.send(());
    });
    (peer, reports)
}

#[test]
fn a_connection_that_was_idle_for_too_long_is_closed_though_nobody_waits() {
    let world = World::with(|config| config.idle_timeout = Duration::from_millis(50));
    let (peer, closed) = server(false);
    world.send(Request::get(&peer.url("/")).unwrap()).unwrap();
    received(&closed);
    wait_until_none_is_idle(&world.client);
}

#[test]
fn a_connection_that_became_too_old_is_closed_though_nobody_waits() {
    let world = World::with(|config| config.max_age = Some(Duration::from_millis(100)));
    let (peer, closed) = server(false);
    world.send(Request::get(&peer.url("/")).unwrap()).unwrap();
    received(&closed);
}

#[test]
fn a_connection_that_the_server_ended_is_closed_though_nobody_waits() {
    let world = World::new();
    let (peer, closed) = server(true);
    world.send(Request::get(&peer.url("/")).unwrap()).unwrap();
    received(&closed);
    wait_until_none_is_idle(&world.client);
    assert_eq!(world.client.stats().in_use, 0);
}

#[test]
fn pings_are_acknowledged_though_nobody_waits() {
    let (report, acknowledged) = channel();
    let url = Raw::serve(move |mut raw, _| {
        let stream = raw.request().unwrap();
        raw.respond(stream);
        for _ in 0..3 {
            raw.frame(PING, 0, 0, &[7; 8]);
            // All frames except the ping's acknowledgement are skipped.
            while raw.next().expect("the connection is open").0 != PING {}
            report.send(()).unwrap();
        }
        raw.wait_for_end();
    });
    let (client, reactor) = client(|_| {});
    let get = || reactor.block_on(client.send(Request::get(&url).unwrap()));
    get().unwrap();
    (0..3).for_each(|_| received(&acknowledged));
    assert_eq!(client.stats().idle, 1);
}

#[test]
fn a_goaway_is_read_and_the_connection_closed_though_nobody_waits() {
    let (report, closed) = channel();
    let url = Raw::serve(move |mut raw, _| {
        let stream = raw.request().unwrap();
        raw.respond(stream);
        raw.go_away(stream, NO_ERROR);
        raw.wait_for_end();
        report.send(()).unwrap();
    });
    let (client, reactor) = client(|_| {});
    reactor
        .block_on(client.send(Request::get(&url).unwrap()))
        .unwrap();
    received(&closed);
    wait_until_none_is_idle(&client);
}

#[test]
fn an_idle_connection_that_was_driven_is_used_again() {
    let world = World::new();
    for _ in 0..4 {
        world.get("/r/1");
        thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(world.server.summary().connections, 1);
}
