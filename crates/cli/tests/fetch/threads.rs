//! Several threads at one job: limits hold, kills lose nothing, and Ctrl-C ends all of them.

use std::path::Path;
use std::time::{Duration, Instant};

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{World, count, end_of, files, killed, until};

/// So many threads, whatever the machine has.
const THREADS: [&str; 2] = ["--threads", "4"];

fn slow(milliseconds: u64) -> World {
    World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(milliseconds)),
        ..Options::default()
    })
}

/// The threads of a process that send requests.
fn threads_of(pid: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let names = tasks
        .flatten()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("requests-")).count()
}

#[test]
fn a_hosts_limit_and_that_of_the_job_hold_over_all_threads() {
    for (limit, expected) in [(["--per-host", "6"], 6), (["-c", "5"], 5)] {
        let world = slow(5);
        let list = world.list(0..1500);
        let child = world.fetch(
            &list,
            &[&THREADS[..], &limit, &["--part-size", "100"]].concat(),
        );
        let child = { child }.spawn().unwrap();
        // One thread proves nothing.
        until(|| threads_of(child.id()) > 1);
        let ended = end_of(child);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        assert_eq!(count(&world.records(), "response"), 1500);
        let seen = world.server.summary();
        assert_eq!(seen.duplicates, 0);
        assert_eq!(seen.peak_in_flight, expected, "{limit:?}");
    }
}

/// Runs a list of a host in four shards, and looks that it never gets more than this many requests a second.
fn never_faster(world: &World, list: &Path, arguments: &[&str], (rate, inputs): (u64, u64)) {
    let shards = [&THREADS[..], &["--per-host", "4", "--part-size", "10"]].concat();
    let begun = Instant::now();
    let child = world
        .fetch(list, &[&shards, arguments].concat())
        .spawn()
        .unwrap();
    until(|| {
        let seen = u128::from(world.server.summary().requests);
        // Each shard may send one at once, and one of each may be a robots.txt.
        let may_be = 8 + begun.elapsed().as_millis() * u128::from(rate) / 1000;
        assert!(seen <= may_be, "{seen} requests, and {may_be} may be");
        std::thread::sleep(Duration::from_millis(20));
        world.out().join("products.json").exists()
    });
    let ended = end_of(child);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(files(&world.out().join("results")).len(), 4);
    assert_eq!(world.records().len() as u64, inputs);
}

#[test]
fn a_rate_holds_over_all_threads() {
    let world = slow(1);
    let list = world.list(0..80);
    never_faster(&world, &list, &["--rate", "40"], (40, 80));
    assert_eq!(world.server.summary().duplicates, 0);
}

#[test]
fn kills_at_random_leave_every_input_once() {
    const INPUTS: u64 = 6000;
    let world = slow(5);
    let list = world.list(0..INPUTS);
    let arguments = [&THREADS[..], &["-c", "24", "--part-size", "400"]].concat();
    let mut draw = 5u64;
    for kills in 1..=10 {
        draw = draw
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let ended = killed(&world, &list, &arguments, (draw >> 33) % (INPUTS / 12));
        assert_eq!(ended.status, None, "kill {kills} came too late");
    }
    world.run(&list, &arguments);
    assert_eq!(files(&world.out().join("results")).len(), 8);
    let records = world.records();
    assert_eq!(count(&records, "response") as u64, INPUTS);
    assert!(records.keys().copied().eq(0..INPUTS));
    assert_eq!(world.server.summary().distinct, INPUTS);
}

#[test]
fn kills_at_random_send_no_post_twice() {
    const INPUTS: u64 = 900;
    let world = slow(5);
    let list = world.list(0..INPUTS);
    let arguments = [
        &THREADS[..],
        &["-c", "12", "--part-size", "100", "-X", "POST"],
    ]
    .concat();
    for _ in 0..6 {
        killed(&world, &list, &arguments, 40);
    }
    world.run(&list, &arguments);
    let records = world.records();
    let unknown = count(&records, "unknown");
    assert_eq!(count(&records, "response") + unknown, INPUTS as usize);
    let seen = world.server.summary();
    assert_eq!(seen.duplicates, 0);
    assert!(seen.distinct >= INPUTS - unknown as u64);
}

#[test]
fn ctrl_c_ends_all_threads_and_records_what_is_in_flight() {
    let world = slow(20);
    let list = world.list(0..4000);
    let arguments = [&THREADS[..], &["-c", "24", "--part-size", "300"]].concat();
    let child = world.fetch(&list, &arguments).spawn().unwrap();
    world.wait_for(300);
    // One thread proves nothing.
    until(|| threads_of(child.id()) > 1);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let ended = end_of(child);
    assert_eq!(ended.status, Some(130), "{}", ended.stderr);
    let said = ended.stderr.matches("stopped as requested").count();
    assert_eq!(said, 1, "{}", ended.stderr);
    world.run(&list, &arguments);
    assert_eq!(count(&world.records(), "response"), 4000);
    assert_eq!(
        world.server.summary().duplicates,
        0,
        "what was in flight was recorded"
    );
}

#[test]
fn a_list_of_one_part_may_have_all_requests_in_flight() {
    let world = slow(30);
    let list = world.list(0..600);
    world.run(&list, &[&THREADS[..], &["-c", "20"]].concat());
    assert_eq!(world.server.summary().peak_in_flight, 20);
}

#[test]
fn a_disk_that_is_full_ends_all_threads() {
    let world = slow(5);
    let list = world.list(0..3000);
    let arguments = [
        &THREADS[..],
        &["-c", "8", "--part-size", "250", "--keep-body", "files"],
    ]
    .concat();
    let child = world.fetch(&list, &arguments).spawn().unwrap();
    world.wait_for(100);
    // No body can be written any more: a file is where its folder would be.
    let bodies = world.out().join("bodies");
    std::fs::rename(&bodies, world.path("elsewhere")).unwrap();
    std::fs::write(&bodies, "").unwrap();
    let ended = end_of(child);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    std::fs::remove_file(&bodies).unwrap();
    std::fs::rename(world.path("elsewhere"), &bodies).unwrap();
    world.run(&list, &arguments);
    assert_eq!(count(&world.records(), "response"), 3000);
}

#[test]
fn a_number_of_threads_that_makes_no_sense_is_refused() {
    let world = World::new();
    let list = world.list(0..1);
    for threads in ["0", "65", "many"] {
        let refused = world.run_to(2, &list, &["--threads", threads]);
        assert!(
            refused.stderr.contains("from 1 to 64"),
            "{}",
            refused.stderr
        );
    }
}
