//! A batch that hands responses over in parts: each in order, none ahead of its reader, none lost.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hecaton::{Batch, InParts, Kind, Limits, Outcome, Part, Request};
use hecaton_e2e::peer::{Peer, Requests};

use crate::World;

/// The heads, bytes and outcomes of a request.
#[derive(Default)]
struct Seen {
    heads: usize,
    body: Vec<u8>,
    outcomes: Vec<Outcome>,
}

fn take(batch: &mut Batch<u64>, seen: &mut HashMap<u64, Seen>) {
    for (tag, part) in batch.take_parts() {
        let seen = seen.entry(*tag).or_default();
        assert!(seen.outcomes.is_empty(), "a part after the end");
        match part {
            Part::Head(head) => {
                assert!(seen.heads == 0 && head.body().is_empty());
                seen.heads += 1;
            }
            Part::Piece(piece) => {
                assert!(seen.heads == 1, "a piece before the head");
                assert!(!piece.is_empty() && piece.len() <= 512 << 10);
                seen.body.extend_from_slice(&piece);
            }
        }
    }
}

fn run(world: &World, batch: &mut Batch<u64>) -> HashMap<u64, Seen> {
    let (mut seen, mut outcomes) = (HashMap::new(), Vec::new());
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
        take(batch, &mut seen);
        for (tag, outcome) in outcomes.drain(..) {
            seen.entry(tag).or_default().outcomes.push(outcome);
        }
    }
    seen
}

fn push(world: &World, batch: &mut Batch<u64>, tag: u64, path: &str, in_parts: InParts) {
    batch.push(tag, world.request(path));
    batch.in_parts(tag, in_parts);
}

/// A server that writes to each connection as long as the client reads, and the number of bytes written.
fn flood() -> (Peer, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let peer = Peer::playing(move |mut stream, _| {
        stream.head();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while let Ok(written) = stream.write(&[b'x'; 65536]) {
            count.fetch_add(written, Ordering::Relaxed);
        }
    });
    (peer, sent)
}

#[test]
fn parts_come_in_order_beside_whole_responses() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 4);
    for tag in 0..30 {
        match tag % 3 {
            0 => push(
                &world,
                &mut batch,
                tag,
                "/bytes/1000000",
                InParts::HeadAndBody,
            ),
            1 => push(&world, &mut batch, tag, "/chunked/1000", InParts::Head),
            _ => batch.push(tag, world.request("/r/1")),
        }
    }
    let expected = ["/bytes/1000000", "/chunked/1000", "/r/1"].map(|path| world.get(path));
    let seen = run(&world, &mut batch);
    assert_eq!(seen.len(), 30);
    for (tag, seen) in seen {
        let expected = expected[tag as usize % 3].body();
        let [Ok(outcome)] = &seen.outcomes[..] else {
            panic!("{:?}", seen.outcomes);
        };
        assert_eq!(outcome.attempts().len(), 1);
        let (heads, body, rest) = match tag % 3 {
            0 => (1, &expected[..], &b""[..]),
            1 => (1, &b""[..], &expected[..]),
            _ => (0, &b""[..], &expected[..]),
        };
        assert_eq!((seen.heads, outcome.status()), (heads, 200));
        assert!(seen.body == body && outcome.body() == rest, "{tag}");
        assert!(outcome.attempts()[0].read_time.is_some());
    }
    assert!(world.server.stop().connections <= 5);
}

#[test]
fn a_reader_with_enough_ends_an_endless_body_and_the_other_requests_continue() {
    let peer = flood().0;
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 4);
    for tag in 0..3 {
        batch.push(tag, Request::get(&peer.url("/")).unwrap());
        batch.in_parts(tag, InParts::HeadAndBody);
    }
    push(
        &world,
        &mut batch,
        3,
        "/bytes/1000000",
        InParts::HeadAndBody,
    );
    let (mut seen, mut outcomes) = (HashMap::new(), Vec::new());
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
        take(&mut batch, &mut seen);
        for (tag, seen) in &seen {
            if *tag < 3 && seen.body.len() > 100_000 {
                batch.enough(tag);
            }
        }
        for (tag, outcome) in outcomes.drain(..) {
            seen.entry(tag).or_default().outcomes.push(outcome);
        }
    }
    assert_eq!(seen[&3].body.len(), 1_000_000);
    for tag in 0..3 {
        let [Ok(outcome)] = &seen[&tag].outcomes[..] else {
            panic!("{:?}", seen[&tag].outcomes);
        };
        assert_eq!((outcome.status(), outcome.body().len()), (200, 0));
    }
}

