//! `--rate auto`: the pace that a host sees follows what it says.

use std::path::Path;
use std::time::{Duration, SystemTime};

use hecaton_e2e::peer::{Peer, Reply, response};

use crate::support::{World, ending, files, hecaton};

/// A server that responds with 429 to its first requests.
struct Overrun(Peer);

impl Overrun {
    fn start(refusals: usize) -> Overrun {
        Overrun(Peer::responding(move |request| {
            let (status, fields) = match request.number < refusals {
                true => (429, "retry-after: 0\r\n"),
                false => (200, ""),
            };
            Reply::Closed(response(status, &format!("{fields}connection: close\r\n"), "").into())
        }))
    }

    fn list(&self, world: &World, host: &str, count: usize) -> std::path::PathBuf {
        let port = self.0.port();
        let urls = (0..count).map(|n| format!("http://{host}:{port}/{n}"));
        world.write("urls.txt", urls)
    }
}

/// When each request was sent, in order.
fn starts(world: &World) -> Vec<SystemTime> {
    let records = world.records();
    let at = |record: &serde_json::Value| {
        let text = record["at"].as_str().expect("a time");
        humantime::parse_rfc3339(text).expect("RFC 3339")
    };
    let mut starts: Vec<SystemTime> = records.values().map(at).collect();
    starts.sort_unstable();
    starts
}

/// The times between two requests.
fn gaps(world: &World) -> Vec<Duration> {
    let starts = starts(world);
    let gap = |two: &[SystemTime]| two[1].duration_since(two[0]).expect("they are sorted");
    starts.windows(2).map(gap).collect()
}

/// Asserts that no more requests were sent at any time since the command began than `shards` at once and then so many a
/// second. A start is noted when it was decided or later, the first one too.
fn are_spaced(world: &World, begun: SystemTime, shards: u128, rate: u128) {
    let starts = starts(world);
    for (index, at) in starts.iter().enumerate() {
        let since = since(begun, *at);
        let may_be = shards + since.as_millis() * rate / 1000;
        assert!(
            index as u128 <= may_be,
            "{index} after {since:?}: {starts:?}"
        );
    }
}

/// The time from one to the other, which is noted in whole milliseconds.
fn since(begun: SystemTime, at: SystemTime) -> Duration {
    let since = at.duration_since(begun).unwrap_or_default();
    since + Duration::from_millis(2)
}

#[test]
fn each_429_halves_the_rate() {
    let world = World::new();
    let server = Overrun::start(2);
    let list = server.list(&world, "127.0.0.1", 4);
    // One at a time, so that each response is known before the next request.
    let arguments = ["--rate", "auto", "--retries", "0", "--per-host", "1"];
    let begun = SystemTime::now();
    world.run(&list, &arguments);
    let starts = starts(&world);
    assert_eq!(starts.len(), 4);
    // The second starts a second after the first; then the rate is a half, and then a quarter.
    let all = since(begun, starts[3]);
    assert!(all >= Duration::from_secs(1 + 2 + 4), "{starts:?}");
}

#[test]
fn good_responses_let_the_rate_grow() {
    let server = Overrun::start(0);
    // How far it grows depends on how busy this machine is: one that is slow is no host that can take more. It is not slow
    // each time.
    let grows = |_| {
        let world = World::new();
        let list = server.list(&world, "127.0.0.1", 20);
        world.run(&list, &["--rate", "auto"]);
        let gaps = gaps(&world);
        assert_eq!(gaps.len(), 19);
        let short = gaps.iter().filter(|gap| **gap < Duration::from_millis(800));
        short.count() >= 5
    };
    assert!((0..5).any(grows), "it never grew");
}

/// Plans parts of about eight inputs; how many.
fn planned(world: &World, list: &Path, more: &[&str]) -> usize {
    let _ = std::fs::remove_dir_all(world.out());
    let mut plan = hecaton(&["fetch", "plan", "--part-size", "8"]);
    let ended = ending(plan.arg(list).arg("-o").arg(world.out()).args(more));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    ended.stdout.trim().parse().expect("a number of parts")
}

#[test]
fn a_rate_that_adapts_is_that_of_one_part() {
    let world = World::new();
    let list = world.list(0..32);
    assert_eq!(planned(&world, &list, &["--rate", "50"]), 4);
    assert_eq!(planned(&world, &list, &["--rate", "auto"]), 1);
    assert_eq!(planned(&world, &list, &["--rate", "auto:50"]), 1);
}

#[test]
fn an_adaptive_rate_has_its_limit_over_all_threads_and_shards() {
    let world = World::new();
    let server = Overrun::start(0);
    let list = server.list(&world, "127.0.0.1", 32);
    // A job that is planned with such a rate has one part for each host, and this one gets the rate later.
    assert_eq!(planned(&world, &list, &["--per-host", "4"]), 4);
    let mut run = hecaton(&["fetch", "-o"]);
    let arguments = ["--rate", "auto:2", "--per-host", "4", "--threads", "4"];
    let begun = SystemTime::now();
    let ended = ending(run.arg(world.out()).args(arguments));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(files(&world.out().join("results")).len(), 4);
    assert_eq!(world.records().len(), 32);
    // Each of the four shards may begin at once, and has a quarter of the rate. Without the limit, they need 9 s.
    are_spaced(&world, begun, 4, 2);
}

#[test]
fn a_host_of_others_gets_no_more_than_is_polite_from_an_adaptive_rate() {
    let world = World::new();
    let server = Overrun::start(0);
    let list = server.list(&world, "host.example", 120);
    let known = format!("host.example:{}:127.0.0.1", server.0.port());
    // More than ten inputs for such a host need a rate, and this is one.
    let begun = SystemTime::now();
    world.run(&list, &["--rate", "auto", "--resolve", &known]);
    assert_eq!(world.records().len(), 120);
    // Without the limit, they need 6 s.
    are_spaced(&world, begun, 1, 10);
}
