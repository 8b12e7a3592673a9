//! Bodies over HTTP/2 that are read piece by piece.

use std::time::Duration;

use hecaton::{Config, Error, Kind, Phase, Request, Streaming};

use crate::http2::{World2, client};
use crate::http2_peer::{DATA, Raw, frame};
use crate::with_growing;

impl World2 {
    fn open(&self, path: &str) -> Streaming {
        let opening = self.client.open(self.request("GET", path));
        self.reactor.block_on(opening).expect("a response")
    }

    fn rest(&self, stream: &mut Streaming) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(piece) = self.reactor.block_on(stream.chunk())? {
            assert!(!piece.is_empty());
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

#[test]
fn the_pieces_are_the_body_and_the_stream_is_given_back() {
    let world = World2::with(1, |config| config.per_origin = Some(1));
    for path in [
        "/bytes/5000000",
        "/bytes/5000001",
        "/trailers",
        "/status/204",
    ] {
        let mut stream = world.open(path);
        let body = world.rest(&mut stream).unwrap();
        assert_eq!(body, *world.get(path).unwrap().body(), "{path}");
        assert!(stream.attempts()[0].read_time.is_some(), "{path}");
        assert_eq!(world.reactor.block_on(stream.chunk()).unwrap(), None);
    }
    assert_eq!(world.peer.seen(|seen| seen.connections), 1);
}

#[test]
fn a_slow_reader_holds_up_the_server_at_its_window() {
    let world = World2::new();
    let mut stream = world.open("/endless");
    let first = world
        .reactor
        .block_on(stream.chunk())
        .unwrap()
        .unwrap()
        .len();
    // Other requests drive the connection, so all bytes that the windows allow arrive.
    for _ in 0..20 {
        assert!(world.get("/delay/10").is_ok());
    }
    let poured = world.peer.seen(|seen| seen.poured);
    assert!((1 << 19..=1 << 20).contains(&poured), "{poured}");
    let mut read = first;
    while read < 5_000_000 {
        read += world
            .reactor
            .block_on(stream.chunk())
            .unwrap()
            .unwrap()
            .len();
    }
    let poured = world.peer.seen(|seen| seen.poured);
    // The reader has taken two whole windows, of 1 and 2 MiB, but not the third of 4 MiB.
    assert!(poured <= read + (4 << 20), "{poured}");
}

#[test]
fn readers_that_are_slow_do_not_hold_up_the_others() {
    let world = World2::new();
    let _slow: Vec<_> = (0..20).map(|_| world.open("/endless")).collect();
    for _ in 0..10 {
        assert_eq!(world.get("/bytes/3000000").unwrap().body().len(), 3_000_000);
    }
    assert_eq!(world.peer.seen(|seen| seen.connections), 1);
}

#[test]
fn dropping_a_stream_resets_it_and_leaves_the_others_alone() {
    let world = World2::new();
    let mut other = world.open("/bytes/3000000");
    let stream = world.open("/stall-body");
    drop(stream);
    assert_eq!(world.rest(&mut other).unwrap().len(), 3_000_000);
    world
        .peer
        .wait_until(|seen| seen.resets == [h2::Reason::CANCEL]);
    assert!(world.get("/").is_ok());
    assert_eq!(world.peer.seen(|seen| seen.connections), 1);
}

#[test]
fn limits_hold_and_short_bodies_are_errors_in_streams_too() {
    type Limit = fn(&mut Config, Duration);
    let total: Limit = |config, limit| config.timeout = limit;
    let pieces: Limit = |config, limit| config.read_timeout = Some(limit);
    let none: Limit = |_, _| {};
    for (change, path, kind, phase) in [
        (total, "/drip", Kind::Timeout, Phase::Total),
        (pieces, "/stall-body", Kind::Timeout, Phase::Read),
        (none, "/reset-body", Kind::Body, Phase::Read),
        (none, "/short", Kind::Body, Phase::Read),
    ] {
        let (world, error) = with_growing(Duration::from_secs(1), |limit| {
            let world = World2::with(100, |config| change(config, limit));
            let opening = world.client.open(world.request("GET", path));
            let mut stream = world.reactor.block_on(opening).ok()?;
            let error = world.rest(&mut stream).unwrap_err();
            Some((world, error))
        });
        assert_eq!(
            (error.kind(), error.phase()),
            (kind, phase),
            "{path}: {error}"
        );
        let next = world.request("GET", "/").timeout(Duration::from_secs(60));
        assert!(world.send(next).is_ok());
    }
}

/// Small frames are joined only with others that have come, and only while their reader is busy.
#[test]
fn small_frames_come_when_their_reader_waits_whatever_follows_them() {
    let url = Raw::serve(|mut raw, _| {
        let (first, second) = (raw.request().unwrap(), raw.request().unwrap());
        raw.head(first, 0, &[]);
        raw.head(second, 0, &[]);
        let small = [b"a", b"b", b"c"].map(|piece| frame(DATA, 0, first, piece));
        let large = frame(DATA, 0, second, &[b'x'; 1000]);
        // The rest of the large frame never comes.
        raw.write(&[&small.concat()[..], &large[..500]].concat());
        raw.wait_for_end();
    });
    let (client, reactor) = client(|config| config.timeout = Duration::from_secs(30));
    let open = || client.open(Request::get(&url).unwrap());
    reactor.block_on(async {
        let (first, second) = tokio::join!(open(), open());
        let (mut first, _second) = (first.unwrap(), second.unwrap());
        let mut body = Vec::new();
        while body.len() < 3 {
            body.extend_from_slice(&first.chunk().await.unwrap().unwrap());
        }
        assert_eq!(body, b"abc");
    });
}