/// A batch whose request 1 reads the flood in parts, and how much of it was sent.
fn flooded() -> (Peer, Arc<AtomicUsize>, World, Batch<u64>) {
    let (peer, sent) = flood();
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 4);
    batch.push(1, Request::get(&peer.url("/")).unwrap());
    batch.in_parts(1, InParts::HeadAndBody);
    (peer, sent, world, batch)
}

#[test]
fn nothing_is_read_ahead_of_the_reader_and_a_part_that_is_not_taken_waits() {
    let (_peer, sent, world, mut batch) = flooded();
    let (mut seen, mut outcomes) = (HashMap::new(), Vec::new());
    world.run(batch.wait(&mut outcomes));
    // Nobody has taken the head, so a wait ends at once and brings nothing else.
    (0..100).for_each(|_| world.run(batch.wait(&mut outcomes)));
    take(&mut batch, &mut seen);
    assert_eq!((seen[&1].heads, seen[&1].body.len()), (1, 0));
    for _ in 0..3 {
        world.run(batch.wait(&mut outcomes));
        take(&mut batch, &mut seen);
        assert_eq!(batch.take_parts().count(), 0, "each is taken once");
        thread::sleep(Duration::from_millis(100));
    }
    // The kernel's buffers take some megabytes; a server that is not held up sends gigabytes.
    let ahead = sent.load(Ordering::Relaxed);
    let ahead = ahead.saturating_sub(seen[&1].body.len());
    assert!(ahead < 32 << 20, "{ahead} bytes were sent ahead");
    assert!(seen[&1].body.len() <= 3 * (512 << 10) && !seen[&1].body.is_empty());
}

/// Two requests whose next piece is always ready: one read from a socket, and one decoded, which
/// seldom needs its socket.
fn push_floods(world: &World, batch: &mut Batch<u64>, url: &str, timeout: Duration) {
    let bomb = world.request("/bomb/gzip/1024");
    for (tag, request) in [Request::get(url).unwrap(), bomb].into_iter().enumerate() {
        batch.push(tag as u64, request.timeout(timeout));
        batch.in_parts(tag as u64, InParts::HeadAndBody);
    }
}

/// Takes pieces until `enough` requests have ended, and returns how each ended.
fn ends(world: &World, batch: &mut Batch<u64>, enough: usize) -> Vec<(u64, Option<Kind>)> {
    let (mut ended, mut outcomes) = (Vec::new(), Vec::new());
    while ended.len() < enough {
        world.run(batch.wait(&mut outcomes));
        batch.take_parts().for_each(drop);
        thread::sleep(Duration::from_millis(1));
        let kinds = outcomes.drain(..);
        ended
            .extend(kinds.map(|(tag, outcome)| (tag, outcome.map_err(|error| error.kind()).err())));
    }
    ended
}

#[test]
fn a_flood_keeps_nobody_from_the_network() {
    let peer = flood().0;
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 3);
    push_floods(&world, &mut batch, &peer.url("/"), Duration::from_secs(600));
    (2..8).for_each(|tag| batch.push(tag, world.request("/delay/20")));
    let ended = ends(&world, &mut batch, 6);
    let expected: Vec<_> = (2..8).map(|tag| (tag, None)).collect();
    assert_eq!(ended, expected);
    batch.abort();
}

#[test]
fn a_flood_keeps_no_deadline_from_its_time() {
    let peer = flood().0;
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 3);
    push_floods(&world, &mut batch, &peer.url("/"), Duration::from_secs(1));
    let mut ended = ends(&world, &mut batch, 2);
    ended.sort_unstable_by_key(|(tag, _)| *tag);
    assert_eq!(ended, [0, 1].map(|tag| (tag, Some(Kind::Timeout))));
}

