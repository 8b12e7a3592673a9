//! A host that goes down and comes back loses nothing; one that stays down leaves what `again` takes.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hecaton_e2e::peer::{Peer, Reply, Requests};

use crate::support::{World, count, ending, hecaton};

/// Drops connections for ever.
const FOR_EVER: u64 = 1 << 60;

const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// A server that responds once on each connection, and now and then drops some instead.
struct Shaky {
    peer: Peer,
    /// How many are dropped after the first responses.
    drops: Arc<AtomicU64>,
}

impl Shaky {
    fn start(responses: u64, drops: u64) -> Shaky {
        let (responses, drops) = (AtomicU64::new(responses), Arc::new(AtomicU64::new(drops)));
        let left = drops.clone();
        let take = |from: &AtomicU64| {
            from.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
        };
        let peer = Peer::responding(move |_| {
            let is_dropped = take(&responses).is_err() && take(&left).is_ok();
            Reply::Closed(if is_dropped {
                Vec::new()
            } else {
                RESPONSE.into()
            })
        });
        Shaky { peer, drops }
    }

    fn list(&self, world: &World, count: u64) -> std::path::PathBuf {
        let urls = (0..count).map(|n| self.peer.url(&format!("/{n}")));
        world.write("urls.txt", urls)
    }
}

const QUICKLY: [&str; 6] = ["-c", "4", "--breaker", "5", "--breaker-cooldown", "2ms"];

#[test]
fn what_fails_while_a_host_is_down_is_sent_when_it_is_back() {
    let world = World::new();
    let shaky = Shaky::start(50, 12);
    let list = shaky.list(&world, 300);
    let ended = world.run(&list, &QUICKLY);
    let records = world.records();
    let good = records.values().filter(|record| record["ok"] == true);
    assert_eq!(good.count(), 300, "{}", ended.stderr);
    let pauses = ended.stderr.lines();
    let pauses = pauses.filter_map(|line| line.split_once("the next request is sent in "));
    let pauses: Vec<&str> = pauses.map(|(_, pause)| pause).collect();
    assert!(!pauses.is_empty(), "{}", ended.stderr);
    for pause in pauses {
        let unit = pause.trim_start_matches(|c: char| c.is_ascii_digit());
        assert!(["ms", "s"].contains(&unit), "not one round figure: {pause}");
    }
    assert_eq!(shaky.drops.load(Ordering::SeqCst), 0);
}

#[test]
fn a_host_that_stays_down_is_given_up_in_time_and_again_takes_what_was_unreached() {
    let world = World::new();
    let shaky = Shaky::start(50, FOR_EVER);
    let list = shaky.list(&world, 300);
    let waiting = ["--wait-out", "100ms", "--fail-if", "unreached > 0"];
    let ended = world.run_to(3, &list, &[&QUICKLY[..], &waiting].concat());
    assert!(ended.stderr.contains("given up after"), "{}", ended.stderr);
    let records = world.records();
    assert_eq!(records.len(), 300);
    assert_eq!(count(&records, "response"), 50);
    assert!(count(&records, "unreached") > 200, "{}", ended.stderr);
    shaky.drops.store(0, Ordering::SeqCst);
    let ended = ending(hecaton(&["fetch", "again", "-q"]).arg(world.out()));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(count(&world.records(), "response"), 300);
}

#[test]
fn a_post_that_may_have_arrived_is_not_sent_again_because_its_host_is_down() {
    let world = World::new();
    let shaky = Shaky::start(50, 16);
    let list = shaky.list(&world, 300);
    world.run(
        &list,
        &[
            &QUICKLY[..],
            &["-X", "POST", "--body", "x", "--retries", "0"],
        ]
        .concat(),
    );
    assert_eq!(world.records().len(), 300);
    let requests = shaky.peer.requests();
    let mut seen: Vec<_> = requests.iter().map(|it| it.target()).collect();
    let arrived = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), arrived, "a POST arrived twice");
}

/// A server that takes two connections at once and drops all others; how many it dropped.
fn narrow() -> (Peer, Arc<AtomicU64>) {
    let (open, dropped) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    let drops = dropped.clone();
    let peer = Peer::playing(move |mut stream, _| {
        if open.fetch_add(1, Ordering::SeqCst) >= 2 {
            drops.fetch_add(1, Ordering::SeqCst);
        } else {
            // A server that works on a request has its connection for a while.
            std::thread::sleep(std::time::Duration::from_millis(10));
            stream.head();
            let _ = stream.write_all(RESPONSE.as_bytes());
        }
        open.fetch_sub(1, Ordering::SeqCst);
    });
    (peer, dropped)
}

#[test]
fn a_server_that_takes_two_connections_at_once_loses_nothing() {
    for more in [&[][..], &["--part-size", "25", "--threads", "4"]] {
        let world = World::new();
        let (peer, dropped) = narrow();
        let urls = (0..100).map(|n| peer.url(&format!("/{n}")));
        let list = world.write("urls.txt", urls);
        let ended = world.run(&list, &[&["--per-host", "8"][..], more].concat());
        assert_eq!(count(&world.records(), "response"), 100, "{}", ended.stderr);
        assert!(dropped.load(Ordering::SeqCst) > 0);
    }
}
