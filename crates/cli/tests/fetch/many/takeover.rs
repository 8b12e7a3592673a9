//! Workers that are killed, stopped, or signalled to end, and what becomes of their parts.

use std::time::Duration;

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{Nats, enqueue, plan, start, worker};
use crate::support::{World, count, end_of, ending, hecaton, until};

fn slow(delay: u64) -> World {
    World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(delay)),
        ..Options::default()
    })
}

fn status(world: &World) -> Value {
    let reported = ending(hecaton(&["fetch", "status", "--json"]).arg(world.out()));
    assert_eq!(reported.status, Some(0), "{}", reported.stderr);
    serde_json::from_str(&reported.stdout).expect("JSON")
}

#[test]
fn a_killed_workers_parts_go_to_others_and_nothing_is_lost() {
    let (world, nats) = (slow(5), Nats::start());
    let list = world.list(0..3000);
    assert_eq!(plan(&world, &list, &["-c", "6", "--part-size", "500"]), 6);
    assert!(enqueue(&world, &nats, "4s").starts_with("6 parts queued"));
    assert!(enqueue(&world, &nats, "4s").starts_with("0 parts queued, 6 in the queue"));
    let mut victim = start(&world, &nats);
    world.wait_for(100);
    let others = [start(&world, &nats), start(&world, &nats)];
    world.wait_for(300);
    victim.kill().unwrap();
    victim.wait().unwrap();
    for other in others {
        let ended = end_of(other);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("all parts are done"),
            "{}",
            ended.stderr
        );
    }
    let records = world.records();
    assert_eq!(records.len(), 3000);
    assert_eq!(count(&records, "response"), 3000);
    let seen = world.server.summary();
    assert_eq!(seen.distinct, 3000);
    // The requests in flight at the kill, and the records that were in no frame yet.
    assert!(seen.duplicates <= 100, "{} repeats", seen.duplicates);
}

#[test]
fn a_lease_that_is_shorter_than_the_usual_one_is_respected() {
    let (world, nats) = (World::new(), Nats::start());
    let list = world.list(0..120);
    assert_eq!(plan(&world, &list, &["--rate", "10"]), 1);
    // Shorter than the time between two renewals of a lease of the usual length.
    enqueue(&world, &nats, "8s");
    // One that requests no other part is not handed its own once more.
    let ended = ending(worker(&world, &nats).args(["--parts", "1"]));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("lease is over"), "{}", ended.stderr);
    assert_eq!(world.records().len(), 120);
    assert_eq!(world.server.summary().requests, 120);
}

#[test]
fn a_worker_that_slept_through_its_lease_finds_its_parts_taken_and_sends_nothing() {
    let (world, nats) = (slow(5), Nats::start());
    let list = world.list(0..400);
    assert_eq!(
        plan(
            &world,
            &list,
            &["-c", "4", "--part-size", "200", "-X", "POST"]
        ),
        2
    );
    enqueue(&world, &nats, "3s");
    let sleeper = start(&world, &nats);
    world.wait_for(60);
    let pid = Pid::from_raw(sleeper.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    let other = end_of(start(&world, &nats));
    let records = world.records();
    assert_eq!(records.len(), 400);
    // A POST that was under way when the sleeper was stopped is not sent again.
    let ended = Some(if count(&records, "unknown") == 0 {
        0
    } else {
        4
    });
    assert_eq!(other.status, ended, "{}", other.stderr);
    let seen = world.server.summary().requests;
    kill(pid, Signal::SIGCONT).unwrap();
    let late = end_of(sleeper);
    assert_eq!(late.status, ended, "all is done: {}", late.stderr);
    assert_eq!(world.records(), records, "what counts is settled");
    assert_eq!(
        world.server.summary().duplicates,
        0,
        "no POST is sent twice"
    );
    let sent = world.server.summary().requests - seen;
    assert!(sent <= 4, "the sleeper sent {sent} more");
    assert_eq!(
        count(&records, "response") + count(&records, "unknown"),
        400
    );
}

/// Sets the clock that runs on in suspend an hour ahead while a file is there, as a machine that wakes up finds it.
const CLOCK: &str = r#"
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    const char *slept = getenv("SLEPT");
    if (status == 0 && clock == CLOCK_BOOTTIME && slept && access(slept, F_OK) == 0)
        time->tv_sec += 3600;
    return status;
}
"#;

#[test]
fn a_worker_whose_machine_was_suspended_leaves_its_parts() {
    let (world, nats) = (slow(20), Nats::start());
    let library = world.path("clock.so");
    std::fs::write(world.path("clock.c"), CLOCK).unwrap();
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library);
    let built = ending(compiler.arg(world.path("clock.c")));
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let list = world.list(0..3000);
    plan(&world, &list, &["-c", "2"]);
    enqueue(&world, &nats, "50m");
    let slept = world.path("slept");
    let mut sleeper = worker(&world, &nats);
    let sleeper = sleeper.env("LD_PRELOAD", library).env("SLEPT", &slept);
    let mut sleeper = sleeper.spawn().unwrap();
    world.wait_for(20);
    assert!(!world.out().join("parts/000000/COMMIT").exists());
    std::fs::write(&slept, "").unwrap();
    // A part that is left is not renewed and not requested again: the server sees no further request.
    let mut said = std::io::BufReader::new(sleeper.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("its lease is over") {
        line.clear();
        let read = std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        assert!(read > 0, "it never left the part");
    }
    assert!(world.server.summary().requests < 3000);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[test]
fn a_worker_that_must_end_gives_its_parts_back_at_once() {
    let (world, nats) = (slow(5), Nats::start());
    let list = world.list(0..1000);
    plan(&world, &list, &["-c", "4", "--part-size", "250"]);
    // So long that nobody waits for it to end.
    enqueue(&world, &nats, "1h");
    let leaver = start(&world, &nats);
    world.wait_for(50);
    until(|| {
        status(&world)["workers"]
            .as_array()
            .is_some_and(|workers| workers.len() == 1)
    });
    kill(Pid::from_raw(leaver.id() as i32), Signal::SIGINT).unwrap();
    let left = end_of(leaver);
    assert_eq!(left.status, Some(130), "{}", left.stderr);
    let ended = end_of(start(&world, &nats));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(world.records().len(), 1000);
    assert_eq!(
        world.server.summary().duplicates,
        0,
        "what was in flight was recorded"
    );
    assert_eq!(status(&world)["workers"].as_array().map(Vec::len), Some(0));
}