#[test]
fn failures_follow_the_pieces_and_only_a_body_in_memory_can_be_too_large() {
    let world = World::with(|config| config.max_body = 1000);
    let mut batch = Batch::new(world.client.clone(), 10);
    let paths = ["/fault/truncate", "/fault/reset", "/bytes/100000"];
    for (tag, path) in (0..).zip(paths) {
        push(&world, &mut batch, tag, path, InParts::HeadAndBody);
    }
    push(&world, &mut batch, 3, "/chunked/1000", InParts::Head);
    let seen = run(&world, &mut batch);
    let kind = |tag| {
        seen[&tag].outcomes[0]
            .as_ref()
            .err()
            .map(|error| error.kind())
    };
    assert_eq!(
        [0, 1, 2, 3].map(kind),
        [
            Some(Kind::Body),
            Some(Kind::Protocol),
            None,
            Some(Kind::Body)
        ]
    );
    assert_eq!([0, 1, 2, 3].map(|tag| seen[&tag].heads), [1, 0, 1, 1]);
    assert!(!seen[&0].body.is_empty());
    assert_eq!(seen[&2].body.len(), 100_000);
}

#[test]
fn aborting_gives_up_those_that_wait_for_their_reader_too() {
    let world = World::new();
    let limits = Limits {
        per_origin: Some(2),
        ..Limits::default()
    };
    let mut batch = Batch::with_limits(world.client.clone(), 9, limits).unwrap();
    for tag in 0..5 {
        push(
            &world,
            &mut batch,
            tag,
            "/fault/stall-body",
            InParts::HeadAndBody,
        );
    }
    let (mut seen, mut outcomes) = (HashMap::new(), Vec::new());
    while seen.len() < 2 {
        world.run(batch.wait(&mut outcomes));
        take(&mut batch, &mut seen);
    }
    assert!(batch.has_started(&0) && batch.has_started(&1) && !batch.has_started(&2));
    assert_eq!(batch.len(), 5);
    let mut aborted = batch.abort();
    aborted.started.sort_unstable();
    assert_eq!(
        (aborted.started, aborted.queued),
        (vec![0, 1], vec![2, 3, 4])
    );
    assert!(batch.is_empty() && world.client.idle_connections() == 0);
    // A batch forgets that an aborted request was to be handed over in parts.
    batch.push(2, world.request("/r/1"));
    let seen = run(&world, &mut batch);
    assert_eq!((seen[&2].heads, seen[&2].outcomes.len()), (0, 1));
}

#[test]
fn a_request_that_waits_for_its_reader_keeps_its_slot() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 1);
    push(
        &world,
        &mut batch,
        0,
        "/bytes/1000000",
        InParts::HeadAndBody,
    );
    batch.push(1, world.request("/r/1"));
    let mut order = Vec::new();
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
        batch.take_parts().for_each(drop);
        order.extend(outcomes.drain(..).map(|(tag, _)| tag));
    }
    assert_eq!(order, [0, 1]);
    assert_eq!(world.server.stop().connections, 1);
}

#[test]
fn a_request_that_is_held_reads_nothing_and_holds_up_nobody() {
    let (_peer, sent, world, mut batch) = flooded();
    let (mut seen, mut outcomes) = (HashMap::new(), Vec::new());
    world.run(batch.wait(&mut outcomes));
    take(&mut batch, &mut seen);
    batch.hold(&1);
    // The waits end with the outcomes of others alone.
    for tag in 10..20 {
        batch.push(tag, world.request("/r/1"));
        while outcomes.is_empty() {
            world.run(batch.wait(&mut outcomes));
            assert_eq!(batch.take_parts().count(), 0);
        }
        let ended: Vec<u64> = outcomes.drain(..).map(|(tag, _)| tag).collect();
        assert_eq!(ended, [tag]);
    }
    let ahead = sent.load(Ordering::Relaxed);
    assert!(ahead < 32 << 20, "{ahead} bytes were sent ahead");
    batch.release(&1);
    world.run(batch.wait(&mut outcomes));
    take(&mut batch, &mut seen);
    assert!(seen[&1].heads == 1 && !seen[&1].body.is_empty());
    // Enough of it ends it, held or not.
    batch.hold(&1);
    batch.enough(&1);
    while outcomes.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    assert!(outcomes[0].1.is_ok() && batch.is_empty());
}
