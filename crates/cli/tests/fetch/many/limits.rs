//! Several workers together keep the job's limits: a host never gets more at once, or more a second.

use std::time::{Duration, Instant};

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Nats, enqueue, plan, start};
use crate::support::{World, end_of};

fn slow() -> World {
    World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(5)),
        ..Options::default()
    })
}

#[test]
fn a_hosts_limit_holds_across_workers() {
    let (world, nats) = (slow(), Nats::start());
    let list = world.list(0..1200);
    // The host is taken apart into four shards, each with one of its four requests at once.
    let parts = plan(&world, &list, &["--per-host", "4", "--part-size", "200"]);
    assert_eq!(parts, 4);
    enqueue(&world, &nats, "1h");
    for worker in [(); 3].map(|()| start(&world, &nats)) {
        let ended = end_of(worker);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    }
    assert_eq!(world.records().len(), 1200);
    assert_eq!(world.server.summary().duplicates, 0);
    assert_eq!(world.server.summary().peak_in_flight, 4);
}

#[test]
fn a_hosts_rate_holds_across_workers() {
    const RATE: u64 = 40;
    let (world, nats) = (slow(), Nats::start());
    let list = world.list(0..100);
    let shards = ["--per-host", "4", "--part-size", "20"];
    let rate = RATE.to_string();
    let parts = plan(&world, &list, &[&shards[..], &["--rate", &rate]].concat());
    assert_eq!(parts, 4);
    enqueue(&world, &nats, "1h");
    // Each shard has a quarter of the rate, so it may send one request at once and then four each 100 ms.
    let begun = Instant::now();
    for worker in [(); 3].map(|()| start(&world, &nats)) {
        // Never ahead of what the rate allows by now, whatever the machine is busy with.
        loop {
            let seen = world.server.summary().requests;
            let may_be = u128::from(parts) + begun.elapsed().as_millis() * u128::from(RATE) / 1000;
            assert!(
                u128::from(seen) <= may_be,
                "{seen} requests, and {may_be} may be"
            );
            if seen == 100 {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let ended = end_of(worker);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    }
    assert_eq!(world.server.summary().duplicates, 0);
}

#[test]
fn workers_come_and_go_and_the_limit_holds() {
    let (world, nats) = (slow(), Nats::start());
    let list = world.list(0..2000);
    let parts = plan(&world, &list, &["--per-host", "4", "--part-size", "300"]);
    assert_eq!(parts, 4);
    enqueue(&world, &nats, "2s");
    let mut asleep = Vec::new();
    for signal in [Signal::SIGKILL, Signal::SIGINT, Signal::SIGSTOP] {
        let before = world.server.summary().requests;
        let workers = [(); 2].map(|()| start(&world, &nats));
        world.wait_for(before + 150);
        for worker in workers {
            kill(Pid::from_raw(worker.id() as i32), signal).unwrap();
            match signal {
                Signal::SIGSTOP => asleep.push(worker),
                _ => drop(end_of(worker)),
            }
        }
    }
    let last = end_of(start(&world, &nats));
    assert_eq!(last.status, Some(0), "{}", last.stderr);
    let records = world.records();
    for worker in asleep {
        kill(Pid::from_raw(worker.id() as i32), Signal::SIGCONT).unwrap();
        assert_eq!(end_of(worker).status, Some(0));
    }
    assert_eq!(records.len(), 2000);
    assert_eq!(world.records(), records, "who wakes up changes nothing");
    let seen = world.server.summary();
    assert_eq!(seen.distinct, 2000);
    assert!(seen.peak_in_flight <= 4, "{} at once", seen.peak_in_flight);
}
