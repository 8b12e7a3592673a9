//! The pace that hosts see: concurrency limits, pauses, and a breaker that opens.

use crate::support::{World, count};

#[test]
fn no_more_are_in_flight_to_a_host_than_requested() {
    let (world, other) = (World::new(), World::new());
    let lines = (0..100).flat_map(|n| {
        [world.server.base_url(), other.server.base_url()].map(|base| format!("{base}/delay/2?{n}"))
    });
    let list = world.write("urls.txt", lines);
    world.run(&list, &["--per-host", "3"]);
    assert_eq!(world.records().len(), 200);
    assert_eq!(world.server.summary().peak_in_flight, 3);
    assert_eq!(other.server.summary().peak_in_flight, 3);
}

#[test]
fn one_host_has_no_more_than_its_share() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("urls.txt", (0..100).map(|n| format!("{base}/delay/2?{n}")));
    world.run(&list, &["-c", "20", "--max-host-share", "0.25"]);
    assert_eq!(world.server.summary().peak_in_flight, 5);
}

#[test]
fn a_host_that_sends_retry_after_gets_its_pause_and_is_given_up_in_the_end() {
    let (world, other) = (World::new(), World::new());
    let base = world.server.base_url().to_owned();
    let busy = (0..200).map(|n| format!("{base}/status/429?Retry-After=1&n={n}"));
    let good = (0..50).map(|n| format!("{}/r/{n}", other.server.base_url()));
    let list = world.write("urls.txt", busy.chain(good));
    // No breaker is needed: one that is only overrun has `--wait-out`.
    let arguments = ["--per-host", "1", "--breaker", "0", "--wait-out", "5s"];
    let ending = world.run_to(4, &list, &arguments);
    assert!(
        ending.stderr.contains("given up after"),
        "{}",
        ending.stderr
    );
    let records = world.records();
    assert_eq!(records.len(), 250);
    assert_eq!(
        count(&records, "response") + count(&records, "unreached"),
        250
    );
    assert!(count(&records, "unreached") >= 190);
    let unreached = records
        .values()
        .find(|record| record["outcome"] == "unreached");
    assert_eq!(unreached.unwrap()["why"], "its host was overrun (429)");
    // One a second at most, until five seconds have passed.
    let sent = world.server.summary().requests;
    assert!((2..=8).contains(&sent), "{sent}");
    assert_eq!(other.server.summary().requests, 50);
}

#[test]
fn what_may_pass_is_tried_again_and_the_tries_are_reported() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("urls.txt", std::iter::once(format!("{base}/status/502")));
    world.run_to(3, &list, &["--retries", "2"]);
    let record = &world.records()[&0];
    assert_eq!(
        (&record["status"], &record["attempts"]),
        (&502.into(), &3.into())
    );
    assert_eq!(record["ok"], false);
    assert_eq!(world.server.summary().requests, 3);
}

#[test]
fn a_host_that_nobody_serves_is_an_error_with_its_phase() {
    let world = World::new();
    let list = world.write(
        "urls.txt",
        std::iter::once("http://127.0.0.1:1/".to_owned()),
    );
    world.run_to(3, &list, &["--retries", "0"]);
    let record = &world.records()[&0];
    assert_eq!(record["outcome"], "error");
    assert_eq!(
        (&record["error"]["kind"], &record["error"]["phase"]),
        (&"connect".into(), &"connect".into())
    );
    assert_eq!(record["sent"], false);
}

#[test]
fn tries_again_are_a_share_of_the_requests_of_a_host() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write(
        "urls.txt",
        (0..200).map(|n| format!("{base}/status/502?n={n}")),
    );
    let arguments = ["--retries", "5", "--retry-budget", "0.1", "--breaker", "0"];
    world.run_to(3, &list, &arguments);
    let records = world.records();
    assert_eq!(records.len(), 200);
    let again = world.server.summary().requests - 200;
    // Ten are free, and one for ten requests.
    assert!((10..=30).contains(&again), "{again} tries again");
    let reported: u64 = records
        .values()
        .map(|record| record["attempts"].as_u64().unwrap() - 1)
        .sum();
    assert_eq!(reported, again);
}

#[test]
fn a_host_that_responds_429_for_ever_ends_and_pauses_of_any_length_are_bounded() {
    for pause in ["99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
        let world = World::new();
        let base = world.server.base_url().to_owned();
        let pause = pause.replace(' ', "%20");
        let list = world.write(
            "urls.txt",
            (0..50).map(|n| format!("{base}/status/429?Retry-After={pause}&n={n}")),
        );
        let arguments = [
            "--max-retry-after",
            "300ms",
            "--wait-out",
            "3s",
            "--retries",
            "0",
            "--per-host",
            "1",
        ];
        let ending = world.run_to(3, &list, &arguments);
        assert!(ending.stderr.contains("given up"), "{}", ending.stderr);
        // One in 300 ms at most, until three seconds have passed.
        let sent = world.server.summary().requests;
        assert!((2..=12).contains(&sent), "{sent}");
        assert_eq!(world.records().len(), 50);
    }
}
