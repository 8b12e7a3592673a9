//! Many workers on one folder: parts by number, a takeover, and a sleeper that wakes up too late.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hecaton_e2e::peer::{Peer, Requests};
use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{World, count, end_of, ending, hecaton, until};

fn plan(world: &World, list: &std::path::Path, arguments: &[&str]) -> u32 {
    let planned = ending(
        hecaton(&["fetch", "plan"])
            .arg(list)
            .arg("-o")
            .arg(world.out())
            .args(arguments),
    );
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    planned.stdout.trim().parse().unwrap()
}

fn part(world: &World, number: u32) -> std::process::Command {
    let mut command = hecaton(&["fetch", "run-part"]);
    command.arg(world.out()).arg(number.to_string());
    command
}

#[test]
fn parts_are_done_by_number_and_once() {
    let world = World::new();
    let list = world.list(0..500);
    assert_eq!(plan(&world, &list, &[]), 1);
    assert_eq!(world.server.summary().requests, 0);
    for _ in 0..2 {
        let done = ending(&mut part(&world, 0));
        assert_eq!(done.status, Some(0), "{}", done.stderr);
    }
    assert_eq!(world.records().len(), 500);
    assert_eq!(world.server.summary().requests, 500);
    let refused = ending(&mut part(&world, 7));
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("there is no part 7"),
        "{}",
        refused.stderr
    );
}

#[test]
fn what_a_worker_does_after_its_part_was_taken_over_does_not_count() {
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(10)),
        ..Options::default()
    });
    let list = world.list(0..300);
    plan(&world, &list, &["-c", "5", "-X", "POST"]);
    let sleeper = part(&world, 0).spawn().unwrap();
    world.wait_for(50);
    let pid = Pid::from_raw(sleeper.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    let done = ending(&mut part(&world, 0));
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let records = world.records();
    assert_eq!(records.len(), 300);
    let seen = world.server.summary().requests;
    kill(pid, Signal::SIGCONT).unwrap();
    let late = end_of(sleeper);
    assert_eq!(late.status, Some(0), "the part is done: {}", late.stderr);
    assert_eq!(world.records(), records, "what counts is settled");
    // At most the requests that it was about to send when it was stopped.
    let sent = world.server.summary().requests - seen;
    assert!(sent <= 5, "the sleeper sent {sent}");
    assert_eq!(world.server.summary().duplicates, 0);
    assert_eq!(
        count(&records, "response") + count(&records, "unknown"),
        300
    );
}

#[test]
fn two_workers_at_once_end_in_one_result() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("urls.txt", (0..400).map(|n| format!("{base}/delay/5?{n}")));
    plan(&world, &list, &["-c", "5"]);
    let first = part(&world, 0).spawn().unwrap();
    world.wait_for(30);
    // It must not be done before the second has begun.
    kill(Pid::from_raw(first.id() as i32), Signal::SIGSTOP).unwrap();
    let second = part(&world, 0).spawn().unwrap();
    until(|| world.out().join("parts/000000/attempt-2").exists());
    kill(Pid::from_raw(first.id() as i32), Signal::SIGCONT).unwrap();
    let second = end_of(second);
    assert_eq!(second.status, Some(0), "{}", second.stderr);
    // It waits for whoever took its part, so that a scheduler that started a copy of a task sees no failure.
    let first = end_of(first);
    assert_eq!(first.status, Some(0), "{}", first.stderr);
    let said = first.stderr.lines().last().unwrap_or_default();
    assert!(said.ends_with("part 0: done by another worker"), "{said}");
    assert_eq!(world.records().len(), 400);
    until(|| world.out().join("parts/000000/COMMIT").exists());
}

#[test]
fn a_worker_whose_part_was_taken_over_and_left_fails_so_that_it_is_repeated() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("urls.txt", (0..400).map(|n| format!("{base}/delay/20?{n}")));
    plan(&world, &list, &["-c", "2"]);
    let first = part(&world, 0).spawn().unwrap();
    world.wait_for(20);
    let second = part(&world, 0).spawn().unwrap();
    // The second has sent some when its attempt has a record.
    let attempt = world.out().join("parts/000000/attempt-2");
    let has_records = || std::fs::metadata(&attempt).is_ok_and(|file| file.len() > 1000);
    until(has_records);
    kill(Pid::from_raw(second.id() as i32), Signal::SIGKILL).unwrap();
    assert_eq!(end_of(second).status, None);
    let first = end_of(first);
    assert_eq!(first.status, Some(1), "{}", first.stderr);
    assert!(
        first.stderr.contains("has not done it yet"),
        "{}",
        first.stderr
    );
    assert_eq!(ending(&mut part(&world, 0)).status, Some(0));
    assert_eq!(world.records().len(), 400);
}

