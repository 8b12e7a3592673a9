//! A round of `again` that workers do.

use super::{Nats, enqueue, start};
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
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
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
