//! Killed without notice at any moment: exactly one record for each input, and no POST twice.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{World, count, end_of, ending, killed};

/// A test server that is slow, so that there are requests in flight.
fn slow() -> World {
    World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(5)),
        ..Options::default()
    })
}

#[test]
fn ten_kills_lose_nothing_and_repeat_little() {
    const INPUTS: u64 = 6000;
    const IN_FLIGHT: u64 = 20;
    let world = slow();
    let list = world.list(0..INPUTS);
    let concurrency = IN_FLIGHT.to_string();
    let arguments = ["-c", concurrency.as_str()];
    let mut draw = 7u64;
    for kills in 1..=10 {
        // The kills come at ten different moments, which are about the same in each run of this test.
        draw = draw
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let ended = killed(&world, &list, &arguments, draw % (INPUTS / 12));
        assert_eq!(ended.status, None, "kill {kills} came too late");
    }
    world.run(&list, &arguments);
    let records = world.records();
    assert_eq!(records.len() as u64, INPUTS);
    assert_eq!(count(&records, "response") as u64, INPUTS);
    let seen = world.server.summary();
    assert_eq!(seen.distinct, INPUTS);
    // A kill repeats the requests in flight, and those whose records were not on the disk. A frame lasts 20 ms, and the
    // disk may take another 20 ms. The second term is how many requests end in these 40 ms, at 5 ms each.
    let most = 10 * (IN_FLIGHT + 2 * IN_FLIGHT * 20 / 5);
    assert!(seen.duplicates <= most, "{} were repeated", seen.duplicates);
}

#[test]
fn a_post_is_never_sent_twice() {
    const INPUTS: u64 = 600;
    let world = slow();
    let list = world.list(0..INPUTS);
    let arguments = ["-c", "10", "-X", "POST", "--body", "x"];
    for _ in 0..6 {
        killed(&world, &list, &arguments, 40);
    }
    world.run(&list, &arguments);
    let records = world.records();
    assert_eq!(records.len() as u64, INPUTS);
    let unknown = count(&records, "unknown");
    assert_eq!(count(&records, "response") + unknown, INPUTS as usize);
    assert!((1..=6 * 40).contains(&unknown), "{unknown} are unknown");
    let seen = world.server.summary();
    assert_eq!(seen.duplicates, 0);
    // An input that is unknown may have been sent; every other input was.
    assert!(seen.distinct >= INPUTS - unknown as u64);
}

#[test]
fn what_is_unknown_is_sent_again_with_the_option() {
    const INPUTS: u64 = 200;
    let world = slow();
    let list = world.list(0..INPUTS);
    let arguments = ["-c", "10", "-X", "POST"];
    let child = world.fetch(&list, &arguments).spawn().unwrap();
    world.wait_for(50);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    end_of(child);
    world.run(&list, &[&arguments[..], &["--resend-unknown"]].concat());
    let records = world.records();
    assert_eq!(count(&records, "response") as u64, INPUTS);
    assert_eq!(world.server.summary().distinct, INPUTS);
}

#[test]
fn a_key_lets_a_post_be_sent_again_and_stays_the_same() {
    // So many that the job is never done before the kill.
    const INPUTS: u64 = 5000;
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let urls = (0..INPUTS).map(|n| format!("{base}/echo?{n}"));
    let list = world.write("urls.txt", urls);
    let arguments = [
        "-c",
        "10",
        "-X",
        "POST",
        "--idempotency-key",
        "--keep-body",
        "inline",
    ];
    for _ in 0..3 {
        killed(&world, &list, &arguments, 50);
    }
    world.run(&list, &arguments);
    let records = world.records();
    assert_eq!(count(&records, "response") as u64, INPUTS);
    let sent = world.server.summary().requests;
    assert!(sent > INPUTS, "none was sent again");
    let keys: BTreeSet<&str> = records
        .values()
        .filter_map(|record| {
            let echo = record["body"]["text"].as_str()?;
            let (_, rest) = echo.split_once("Idempotency-Key")?;
            rest.split('"').find(|part| part.len() == 36)
        })
        .collect();
    assert_eq!(keys.len() as u64, INPUTS);
}

#[test]
fn after_kills_every_body_has_its_record_and_no_other_is_there() {
    const INPUTS: u64 = 1500;
    for (place, how, each) in [
        ("files", "find {} -type f", 1),
        ("warc", "cat {}/* | zcat | grep -a 'WARC-Type: response'", 1),
        ("tar", "for t in {}/*; do tar tf $t; done", 2),
    ] {
        let world = slow();
        let list = world.list(0..INPUTS);
        let arguments = ["-c", "20", "--keep-body", place];
        for _ in 0..3 {
            killed(&world, &list, &arguments, 150);
        }
        world.run(&list, &arguments);
        let records = world.records();
        assert_eq!(count(&records, "response") as u64, INPUTS);
        let named: BTreeSet<String> = records
            .values()
            .map(|record| record["body"].to_string())
            .collect();
        assert_eq!(named.len() as u64, INPUTS);
        let how = how.replace("{}", world.out().join("bodies").to_str().unwrap());
        let found = ending(Command::new("sh").args(["-c", &how]).stdout(Stdio::piped()));
        assert_eq!(
            found.stdout.lines().count() as u64,
            each * INPUTS,
            "{place}"
        );
    }
}
