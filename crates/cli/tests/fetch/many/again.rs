//! Workers and what is planned later: a round of `again`, and a part that is added while they work.

use std::time::Duration;

use hecaton_test_server::{Delay, Options};
use serde_json::Value;

use super::{Nats, enqueue, plan, start};
use crate::support::{World, end_of, ending, hecaton};

#[test]
fn a_round_is_offered_and_done_like_a_job() {
    let (world, other, nats) = (World::new(), World::new(), Nats::start());
    let bad = (0..200).map(|n| format!("{}/status/500?{n}", world.server.base_url()));
    let good = (0..200).map(|n| format!("{}/r/{n}", other.server.base_url()));
    let list = world.write("urls.txt", bad.chain(good));
    let pace = ["--retries", "0", "--breaker", "0", "--per-host", "4"];
    world.run(
        &list,
        &[&pace[..], &["--part-size", "50", "--final-tables", "csv"]].concat(),
    );
    let before = world.records();
    let planned = ending(hecaton(&["fetch", "again", "--plan"]).arg(world.out()));
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    assert!(planned.stderr.contains("200 inputs"), "{}", planned.stderr);
    // One that works on the queue of the job itself finds no part of it.
    assert!(enqueue(&world, &nats, "30s").contains("parts queued"));
    for worker in [(); 3].map(|()| start(&world, &nats)) {
        let ended = end_of(worker);
        assert_eq!(ended.status, Some(4), "{}", ended.stderr);
    }
    assert!(!world.out().join("again").exists());
    let after = world.records();
    assert_eq!(after.len(), 400);
    let changed = after
        .iter()
        .filter(|(number, record)| before[number]["at"] != record["at"]);
    assert_eq!(changed.count(), 200);
    assert_eq!(world.server.summary().requests, 400);
    assert_eq!(other.server.summary().requests, 200);
    let table = std::fs::read_to_string(world.out().join("table.csv")).unwrap();
    assert_eq!(table.lines().count(), 401);
    assert!(
        after
            .values()
            .all(|record| table.contains(record["at"].as_str().unwrap()))
    );
}

#[test]
fn a_part_that_a_worker_does_not_know_stays_in_the_queue_for_others() {
    let nats = Nats::start();
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(20)),
        ..Options::default()
    });
    let list = world.list(0..200);
    assert_eq!(plan(&world, &list, &["-c", "2"]), 1);
    enqueue(&world, &nats, "30s");
    let early = start(&world, &nats);
    world.wait_for(10);
    let base = world.server.base_url();
    let more = (200..210).map(|id| format!("{base}/r/{id}"));
    let more = world.write("more.txt", more);
    let mut add = hecaton(&["fetch", "add", "--plan"]);
    let added = ending(add.arg(world.out()).arg(&more));
    assert_eq!(added.status, Some(0), "{}", added.stderr);
    // `enqueue` would publish it once the first part is done, and the worker may still be there then.
    let text = std::fs::read_to_string(world.out().join("plan.json")).expect("a plan");
    let text: Value = serde_json::from_str(&text).expect("JSON");
    let job = text["job"].as_str().expect("a name");
    nats.publish(&format!("hecaton.fetch.{job}.1"), "1");
    let ended = end_of(early);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(world.records().len(), 200);
    let ended = end_of(start(&world, &nats));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(world.records().len(), 210);
    assert_eq!(world.server.summary().duplicates, 0);
}
