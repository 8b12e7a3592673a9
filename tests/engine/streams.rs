//! Bodies that are read piece by piece: complete, bounded in memory, under the same limits.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hecaton::{Client, Config, Ending, Error, Kind, Phase, Request, Retry, Streaming};
use hecaton_e2e::peer::{Peer, Requests};

use crate::{World, with_growing};

impl World {
    fn open(&self, path: &str) -> Streaming {
        self.run(self.client.open(self.request(path)))
            .expect("a response")
    }

    /// All pieces; none is larger than a stream may hold.
    fn rest(&self, stream: &mut Streaming) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(piece) = self.run(stream.chunk())? {
            assert!(!piece.is_empty() && piece.len() <= 512 << 10);
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

/// A server that runs `respond` for each connection.
fn server(respond: impl Fn(&mut dyn Write) -> std::io::Result<()> + Send + Sync + 'static) -> Peer {
    Peer::playing(move |mut stream, _| {
        stream.head();
        let _ = respond(&mut stream);
    })
}

#[test]
fn the_pieces_are_the_body_and_the_connection_is_used_again() {
    let world = World::new();
    for path in ["/bytes/5000000", "/chunked/1000", "/bytes/0", "/r/1"] {
        let mut stream = world.open(path);
        assert_eq!(stream.status(), 200);
        assert_eq!(
            world.rest(&mut stream).unwrap(),
            *world.get(path).body(),
            "{path}"
        );
        assert_eq!(stream.attempts()[0].ending, Ending::Status(200));
        assert!(stream.attempts()[0].read_time.is_some());
        assert_eq!(
            world.run(stream.chunk()).unwrap(),
            None,
            "the end stays the end"
        );
    }
    assert_eq!(world.server.stop().connections, 1);
}

#[test]
fn a_body_without_bytes_is_at_its_end_at_once() {
    let world = World::new();
    let head = Request::new("HEAD", &format!("{}/bytes/100", world.server.base_url())).unwrap();
    let requests = [
        head,
        world.request("/status/204"),
        world.request("/status/304"),
    ];
    for request in requests {
        let mut stream = world.run(world.client.open(request)).unwrap();
        assert_eq!(world.client.idle_connections(), 1, "{}", stream.status());
        assert_eq!(world.run(stream.chunk()).unwrap(), None);
    }
}

#[test]
fn dropping_a_stream_closes_its_connection_and_gives_its_turn_back() {
    let world = World::with(|config| config.per_origin = Some(1));
    let mut stream = world.open("/bytes/5000000");
    assert!(world.run(stream.chunk()).unwrap().is_some());
    drop(stream);
    drop(world.open("/fault/stall-body"));
    assert_eq!(world.client.idle_connections(), 0);
    assert_eq!(world.get("/r/1").status(), 200);
}

#[test]
fn a_stream_keeps_its_turn_until_its_end() {
    let world = World::with(|config| {
        config.per_origin = Some(1);
        config.queue_timeout = Some(Duration::from_millis(100));
    });
    let mut stream = world.open("/bytes/1000000");
    let error = world.send(world.request("/r/1")).unwrap_err();
    assert_eq!(error.phase(), Phase::Queue);
    assert_eq!(world.rest(&mut stream).unwrap().len(), 1_000_000);
    assert!(world.get("/r/1").attempts()[0].reused);
}

#[test]
fn a_slow_reader_holds_up_the_server() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let peer = server(move |out| {
        out.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        loop {
            count.fetch_add(out.write(&[b'x'; 65536])?, Ordering::Relaxed);
        }
    });
    let world = World::new();
    let mut stream = world
        .run(world.client.open(Request::get(&peer.url("/")).unwrap()))
        .unwrap();
    let mut taken = 0;
    for _ in 0..3 {
        let piece = world.run(stream.chunk()).unwrap().unwrap();
        assert!(piece.len() <= 512 << 10);
        taken += piece.len();
        thread::sleep(Duration::from_millis(100));
    }
    // The kernel's buffers take some megabytes; a server that is not held up sends gigabytes. It counts what it has sent.
    let ahead = sent.load(Ordering::Relaxed).saturating_sub(taken);
    assert!(ahead < 32 << 20, "{ahead} bytes were sent ahead");
}

#[test]
fn the_total_deadline_counts_the_readers_time() {
    let world = World::new();
    let (limit, mut stream) = with_growing(Duration::from_millis(400), |limit| {
        let request = world.request("/bytes/5000000").timeout(limit);
        let mut stream = world.run(world.client.open(request)).ok()?;
        let first = world.run(stream.chunk()).ok()?;
        assert!(first.is_some());
        Some((limit, stream))
    });
    thread::sleep(limit + Duration::from_millis(50));
    for _ in 0..2 {
        let error = world.run(stream.chunk()).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
        assert_eq!(error.attempts()[0].phase, Phase::Read);
        assert!(error.sent() && error.elapsed() >= limit);
    }
    assert_eq!(world.client.idle_connections(), 0);
}

#[test]
fn a_server_that_drips_or_stalls_hits_the_limits() {
    type Limit = fn(&mut Config, Duration);
    let total: Limit = |config, limit| config.timeout = limit;
    let read: Limit = |config, limit| config.read_timeout = Some(limit);
    for (path, phase, set) in [
        ("/fault/drip", Phase::Total, total),
        ("/fault/stall-body", Phase::Read, read),
    ] {
        let error = with_growing(Duration::from_millis(400), |limit| {
            let world = World::with(|config| set(config, limit));
            let begun = Instant::now();
            let mut stream = world.run(world.client.open(world.request(path))).ok()?;
            let error = world.rest(&mut stream).unwrap_err();
            assert!(begun.elapsed() < limit + Duration::from_secs(30));
            Some(error)
        });
        assert_eq!((error.kind(), error.phase()), (Kind::Timeout, phase));
    }
}

#[test]
fn a_short_body_is_an_error_and_stays_one() {
    let world = World::new();
    for path in ["/fault/truncate", "/fault/truncate-chunked"] {
        let mut stream = world.open(path);
        for _ in 0..2 {
            let error = world.rest(&mut stream).unwrap_err();
            assert_eq!((error.kind(), error.phase()), (Kind::Body, Phase::Read));
        }
        assert_eq!(stream.attempts()[0].ending, Ending::Failed);
    }
    assert_eq!(world.client.idle_connections(), 0);
}

#[test]
fn retries_come_before_the_stream_and_the_cap_is_for_whole_bodies() {
    let tries = AtomicUsize::new(0);
    // The server announces the close. Otherwise the retry might use the ending connection and be re-sent.
    let peer = server(move |out| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => {
            out.write_all(b"HTTP/1.1 503 No\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlater")
        }
        _ => out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    });
    let mut config = Config::new(Duration::from_secs(60));
    config.max_body = 4;
    config.retry = Some(Retry {
        statuses: vec![503],
        interval: Duration::ZERO,
        ..Retry::default()
    });
    let world = World::new();
    let client = Client::new(config);
    let mut stream = world
        .run(client.open(Request::get(&peer.url("/")).unwrap()))
        .unwrap();
    assert_eq!(world.rest(&mut stream).unwrap(), b"hello");
    let endings: Vec<_> = stream.attempts().iter().map(|one| &one.ending).collect();
    assert_eq!(endings, [&Ending::Status(503), &Ending::Status(200)]);
}

#[test]
fn giving_up_a_wait_loses_nothing() {
    let peer = server(|out| {
        out.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        for _ in 0..20 {
            out.write_all(b"5\r\nhello\r\n")?;
            thread::sleep(Duration::from_millis(5));
        }
        out.write_all(b"0\r\n\r\n")
    });
    let world = World::new();
    let mut stream = world
        .run(world.client.open(Request::get(&peer.url("/")).unwrap()))
        .unwrap();
    let mut body = Vec::new();
    loop {
        let patience = Duration::from_millis(1);
        let waited = async { tokio::time::timeout(patience, stream.chunk()).await };
        match world.run(waited) {
            Ok(piece) => match piece.unwrap() {
                Some(piece) => body.extend_from_slice(&piece),
                None => break,
            },
            Err(_) => continue,
        }
    }
    assert_eq!(body, b"hello".repeat(20));
}

#[test]
fn a_request_that_fails_before_the_head_fails_to_open() {
    let world = World::new();
    for path in ["/fault/reset", "/fault/garbage"] {
        let result = world.run(world.client.open(world.request(path)));
        assert_eq!(result.err().unwrap().kind(), Kind::Protocol, "{path}");
    }
}
