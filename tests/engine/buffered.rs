//! `max_buffered`: the memory that all bodies of a client may hold together while they are received.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::thread;

use hecaton::{Batch, Error, InParts, Kind, Phase, Request};
use hecaton_e2e::peer::{Peer, Requests};

use crate::World;
use crate::http2::World2;

fn is_too_much(error: &Error) {
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Body, Phase::Read),
        "{error}"
    );
    assert!(error.detail().contains("max_buffered"), "{error}");
}

#[test]
fn bodies_that_together_hold_too_much_fail_and_the_others_continue() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let resume = Arc::new(Barrier::new(2));
    let waits = resume.clone();
    thread::spawn(move || {
        // Two bodies of 1,000 bytes: 600 bytes of each at once, and the rest of both later.
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n";
        loop {
            let mut pair = [listener.accept().unwrap().0, listener.accept().unwrap().0];
            for stream in &mut pair {
                let _ = stream.read(&mut [0; 4096]);
                stream
                    .write_all(&[&head[..], &[b'x'; 600]].concat())
                    .unwrap();
            }
            waits.wait();
            for stream in &mut pair {
                let _ = stream.write_all(&[b'x'; 400]);
            }
        }
    });
    let world = World::with(|config| config.max_buffered = Some(1000));
    for in_parts in [None, Some(InParts::Head)] {
        let mut batch = Batch::new(world.client.clone(), 2);
        for tag in 0..2 {
            let request = Request::get(&url).unwrap();
            batch.push(tag, request.header("Connection", b"close").unwrap());
            in_parts
                .into_iter()
                .for_each(|parts| batch.in_parts(tag, parts));
        }
        let mut outcomes = Vec::new();
        while outcomes.is_empty() {
            world.run(batch.wait(&mut outcomes));
            batch.take_parts().count();
        }
        is_too_much(outcomes.pop().unwrap().1.as_ref().unwrap_err());
        assert!(outcomes.is_empty(), "the other request continues");
        resume.wait();
        while !batch.is_empty() {
            world.run(batch.wait(&mut outcomes));
            batch.take_parts().count();
        }
        assert_eq!(outcomes.pop().unwrap().1.unwrap().body().len(), 1000);
    }
}

#[test]
fn bodies_of_separate_clients_count_together_and_each_has_its_own_connections() {
    let world = World::with(|config| {
        config.max_buffered = Some(1000);
        config.cookies = Some(hecaton::Cookies::new());
    });
    let other = world.client.separate().unwrap();
    world.get("/r/1");
    assert_eq!(
        (world.client.idle_connections(), other.idle_connections()),
        (1, 0)
    );
    // The client holds 600 bytes of a body whose server sends nothing more.
    let peer = Peer::playing(|mut stream, _| {
        stream.head();
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\nset-cookie: a=b\r\n\r\n";
        stream
            .write_all(&[&head[..], &[b'x'; 600]].concat())
            .unwrap();
        let _ = stream.read(&mut [0]);
    });
    let mut batch = Batch::new(world.client.clone(), 1);
    batch.push(0, Request::get(&peer.url("/")).unwrap());
    batch.in_parts(0, InParts::Head);
    while !batch.take_parts().any(|_| true) {
        world.run(batch.wait(&mut Vec::new()));
    }
    // The rest of the body arrives a little later than its head, and is read while both batches are waited for.
    let mut fails = || {
        let mut second = Batch::new(other.clone(), 1);
        second.push(0, world.request("/bytes/600"));
        let (mut outcomes, mut none) = (Vec::new(), Vec::new());
        while outcomes.is_empty() {
            let mut first = pin!(batch.wait(&mut none));
            let mut second = pin!(second.wait(&mut outcomes));
            let mut is_held = true;
            world.run(poll_fn(|cx| {
                is_held = is_held && first.as_mut().poll(cx).is_pending();
                second.as_mut().poll(cx)
            }));
        }
        outcomes.pop().unwrap().1.err()
    };
    let failure = (0..1000).find_map(|_| fails());
    is_too_much(&failure.expect("both bodies together are too large"));
    let jars = [&world.client, &other].map(|it| it.config().cookies.as_ref().unwrap().list().len());
    assert_eq!(jars, [1, 1]);
    drop(batch);
    assert_eq!(world.get("/bytes/600").body().len(), 600);
}

#[test]
fn the_memory_of_a_decoder_counts_and_a_stream_does_not() {
    let world = World::with(|config| config.max_buffered = Some(50_000));
    for coding in ["gzip", "br", "zstd"] {
        let outcome = world.send(world.request(&format!("/encoded/{coding}/100")));
        is_too_much(&outcome.unwrap_err());
    }
    for _ in 0..3 {
        assert_eq!(world.get("/bytes/50000").body().len(), 50_000);
        is_too_much(&world.send(world.request("/bytes/50001")).unwrap_err());
    }
    let mut stream = world
        .run(world.client.open(world.request("/bytes/100000")))
        .unwrap();
    let mut read = 0;
    while let Some(piece) = world.run(stream.chunk()).unwrap() {
        read += piece.len();
    }
    assert_eq!(read, 100_000);
}

/// Whoever reads them, in a batch or one by one: a body that is read in pieces holds its decoder's window.
#[test]
fn decoders_of_streams_count_together_until_their_bodies_end() {
    for coding in ["gzip", "br", "zstd"] {
        let world = World::with(|config| config.max_buffered = Some(20 << 20));
        let request = || world.request(&format!("/encoded/{coding}/1000000"));
        let mut streams = Vec::new();
        let failure = (0..2000).find_map(|_| {
            let mut stream = world.run(world.client.open(request())).unwrap();
            let failure = world.run(stream.chunk()).err();
            streams.push(stream);
            failure
        });
        is_too_much(&failure.expect("all of them hold more than the limit"));
        drop(streams);
        let mut stream = world.run(world.client.open(request())).unwrap();
        while world.run(stream.chunk()).unwrap().is_some() {}
    }
}

#[test]
fn over_http2_it_holds_too() {
    let world = World2::with(100, |config| config.max_buffered = Some(1000));
    assert_eq!(world.get("/bytes/1000").unwrap().body().len(), 1000);
    is_too_much(&world.get("/bytes/1001").unwrap_err());
}

#[test]
fn a_body_that_comes_with_its_head_counts_too() {
    let world = World::with(|config| config.max_buffered = Some(5000));
    assert_eq!(world.get("/bytes/5000").body().len(), 5000);
    is_too_much(&world.send(world.request("/bytes/5001")).unwrap_err());
}