#[test]
fn a_body_that_cannot_be_written_after_its_part_was_taken_over_is_no_outcome() {
    const BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n";
    for mode in ["files", "warc", "tar"] {
        let goes_on = Arc::new(AtomicBool::new(false));
        let goes = goes_on.clone();
        let peer = Peer::playing(move |mut stream, _| {
            stream.head();
            until(|| goes.load(Ordering::SeqCst));
            let _ = stream.write_all(&[BODY.as_bytes(), &[b'x'; 3_000_000]].concat());
        });
        let world = World::new();
        let list = world.write("urls.txt", std::iter::once(peer.url("/")));
        plan(&world, &list, &["--keep-body", mode]);
        let first = part(&world, 0).spawn().unwrap();
        until(|| peer.connections() == 1);
        // Another worker has the part, and a file is where the folder of large bodies would be.
        let in_the_way =
            ["parts/000000/attempt-2", "bodies/partial"].map(|name| world.out().join(name));
        for path in &in_the_way {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        goes_on.store(true, Ordering::SeqCst);
        let first = end_of(first);
        assert_eq!(first.status, Some(1), "{mode}: {}", first.stderr);
        for path in in_the_way {
            std::fs::remove_file(path).unwrap();
        }
        let second = ending(&mut part(&world, 0));
        assert_eq!(second.status, Some(0), "{mode}: {}", second.stderr);
        assert_eq!(world.records()[&0]["bytes"], 3_000_000, "{mode}");
        assert_eq!(peer.connections(), 2, "{mode}");
    }
}

#[test]
fn a_round_is_done_part_by_part_and_put_in_place_by_the_last() {
    let (world, other) = (World::new(), World::new());
    let bad = (0..60).map(|n| format!("{}/status/500?{n}", world.server.base_url()));
    let good = (0..140).map(|n| format!("{}/r/{n}", other.server.base_url()));
    let list = world.write("urls.txt", bad.chain(good));
    let pace = ["--retries", "0", "--breaker", "0", "--per-host", "2"];
    world.run(&list, &[&pace[..], &["--part-size", "30"]].concat());
    let before = world.records();
    let mut again = hecaton(&["fetch", "again", "--plan"]);
    let planned = ending(again.arg(world.out()));
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    let parts: u32 = planned.stdout.trim().parse().unwrap();
    assert!(parts > 1, "one part proves nothing");
    assert_eq!(world.server.summary().requests, 60);
    for number in 0..parts {
        assert!(world.round().is_some());
        assert_eq!(world.records(), before, "not before the last part is done");
        let done = ending(&mut part(&world, number));
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        if !world.out().join("again").exists() {
            break;
        }
    }
    assert!(!world.out().join("again").exists());
    let after = world.records();
    assert_eq!(after.len(), 200);
    let changed = after
        .iter()
        .filter(|(number, record)| before[number]["at"] != record["at"]);
    assert_eq!(changed.count(), 60);
    assert_eq!(world.server.summary().requests, 120);
    assert_eq!(other.server.summary().requests, 140);
}

/// Prepares a round of the job; how many parts it has.
fn plan_round(world: &World, condition: &str) -> u32 {
    let mut again = hecaton(&["fetch", "again", "--plan", "--where", condition]);
    let planned = ending(again.arg(world.out()));
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    planned.stdout.trim().parse().unwrap()
}

#[test]
fn a_worker_of_a_round_that_was_merged_sends_nothing_more() {
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(10)),
        ..Options::default()
    });
    let list = world.list(0..300);
    world.run(&list, &["-c", "5", "-X", "POST"]);
    assert_eq!(plan_round(&world, "n < 200"), 1);
    let sleeper = part(&world, 0).spawn().unwrap();
    world.wait_for(350);
    let pid = Pid::from_raw(sleeper.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    let done = ending(&mut part(&world, 0));
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(world.round().is_none(), "the round is merged");
    // The next round has inputs of the same part, and has not begun.
    assert_eq!(plan_round(&world, "n >= 250"), 1);
    let (records, seen) = (world.records(), world.server.summary().requests);
    kill(pid, Signal::SIGCONT).unwrap();
    let late = end_of(sleeper);
    assert_eq!(late.status, Some(0), "the part is done: {}", late.stderr);
    assert!(
        late.stderr.ends_with("part 0: done by another worker\n"),
        "{}",
        late.stderr
    );
    assert_eq!(world.records(), records, "what counts is settled");
    // At most the requests that it was about to send when it was stopped.
    let sent = world.server.summary().requests - seen;
    assert!(sent <= 5, "the sleeper sent {sent}");
    let next = ending(&mut part(&world, 0));
    assert_eq!(next.status, Some(0), "{}", next.stderr);
    assert_eq!(world.server.summary().requests, seen + sent + 50);
    assert_eq!(world.records().len(), 300);
}

#[cfg(not(feature = "nats"))]
#[test]
fn a_command_without_nats_says_how_to_get_it() {
    let world = World::new();
    for verb in ["enqueue", "worker"] {
        let refused = ending(
            hecaton(&["fetch", verb])
                .arg(world.out())
                .args(["--nats", "nats://host"]),
        );
        assert_eq!(refused.status, Some(1));
        assert!(
            refused.stderr.contains("`bin/setup fetch` builds it in"),
            "{}",
            refused.stderr
        );
    }
}

#[test]
fn status_advises_nobody_to_start_another_while_a_worker_begins() {
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(200)),
        ..Options::default()
    });
    let list = world.list(0..40);
    plan(&world, &list, &["-c", "4"]);
    let worker = part(&world, 0).spawn().unwrap();
    // The worker is known before its first request.
    world.wait_for(1);
    let status = ending(hecaton(&["fetch", "status"]).arg(world.out()));
    assert_eq!(status.status, Some(0), "{}", status.stderr);
    assert!(!status.stdout.contains("resume with"), "{}", status.stdout);
    assert_eq!(end_of(worker).status, Some(0));
}
